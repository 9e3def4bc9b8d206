/* SPDX-License-Identifier: Apache-2.0 */
/* backend/queue.h - who may start now, and why the others wait. A pure function of what
 * waits, what runs, what there is and what was agreed on, so that `job why` gives the
 * queue's own reasons.
 *
 * Order: priority (9 first); then jobs that have waited for QUEUE_STARVING_S, by age;
 * then the project and in it the user with the smallest share, present and recent, in
 * proportion to its weight; then age. All workers of a job start together or not at all.
 * A job that would exceed a quota of its user or project is left out of the line until it
 * would not; it holds nobody up.
 *
 * When the first in line does not fit, what it needs is kept for it. Others may start in
 * the gap (backfill) if they surely end before it could begin, or if it could begin
 * beside them; while nobody knows when it could begin, any may pass it until it has
 * waited for QUEUE_PATIENCE_S.
 */
#ifndef BACKEND_QUEUE_H
#define BACKEND_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

#define QUEUE_PATIENCE_S 300
#define QUEUE_STARVING_S 3600

struct backend_queue_need {
    int64_t cpu_milli, memory, gpu;
};

struct backend_queue_job {
    const char *id, *owner;
    const char *project;   /* NULL or "": of none */
    int64_t priority, num; /* num: order of submission */
    int64_t since;         /* waiting: queued; running: started; wall clock, ns */
    int64_t timeout_s;     /* 0: none */
    bool preemptible;      /* may be told to make room */
    bool leaving;          /* was told to */
    bool away;             /* takes nothing of this machine: quotas alone hold for it */
    struct backend_queue_need need;
};

/* What was agreed on for a user or a project. Those without one have no limits, no
 * recent use and the usual weight.
 */
#define QUEUE_WEIGHT 100
struct backend_queue_group {
    const char *name;
    bool project;                   /* else a user */
    struct backend_queue_need most; /* at a time, all machines together; -1: no limit */
    int64_t most_running;           /* jobs; -1: no limit */
    int64_t weight; /* twice the weight, twice the share; 0: QUEUE_WEIGHT */
    double recent;  /* part of the machine that it had lately, 0 to 1 */
};

struct backend_queue_world {
    struct backend_queue_need total; /* of this machine */
    const struct backend_queue_job *running, *elsewhere,
        *waiting; /* here, on other machines */
    size_t n_running, n_elsewhere, n_waiting;
    const struct backend_queue_group *groups;
    size_t n_groups;
    int64_t now; /* wall clock, ns */
};

enum backend_queue_answer {
    QUEUE_START,
    QUEUE_FULL,   /* first in line, but what it needs is in use */
    QUEUE_BEHIND, /* others go first, and it would hold them up or does not fit */
    QUEUE_NEVER,  /* needs more than there is */
    QUEUE_QUOTA,  /* its user or project has as much as it may */
};

struct backend_queue_verdict {
    enum backend_queue_answer answer;
    const char *lacking; /* "cpu", "memory", "gpu", with QUOTA also "running"; or NULL */
    int64_t missing;     /* how much of it */
    const char *ahead;   /* QUEUE_BEHIND: id of the first in line */
    const struct backend_queue_group *group; /* QUEUE_QUOTA: whose quota */
    int64_t used;                            /* QUEUE_QUOTA: of `lacking`, by the group */
};

/* verdicts[i] belongs to waiting[i]. */
void backend_queue_plan(const struct backend_queue_world *w,
                        struct backend_queue_verdict *verdicts);

/* One sentence about waiting[i]: why, and what would help. */
void backend_queue_why(const struct backend_queue_world *w, size_t i,
                       const struct backend_queue_verdict *v, struct buf *out);

/* NULL when `need` fits into `room`; else what is lacking, and how much of it. */
const char *backend_queue_lacking(const struct backend_queue_need *room,
                                  const struct backend_queue_need *need,
                                  int64_t *missing);

#endif
