/* SPDX-License-Identifier: Apache-2.0 */
/* backend/queue.h - who may start now, and why the others wait. A pure function of what
 * waits, what runs and what there is, so that `job why` gives the queue's own reasons.
 *
 * Order: priority (9 first), then the user who has the smallest share of the machine,
 * then age. All workers of a job start together or not at all. When the first in order
 * does not fit, later ones may start in the gap (backfill) if they surely end before it
 * could begin; while nobody knows when it could begin, they may pass it only until it has
 * waited for QUEUE_PATIENCE_S.
 */
#ifndef BACKEND_QUEUE_H
#define BACKEND_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

#define QUEUE_PATIENCE_S 300

struct queue_need {
    int64_t cpu_milli, memory, gpu;
};

struct queue_job {
    const char *id, *owner;
    int64_t priority, num; /* num: order of submission */
    int64_t since;         /* waiting: queued; running: started; wall clock, ns */
    int64_t timeout_s;     /* 0: none */
    struct queue_need need;
};

enum queue_answer {
    QUEUE_START,
    QUEUE_FULL,   /* first in line, but what it needs is in use */
    QUEUE_BEHIND, /* others go first, and it would hold them up or does not fit */
    QUEUE_NEVER,  /* needs more than there is */
};

struct queue_verdict {
    enum queue_answer answer;
    const char *lacking; /* QUEUE_FULL, NEVER: "cpu", "memory", "gpu"; else NULL */
    int64_t missing;     /* how much of it */
    const char *ahead;   /* QUEUE_BEHIND: id of the first in line */
};

/* verdicts[i] belongs to waiting[i]. `now`: wall clock, ns. */
void queue_plan(const struct queue_need *total, const struct queue_job *running,
                size_t n_running, const struct queue_job *waiting, size_t n_waiting,
                int64_t now, struct queue_verdict *verdicts);

/* One sentence about waiting[i]: why, and what would help. */
void queue_why(const struct queue_need *total, const struct queue_job *running,
               size_t n_running, const struct queue_job *waiting, size_t i,
               const struct queue_verdict *v, struct buf *out);

#endif
