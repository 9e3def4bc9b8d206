/* SPDX-License-Identifier: Apache-2.0 */
/* The line of time is cut where a zone changes its offset. Within such a span the local
 * clock is the real one moved by a constant, and the next fitting minute is found by
 * looking at months, days, hours and minutes in turn: a few steps, never minute by
 * minute. `seen` is the latest local minute that the clock has ever shown; lines that
 * mean times of the day look only behind it, and find what was left out between two
 * spans.
 */
#include "team/cron.h"

#define YEAR_END 2200

static int next_bit(uint64_t bits, int from)
{
    uint64_t rest = from < 64 ? bits >> from : 0;
    return rest ? from + __builtin_ctzll(rest) : -1;
}

static bool day_fits(const struct team_cron *c, const struct team_civil *at)
{
    bool day = c->days >> at->day & 1, weekday = c->weekdays >> at->weekday & 1;
    if (!(c->months >> at->month & 1))
        return false;
    return c->any_day || c->any_weekday ? day && weekday : day || weekday;
}

bool team_cron_fits(const struct team_cron *c, const struct team_civil *at)
{
    return c->minutes >> at->minute & 1 && c->hours >> at->hour & 1 && day_fits(c, at);
}

/* The first fitting time of a day from hour:minute on, in minutes; -1: none. */
static int in_day(const struct team_cron *c, int hour, int minute)
{
    for (int h; (h = next_bit(c->hours, hour)) >= 0; hour = h + 1, minute = 0) {
        int m = next_bit(c->minutes, h == hour ? minute : 0);
        if (m >= 0)
            return h * 60 + m;
    }
    return -1;
}

/* The first fitting local minute at or behind `from`; INT64_MAX: none. In seconds. */
static int64_t local_next(const struct team_cron *c, int64_t from)
{
    struct team_civil at = team_civil_of(team_civil_floor(from + 59, 60) * 60);
    int64_t day = team_civil_days(at.year, at.month, at.day);
    while (at.year < YEAR_END) {
        int found = day_fits(c, &at) ? in_day(c, at.hour, at.minute) : -1;
        if (found >= 0)
            return day * 86400 + (int64_t)found * 60;
        if (c->months >> at.month & 1)
            day++;
        else
            day += team_civil_month_days(at.year, at.month) - at.day + 1;
        at = team_civil_of(day * 86400);
    }
    return INT64_MAX;
}

/* The latest local second that the clock had shown before `span` began. */
static int64_t seen_before(const struct team_zone *z, const struct team_zone_span *span)
{
    if (span->from == INT64_MIN)
        return INT64_MIN;
    return span->from - 1 + team_zone_at(z, span->from - 1).offset;
}

bool team_cron_next(const struct team_cron *c, const struct team_zone *z, int64_t after,
                    int64_t *next)
{
    struct team_zone_span span = team_zone_at(z, after + 1);
    int64_t seen = after + span.offset; /* local times up to here are done with */
    if (!c->follows_clock) {
        int64_t before = seen_before(z, &span);
        seen = after + 1 == span.from ? before : before > seen ? before : seen;
    }
    for (;;) {
        int64_t local = local_next(c, seen + 1);
        if (local == INT64_MAX)
            return false;
        int64_t at = local - span.offset;
        if (span.from != INT64_MIN && at < span.from)
            at = span.from; /* left out by the clock: the moment after */
        if (span.to == INT64_MAX || at < span.to) {
            *next = at;
            return true;
        }
        int64_t last = span.to - 1 + span.offset;
        span = team_zone_at(z, span.to);
        if (c->follows_clock)
            seen = span.from + span.offset - 1;
        else
            seen = last > seen ? last : seen;
    }
}
