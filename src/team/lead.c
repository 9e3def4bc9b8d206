/* SPDX-License-Identifier: Apache-2.0 */
#include "team/lead.h"

#include <stdio.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"

#define LOG_AREA "lead"
#define MARGIN_NS \
    (INT64_C(500) * 1000000) /* it stops so much before the others start \
                              */

void team_lead_init(struct team_lead *l)
{
    char host[64] = "";
    unsigned number = 0;
    if (gethostname(host, sizeof(host) - 1) < 0)
        snprintf(host, sizeof(host), "localhost");
    if (getrandom(&number, sizeof(number), 0) < 0)
        number = (unsigned)clock_wall_ns();
    snprintf(l->holder, sizeof(l->holder), "%s:%jd:%08x", host, (intmax_t)getpid(),
             number);
    atomic_init(&l->epoch, 0);
    atomic_init(&l->until, 0);
}

enum rc team_lead_renew(struct team_lead *l, struct store *s, struct err *err)
{
    bool mine = false, before = team_lead_is(l);
    int64_t asked = clock_mono_ns(), epoch = 0;
    enum rc rc = store_lease_take(s, LEAD_LEASE, l->holder, LEAD_MS, &mine, &epoch, err);
    if (rc)
        return rc; /* what is left of the lease still counts */
    atomic_store(&l->until, mine ? asked + LEAD_MS * INT64_C(1000000) - MARGIN_NS : 0);
    if (mine && (!before || epoch != atomic_load(&l->epoch))) {
        atomic_store(&l->epoch, epoch);
        team_lead_fence(l, s);
        log_info("leads from here on, epoch %jd", (intmax_t)epoch);
    } else if (!mine && before) {
        log_warn("another leads by now");
    }
    if (!mine)
        store_fence(s, NULL, NULL, 0);
    return RC_OK;
}

void team_lead_fence(struct team_lead *l, struct store *s)
{
    store_fence(s, LEAD_LEASE, l->holder, atomic_load(&l->epoch));
}

bool team_lead_is(struct team_lead *l)
{
    return clock_mono_ns() < atomic_load(&l->until);
}

void team_lead_give_up(struct team_lead *l, struct store *s)
{
    store_fence(s, NULL, NULL, 0);
    if (atomic_exchange(&l->until, 0)) {
        enum rc rc = store_lease_drop(s, LEAD_LEASE, l->holder, NULL);
        (void)rc; /* it ends by itself */
    }
}
