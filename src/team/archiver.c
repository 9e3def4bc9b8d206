/* SPDX-License-Identifier: Apache-2.0 */
/* The first pass looks at all ended jobs of this place, each later one at those that ended since
 * the pass before it began, with some overlap for clocks that differ. A pass that failed is
 * repeated from where it began.
 */
#include "team/archiver.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "job/archive.h"
#include "job/state.h"
#include "team/ticker.h"

#define LOG_AREA "archiver"
#define EVERY_NS (2 * CLOCK_SECOND)
#define RETRY_MAX_NS (60 * CLOCK_SECOND)
#define OVERLAP_NS (120 * CLOCK_SECOND)
#define PAGE 1000
#define FAILURES_MAX 3 /* in a row: then it is the store */

struct team_archiver {
    struct job_place place; /* with its own store */
    int64_t since;          /* jobs that ended from here on are looked at; ns */
    int64_t retry_ns;       /* 0: the last pass was fine */
    struct team_ticker *ticker;
};

/* One job that cannot be moved does not hold up the others; a store that is away does. */
static enum rc archive_page(struct team_archiver *a, const struct store_jobs *jobs,
                            struct err *err)
{
    enum rc first = RC_OK;
    int failed = 0;
    for (size_t i = 0; i < jobs->n && failed < FAILURES_MAX; i++) {
        enum job_state state = JOB_Unknown;
        struct err own = {0};
        if (!job_state_find(jobs->at[i].state, &state) || !job_state_ended(state))
            continue;
        enum rc rc = job_archive_send(&a->place, jobs->at[i].id, &own);
        failed = rc ? failed + 1 : 0;
        if (rc && !first) {
            first = rc;
            *err = own;
        }
    }
    return first;
}

static enum rc archive_pass(struct team_archiver *a, struct err *err)
{
    struct store_filter f = {
        .node = a->place.node, .limit = PAGE, .ended_since = a->since > 0 ? a->since : 1};
    enum rc rc = RC_OK;
    for (size_t got = PAGE; !rc && got == PAGE;) {
        struct store_jobs jobs = {0};
        rc = store_list(a->place.store, &f, &jobs, err);
        got = rc ? 0 : jobs.n;
        if (!rc)
            rc = archive_page(a, &jobs, err);
        if (got)
            f.before = jobs.at[got - 1].num;
        store_jobs_release(&jobs);
    }
    return rc;
}

static int64_t archiver_tick(void *arg)
{
    struct team_archiver *a = arg;
    struct err err = {0};
    int64_t began = clock_wall_ns();
    enum rc rc = archive_pass(a, &err);
    if (!rc) {
        if (a->retry_ns)
            log_info("the store of artifacts answers again");
        a->since = began - OVERLAP_NS;
        a->retry_ns = 0;
        return EVERY_NS;
    }
    a->retry_ns = a->retry_ns ? 2 * a->retry_ns : EVERY_NS;
    if (a->retry_ns > RETRY_MAX_NS)
        a->retry_ns = RETRY_MAX_NS;
    log_warn("%s; outputs stay here, next try in %jd s", err.msg,
             (intmax_t)(a->retry_ns / CLOCK_SECOND));
    return a->retry_ns;
}

enum rc team_archiver_create(const struct job_place *p, struct team_archiver **out,
                             struct err *err)
{
    struct team_archiver *a = mem_calloc(1, sizeof(*a));
    a->place = *p;
    a->place.store = NULL;
    enum rc rc = store_open(p->where, &a->place.store, err);
    if (!rc)
        rc = team_ticker_create(0, archiver_tick, a, &a->ticker, err);
    if (rc)
        team_archiver_destroy(a);
    else
        *out = a;
    return rc;
}

void team_archiver_destroy(struct team_archiver *a)
{
    if (!a)
        return;
    team_ticker_destroy(a->ticker);
    store_close(a->place.store);
    mem_free(a);
}
