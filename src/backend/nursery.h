/* SPDX-License-Identifier: Apache-2.0 */
/* backend/nursery.h - a process from which supervisors are forked.
 *
 * Loading the program costs more than all that a supervisor does for a short job. The
 * nursery is forked off an agent before it opens anything (a database that is open cannot
 * be taken across a fork), waits for ids, and forks a supervisor for each. It ends with
 * the agent; supervisors go on. When it is killed, the agent starts supervisors the long
 * way.
 */
#ifndef BACKEND_NURSERY_H
#define BACKEND_NURSERY_H

#include <stdbool.h>

#include "base/err.h"
#include "base/proc.h"
#include "job/place.h"

struct nursery;

/* Runs in a child with its own session and log and nothing open; returns its exit status.
 */
typedef int nursery_fn(void *arg, const char *id);

/* `arg` is copied by the fork. One thread only. */
enum rc nursery_create(nursery_fn *run, void *arg, struct nursery **out,
                       struct err *err) MUST_CHECK;
void nursery_destroy(struct nursery *n); /* NULL is fine */

int nursery_fd(const struct nursery *n); /* readable when nursery_next() has something */
/* A supervisor for this job, its output appended to `log`. False: the nursery is gone. */
bool nursery_ask(struct nursery *n, const char *id, const char *log);
struct nursery_end {
    char id[PLACE_ID_SIZE];
    struct proc_exit exit; /* code 126: it could not be started */
};
enum nursery_answer { NURSERY_NOTHING, NURSERY_END, NURSERY_GONE };
enum nursery_answer nursery_next(struct nursery *n, struct nursery_end *out);

#endif
