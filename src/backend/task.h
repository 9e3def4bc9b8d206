/* SPDX-License-Identifier: Apache-2.0 */
/* backend/task.h - workers on nodes that share the directory of jobs. A launcher of the
 * cluster (srun, mpirun) starts one task per worker; it becomes the shim of its worker
 * (shim.h), which writes log and exit record as on one machine. So starts and ends are seen
 * in files, and requests to the shim are a file, too.
 *
 * Beside a handle: HANDLE.launch (handoff.h), HANDLE.shim and HANDLE.shim.exit (shim.h),
 * HANDLE.text (why its program could not be executed), HANDLE.ask (requests).
 */
#ifndef BACKEND_TASK_H
#define BACKEND_TASK_H

#include "backend/backend.h"
#include "backend/shim.h"

/* On a node. */
struct backend_task {
    const char *list; /* file: handles of the workers, in the order of tasks */
    int64_t number;   /* of this one, from 0 */
    const char *node; /* where it is, for people and for workers that start again alone */
    /* Under which name the node of task number `task` is reached; `noted`: what a worker
     * that is not in the list left as its node, else NULL. NULL: not known.
     */
    const char *(*reach)(void *arg, int64_t task, const char *noted);
    void *arg;
    bool (*keeps)(const char *variable); /* a variable of ours is the worker's, too */
    int64_t requests_ms; /* between two looks for requests; 0: that of shim.h */
};

/* Returns when the worker has ended; however it did, that is RC_OK once it is recorded. */
enum rc backend_task_run(const struct backend_task *t, struct err *err) MUST_CHECK;
/* Once per node, behind tasks that were killed: ends what is left of their workers. */
enum rc backend_task_sweep(const char *list, struct err *err) MUST_CHECK;

/* In the supervisor. */

/* prepare() of backend.h: nodes are taken to allow what this machine does, unless the
 * job's setting `view` says otherwise.
 */
void backend_task_prepare(struct backend_job *j);
/* port() of backend.h: jobs share nodes, and which ports are free there nobody knows yet:
 * each attempt has another one.
 */
int64_t backend_task_port(const struct backend_job *j);
/* Was it started? *ended: so has it, as `out` says: code, signal, and the text of a program
 * that could not be executed. *told: what first told it to stop, as in shim.h.
 */
bool backend_task_look(const struct backend_worker *w, bool *ended, int *told,
                       struct backend_exit *out);
/* Sets `node` of a worker that was started. */
void backend_task_note(const struct backend_job *j, struct backend_worker *w);
/* For the shim, in HANDLE.ask; numbers grow over all supervisors. */
void backend_task_request(const struct backend_worker *w, enum backend_signal s);
/* Writes handles to the file `list`, in the order of tasks. */
enum rc backend_task_list(const char *list, const struct backend_launch *at, size_t n,
                          struct err *err) MUST_CHECK;
/* A shared file system shows what others wrote once `run` has been read again. */
void backend_task_refresh(const struct backend_job *j);

#endif
