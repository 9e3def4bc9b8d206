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

#include "backend/depend.h"
#include "backend/forkserver.h"
#include "backend/probe.h"
#include "backend/queue.h"
#include "backend/share.h"
#include "base/proc.h"
#include "job/place.h"
#include "job/record.h"
#include "job/spec.h"

struct backend_agent_options {
    const char *slots; /* see capacity.h; NULL: what there is */
    double idle_s;     /* ends after this time without jobs */
    double patience_s; /* with a method of a backend; 0: three minutes */
    struct backend_forkserver
        *forkserver; /* borrowed; NULL: supervisors are started as programs */
};

/* Runs until idle or SIGTERM. RC_OK also when another agent holds the lock. */
enum rc backend_agent_run(const struct job_place *p,
                          const struct backend_agent_options *o,
                          struct err *err) MUST_CHECK;
/* Starts one as a child, to be waited for; it ends by itself when another is there. */
enum rc backend_agent_start(const struct job_place *p, struct proc **out,
                            struct err *err) MUST_CHECK;
/* Makes sure that an agent runs and looks at the queue. E3202. */
enum rc backend_agent_wake(const struct job_place *p, struct err *err) MUST_CHECK;

/* Our own program, wherever it was moved to; to mem_free(). */
char *backend_agent_program(void) MUST_CHECK;

/* A job that waits for others than resources. */
struct backend_agent_held {
    const struct store_job *row; /* borrowed from the queue's rows */
    enum backend_depend_answer answer;
    enum job_reason why;   /* FAILED: what that is */
    char text[PROBE_TEXT]; /* "for ...", or how it failed */
};

/* The queue as the store shows it: what runs and what waits on this machine. */
struct backend_agent_queue {
    struct store_jobs rows; /* of all live jobs of this node */
    VEC(struct backend_queue_job) running, waiting;
    VEC(struct backend_agent_held) held; /* queued, but not in line yet */
};
/* `probes` NULL: as the agent found them. */
enum rc backend_agent_queue_read(const struct job_place *p,
                                 const struct backend_probes *probes,
                                 struct backend_agent_queue *out,
                                 struct err *err) MUST_CHECK;
void backend_agent_queue_release(struct backend_agent_queue *q);
/* All that decides who starts now; borrowed from its parts. */
struct backend_queue_world backend_agent_world(
    const struct backend_queue_need *total, const struct backend_agent_queue *q,
    const struct backend_share *share, const struct backend_share_elsewhere *elsewhere);
/* RC_INVAL (E3204) when the machine can never meet it. */
enum rc backend_agent_check(const struct job_place *p, const char *slots,
                            const struct job_spec *spec, struct err *err) MUST_CHECK;

#endif
