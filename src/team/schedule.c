/* SPDX-License-Identifier: Apache-2.0 */
#include "team/schedule.h"

#include <string.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/str.h"

static const char *const overlaps[] = {"skip", "queue", "replace", "allow"};

const char *team_schedule_overlap_name(enum team_schedule_overlap o)
{
    return overlaps[o];
}

static bool read_catch_up(struct str text, struct team_schedule_policy *out)
{
    struct str word;
    out->limit = 1;
    if (!str_split(&text, ':', &word))
        return false;
    if (str_is(word, "none"))
        out->catch_up = SCHEDULE_CATCH_NONE;
    else if (str_is(word, "last"))
        out->catch_up = SCHEDULE_CATCH_LAST;
    else if (str_is(word, "all")) {
        out->catch_up = SCHEDULE_CATCH_ALL;
        out->limit = SCHEDULE_CATCH_MAX;
        if (text.p)
            return str_to_i64(text, &out->limit) && out->limit >= 1 &&
                   out->limit <= SCHEDULE_CATCH_MAX;
    } else {
        return false;
    }
    return !text.p;
}

static bool read_overlap(struct str text, enum team_schedule_overlap *out)
{
    for (size_t i = 0; i < ARRAY_LEN(overlaps); i++)
        if (str_is(text, overlaps[i])) {
            *out = (enum team_schedule_overlap)i;
            return true;
        }
    return false;
}

enum rc team_schedule_policy_read(const char *catch_up, const char *overlap,
                                  struct team_schedule_policy *out, struct err *err)
{
    struct team_schedule_policy p = {0};
    if (!read_catch_up(str_c(catch_up), &p))
        return err_coded(
            err, RC_INVAL, E5105,
            "catch-up: '%.60s' is not none, last, all or all:N with N from 1 "
            "to %d",
            catch_up, SCHEDULE_CATCH_MAX);
    if (!read_overlap(str_c(overlap), &p.overlap))
        return err_coded(err, RC_INVAL, E5105,
                         "overlap: '%.60s' is not skip, queue, replace or allow",
                         overlap);
    *out = p;
    return RC_OK;
}

enum rc team_schedule_policy_parse(const char *text, struct team_schedule_policy *out,
                                   struct err *err)
{
    struct team_schedule_policy p = {0};
    struct str rest = str_c(text), first;
    if (!str_split(&rest, ' ', &first) || !read_catch_up(first, &p) ||
        (rest.p && !read_overlap(rest, &p.overlap)))
        return err_coded(err, RC_INVAL, E5105, "the record has the policy '%.60s'", text);
    *out = p;
    return RC_OK;
}

void team_schedule_catch_up_print(const struct team_schedule_policy *p, struct buf *out)
{
    static const char *const names[] = {"none", "last", "all"};
    buf_puts(out, names[p->catch_up]);
    if (p->catch_up == SCHEDULE_CATCH_ALL && p->limit < SCHEDULE_CATCH_MAX)
        buf_printf(out, ":%jd", (intmax_t)p->limit);
}

void team_schedule_due_release(struct team_schedule_due *d)
{
    VEC_RELEASE(&d->fire);
}

int64_t team_schedule_next(const struct team_cron *c, const struct team_zone *z,
                           int64_t after)
{
    int64_t next;
    if (!team_cron_next(c, z, team_civil_floor(after, CLOCK_SECOND), &next))
        return 0;
    return next * CLOCK_SECOND;
}

/* The latest planned times of [from, now], `max` at most, the oldest first, and the one
 * before them. A schedule of every minute that was away for a year is not walked through:
 * the stretch before `now` that is looked at doubles until it holds enough.
 */
static void latest(const struct team_cron *c, const struct team_zone *z, int64_t from,
                   int64_t now, size_t max, struct team_schedule_due *d)
{
    for (int64_t stretch = 120 * (int64_t)max * CLOCK_SECOND;; stretch *= 2) {
        bool whole = stretch > now - from || stretch > INT64_MAX / 4;
        int64_t at =
            team_schedule_next(c, z, (whole ? from : now - stretch) - CLOCK_SECOND);
        d->fire.n = 0;
        for (; at && at <= now; at = team_schedule_next(c, z, at))
            VEC_PUSH(&d->fire, at);
        if (d->fire.n > max || whole)
            break;
    }
    if (d->fire.n > max) {
        d->missed = d->fire.at[d->fire.n - max - 1];
        memmove(d->fire.at, d->fire.at + d->fire.n - max, max * sizeof(*d->fire.at));
        d->fire.n = max;
    }
}

void team_schedule_due_at(const struct team_cron *c, const struct team_zone *z,
                          const struct team_schedule_policy *p, int64_t next, int64_t now,
                          struct team_schedule_due *d)
{
    *d = (struct team_schedule_due){.next = next};
    if (!next || next > now)
        return;
    size_t max = p->catch_up == SCHEDULE_CATCH_ALL ? (size_t)p->limit : 1;
    latest(c, z, next, now, max, d);
    size_t n = d->fire.n;
    if (n && p->catch_up == SCHEDULE_CATCH_NONE &&
        now - d->fire.at[n - 1] > SCHEDULE_LATE_S * CLOCK_SECOND) {
        d->missed = d->fire.at[n - 1];
        d->fire.n = 0;
    }
    d->next = team_schedule_next(c, z, now);
}
