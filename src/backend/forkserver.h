/* SPDX-License-Identifier: Apache-2.0 */
/* backend/forkserver.h - a process from which supervisors are forked.
 *
 * Loading the program costs more than all that a supervisor does for a short job. The
 * forkserver is forked off an agent before it opens anything (a database that is open cannot
 * be taken across a fork), waits for ids, and forks a supervisor for each. It ends with
 * the agent; supervisors go on. When it is killed, the agent starts supervisors the long
 * way.
 */
#ifndef BACKEND_FORKSERVER_H
#define BACKEND_FORKSERVER_H

#include <stdbool.h>

#include "base/err.h"
#include "base/proc.h"
#include "job/place.h"

struct backend_forkserver;

/* Runs in a child with its own session and log and nothing open; returns its exit status.
 */
typedef int backend_forkserver_fn(void *arg, const char *id);

/* `arg` is copied by the fork. One thread only. */
enum rc backend_forkserver_create(backend_forkserver_fn *run, void *arg,
                                  struct backend_forkserver **out,
                                  struct err *err) MUST_CHECK;
void backend_forkserver_destroy(struct backend_forkserver *n); /* NULL is fine */

int backend_forkserver_fd(
    const struct backend_forkserver
        *n); /* readable when backend_forkserver_next() has something */
/* A supervisor for this job, its output appended to `log`. False: the fork server is gone. */
bool backend_forkserver_ask(struct backend_forkserver *n, const char *id,
                            const char *log);
struct backend_forkserver_end {
    char id[JOB_ID_SIZE];
    struct proc_exit exit; /* code 126: it could not be started */
};
enum backend_forkserver_answer { FORKSERVER_NOTHING, FORKSERVER_END, FORKSERVER_GONE };
enum backend_forkserver_answer
backend_forkserver_next(struct backend_forkserver *n, struct backend_forkserver_end *out);

#endif
