/* SPDX-License-Identifier: Apache-2.0 */
/* backend/exec_guard.h - the end of a program beside a worker.
 *
 * The program and what it started are known by their session, and by a variable that they
 * inherit, which also finds what has left the session and what runs in a container.
 */
#ifndef BACKEND_EXEC_GUARD_H
#define BACKEND_EXEC_GUARD_H

#include <stdbool.h>
#include <sys/types.h>

#define EXEC_MARK "TRAINYARD_EXEC" /* the variable */

struct backend_exec_guard {
    int shim;         /* of the worker: its pidfd; -1: none */
    int life;         /* readable, or closed at the other end: who asked is gone */
    int proc;         /* /proc as it was before namespaces were joined */
    const char *mark; /* EXEC_MARK=..., different for each program */
    bool marked_only; /* the child that is waited for is a client of the program */
};

/* Waits for the child `pid`, which leads a session unless marked_only. When its worker has
 * ended, all that is left of the program is killed; when who asked is gone, it gets HUP
 * and after five seconds KILL. Returns the status of `pid` as waitpid() gives it.
 */
int backend_exec_guard_wait(const struct backend_exec_guard *g, pid_t pid);

#endif
