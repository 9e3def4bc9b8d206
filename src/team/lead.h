/* SPDX-License-Identifier: Apache-2.0 */
/* team/lead.h - of several processes on one store, one leads: it fires schedules and
 * sends notifications.
 *
 * The lease lies in the store and is renewed every second; who does not renew it for
 * LEAD_MS has lost it, and another takes it. By its own clock the holder stops earlier
 * than that. What it writes is refused by the store once another leads (store_fence()),
 * so one that was stopped and wakes up in the middle of an action changes nothing either.
 */
#ifndef TEAM_LEAD_H
#define TEAM_LEAD_H

#include <stdatomic.h>

#include "store/leases.h"

#define LEAD_LEASE "leader"
#define LEAD_MS 4000
#define LEAD_RENEW_MS 1000

struct team_lead {
    char holder[96];       /* machine, process, and a number of its own */
    _Atomic int64_t epoch; /* while it leads */
    _Atomic int64_t until; /* monotonic, ns: leads up to then */
};

void team_lead_init(struct team_lead *l);
/* Takes or renews the lease; to be called every LEAD_RENEW_MS. Sets the fence of `s`. */
enum rc team_lead_renew(struct team_lead *l, struct store *s, struct err *err) MUST_CHECK;
/* Any thread. */
bool team_lead_is(struct team_lead *l);
/* The fence for another store of the same process. */
void team_lead_fence(struct team_lead *l, struct store *s);
/* At the end: another may take it at once. */
void team_lead_give_up(struct team_lead *l, struct store *s);

#endif
