/* SPDX-License-Identifier: Apache-2.0 */
/* backend/queue_account.h - what each user and project has, and may have, while a plan is
 * made.
 */
#ifndef BACKEND_QUEUE_ACCOUNT_H
#define BACKEND_QUEUE_ACCOUNT_H

#include "backend/queue.h"
#include "base/map.h"

struct queue_account {
    struct queue_need here; /* on this machine: decides the order */
    struct queue_need all;  /* everywhere: counts against the quota */
    int64_t running;
    const struct queue_group *group; /* NULL: nothing agreed on */
    size_t at;                       /* a number of its own */
};

struct queue_accounts {
    struct map users, projects; /* of struct queue_account, owned */
};

void queue_accounts_release(struct queue_accounts *a);
/* Made when it is not there. */
struct queue_account *queue_account(struct queue_accounts *a, const char *name,
                                    bool project);
void queue_accounts_group(struct queue_accounts *a, const struct queue_group *g);
/* Notes that a job runs, here or on another machine. */
void queue_accounts_run(struct queue_accounts *a, const struct queue_job *j, bool here);
/* The part of the machine that it has and lately had, by weight. */
double queue_account_score(const struct queue_account *a, const struct queue_need *total);
/* False, and *v says why, when the job would exceed a quota. */
bool queue_accounts_allow(struct queue_accounts *a, const struct queue_job *j,
                          struct queue_verdict *v);

#endif
