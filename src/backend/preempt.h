/* SPDX-License-Identifier: Apache-2.0 */
/* backend/preempt.h - who makes room for the first in line. */
#ifndef BACKEND_PREEMPT_H
#define BACKEND_PREEMPT_H

#include "backend/queue.h"

/* Of the running jobs that may be preempted and have a lower priority than `head`, the
 * fewest that have to go: lowest priority first, and those that lost least, having started
 * last. victims[i] belongs to w->running[i]. How many; 0 when it is in vain, or when those
 * that are going already will do.
 */
size_t backend_preempt_plan(const struct backend_queue_world *w,
                            const struct backend_queue_job *head, bool *victims);

#endif
