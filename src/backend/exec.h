/* SPDX-License-Identifier: Apache-2.0 */
/* backend/exec.h - a program beside a worker's, in all that the worker is in: its view of
 * files and processes, its identity, its limits, its variables.
 */
#ifndef BACKEND_EXEC_H
#define BACKEND_EXEC_H

#include "base/proc.h"
#include "job/place.h"

struct backend_exec {
    const char *id;
    int64_t worker;
    const char *const *argv; /* NULL behind the last; none: a shell */
    bool terminal;           /* stdin is one, for this program alone */
    const char *term;        /* kind of terminal, or NULL */
    const char *by;          /* who asks, for the record */
    pid_t parent;            /* ours, which asks for another; 0: none */
};

/* Runs it on our stdin, stdout and stderr and waits for its end, which comes at the latest
 * with the worker's, with ours (HUP, INT and TERM end the program first) and with that of
 * `parent`. An Exec event says who ran what. For processes with one thread. RC_INVAL
 * (E3014): the worker does not run, or elsewhere; RC_NOTFOUND, RC_IO: the program cannot be
 * started.
 */
enum rc backend_exec_run(const struct job_place *p, const struct backend_exec *x,
                         struct proc_exit *out, struct err *err) MUST_CHECK;

#endif
