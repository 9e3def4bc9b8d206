/* SPDX-License-Identifier: Apache-2.0 */
#include "team/cleaner.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "job/remove.h"
#include "team/ticker.h"

#define LOG_AREA "cleaner"
#define COLLECT_EVERY 6 /* periods: it reads the specification of every job */

struct team_cleaner {
    struct job_place place; /* with its own store */
    int64_t every_ns, times;
    struct team_ticker *ticker;
};

static int64_t cleaner_tick(void *arg)
{
    struct team_cleaner *c = arg;
    struct job_removed n = {0};
    struct err err = {0};
    enum rc rc = job_retain(&c->place, clock_wall_ns(), false, &n, &err);
    if (!rc && (n.jobs || c->times++ % COLLECT_EVERY == 0))
        rc = job_collect(&c->place, COLLECT_YOUNG_S, false, &n, &err);
    if (rc)
        log_warn("%s", err.msg);
    else if (n.jobs || n.objects || n.orphans)
        log_info("removed %jd jobs by policy, %jd contents, %jd directories without a "
                 "job",
                 (intmax_t)n.jobs, (intmax_t)n.objects, (intmax_t)n.orphans);
    return c->every_ns;
}

enum rc team_cleaner_create(const struct job_place *p, double every_s,
                            struct team_cleaner **out, struct err *err)
{
    struct team_cleaner *c = mem_calloc(1, sizeof(*c));
    c->place = *p;
    c->place.store = NULL;
    c->every_ns = (int64_t)(every_s * 1e9);
    enum rc rc = store_open(p->where, &c->place.store, err);
    if (!rc)
        rc = team_ticker_create(c->every_ns, cleaner_tick, c, &c->ticker, err);
    if (rc)
        team_cleaner_destroy(c);
    else
        *out = c;
    return rc;
}

void team_cleaner_destroy(struct team_cleaner *c)
{
    if (!c)
        return;
    team_ticker_destroy(c->ticker);
    store_close(c->place.store);
    mem_free(c);
}
