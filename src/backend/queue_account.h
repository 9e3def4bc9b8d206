/* SPDX-License-Identifier: Apache-2.0 */
/* backend/queue_account.h - what each user and project has, and may have, while a plan is
 * made.
 */
#ifndef BACKEND_QUEUE_ACCOUNT_H
#define BACKEND_QUEUE_ACCOUNT_H

#include "backend/queue.h"
#include "base/map.h"

struct backend_queue_account {
    struct backend_queue_need here; /* on this machine: decides the order */
    struct backend_queue_need all;  /* everywhere: counts against the quota */
    int64_t running;
    const struct backend_queue_group *group; /* NULL: nothing agreed on */
    size_t at;                               /* a number of its own */
};

struct backend_queue_accounts {
    struct map users, projects; /* of struct backend_queue_account, owned */
};

void backend_queue_accounts_release(struct backend_queue_accounts *a);
/* Made when it is not there. */
struct backend_queue_account *backend_queue_account(struct backend_queue_accounts *a,
                                                    const char *name, bool project);
void backend_queue_accounts_group(struct backend_queue_accounts *a,
                                  const struct backend_queue_group *g);
/* Notes that a job runs, here or on another machine. */
void backend_queue_accounts_run(struct backend_queue_accounts *a,
                                const struct backend_queue_job *j, bool here);
/* The part of the machine that it has and lately had, by weight. */
double backend_queue_account_score(const struct backend_queue_account *a,
                                   const struct backend_queue_need *total);
/* False, and *v says why, when the job would exceed a quota. */
bool backend_queue_accounts_allow(struct backend_queue_accounts *a,
                                  const struct backend_queue_job *j,
                                  struct backend_queue_verdict *v);

#endif
