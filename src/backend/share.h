/* SPDX-License-Identifier: Apache-2.0 */
/* backend/share.h - what the record says about users and projects, as the queue wants it:
 * quotas, weights, recent use.
 *
 * Quotas of a user are kept among those of projects, under '@' and the user's name, which
 * no project can have; "@*" is for every user who has none of their own. Recent use
 * fades: what was used a day ago counts half.
 */
#ifndef BACKEND_SHARE_H
#define BACKEND_SHARE_H

#include "backend/queue.h"
#include "base/arena.h"
#include "base/vec.h"
#include "job/place.h"

#define SHARE_USER '@'
#define SHARE_ANYBODY "@*"

/* Zeroed before its first use. */
struct backend_share {
    struct arena arena;
    VEC(struct backend_queue_group) groups;
    bool limited;        /* somebody has a quota */
    struct arena recent; /* of the names below */
    VEC(struct backend_queue_group) used;
    int64_t used_at; /* when they were made; wall clock, ns */
};

/* Reads again what was agreed on, and once a minute what was used. `jobs`: whose users
 * the quota for everybody is for.
 */
enum rc backend_share_refresh(struct backend_share *s, struct store *store,
                              const struct backend_queue_need *total,
                              const struct store_jobs *jobs, int64_t now,
                              struct err *err) MUST_CHECK;
void backend_share_release(struct backend_share *s);

/* Jobs that hold resources on other machines than `node`. */
struct backend_share_elsewhere {
    struct store_jobs rows;
    VEC(struct backend_queue_job) at;
};
enum rc backend_share_elsewhere_read(struct store *store, const char *node,
                                     struct backend_share_elsewhere *out,
                                     struct err *err) MUST_CHECK;
void backend_share_elsewhere_release(struct backend_share_elsewhere *e);

/* The row of an index as the queue sees it. */
struct backend_queue_job backend_share_job(const struct store_job *j);
/* Does it hold resources? */
bool backend_share_holds(const struct store_job *j);

#endif
