/* SPDX-License-Identifier: Apache-2.0 */
/* backend/agent.h - the process that takes jobs of this machine from the queue.
 *
 * One per directory, made sure of by a lock; started by whoever submits, ends by itself
 * when nothing is left to do. It decides only who starts: each job has a supervisor of
 * its own that goes on without it. When it was killed, the next command that looks at
 * jobs starts another, which finds everything in the store.
 */
#ifndef BACKEND_AGENT_H
#define BACKEND_AGENT_H

#include "backend/nursery.h"
#include "backend/queue.h"
#include "backend/share.h"
#include "job/place.h"
#include "job/record.h"

struct agent_options {
    const char *slots;       /* see capacity.h; NULL: what there is */
    double idle_s;           /* ends after this time without jobs */
    struct nursery *nursery; /* borrowed; NULL: supervisors are started as programs */
};

/* Runs until idle or SIGTERM. RC_OK also when another agent holds the lock. */
enum rc agent_run(const struct place *p, const struct agent_options *o,
                  struct err *err) MUST_CHECK;
/* Makes sure that an agent runs and looks at the queue. E3202. */
enum rc agent_wake(const struct place *p, struct err *err) MUST_CHECK;

/* Our own program, wherever it was moved to; to mem_free(). */
char *agent_program(void) MUST_CHECK;

/* The queue as the store shows it: what runs and what waits on this machine. */
struct agent_queue {
    struct store_jobs rows; /* of all live jobs of this node */
    VEC(struct queue_job) running, waiting;
};
enum rc agent_queue_read(const struct place *p, struct agent_queue *out,
                         struct err *err) MUST_CHECK;
void agent_queue_release(struct agent_queue *q);
/* All that decides who starts now; borrowed from its parts. */
struct queue_world agent_world(const struct queue_need *total,
                               const struct agent_queue *q, const struct share *share,
                               const struct share_elsewhere *elsewhere);
/* RC_INVAL (E3204) when the machine can never meet it. */
enum rc agent_check(const struct place *p, const char *slots,
                    const struct queue_need *need, struct err *err) MUST_CHECK;

#endif
