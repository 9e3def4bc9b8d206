/* SPDX-License-Identifier: Apache-2.0 */
/* The rule at the end of a time zone file, POSIX TZ: two offsets, and the days on which the
 * clock changes between them. It is asked for times behind the last change that the file
 * lists.
 */
#include "team/zone_rule.h"

#include <ctype.h>

#include "team/civil.h"

static bool take_char(struct str *s, char c)
{
    if (!s->n || s->p[0] != c)
        return false;
    s->p++;
    s->n--;
    return true;
}

static bool take_number(struct str *s, int64_t max, int64_t *out)
{
    int64_t v = 0;
    size_t i = 0;
    for (; i < s->n && i < 4 && isdigit((unsigned char)s->p[i]); i++)
        v = v * 10 + (s->p[i] - '0');
    if (!i || v > max)
        return false;
    s->p += i;
    s->n -= i;
    *out = v;
    return true;
}

/* [+-]hh[:mm[:ss]] */
static bool take_time(struct str *s, int64_t *out)
{
    int64_t h = 0, m = 0, sec = 0;
    bool minus = take_char(s, '-');
    if (!minus)
        (void)take_char(s, '+');
    if (!take_number(s, 167, &h))
        return false;
    if (take_char(s, ':') &&
        (!take_number(s, 59, &m) || (take_char(s, ':') && !take_number(s, 59, &sec))))
        return false;
    *out = (h * 3600 + m * 60 + sec) * (minus ? -1 : 1);
    return true;
}

static bool take_name(struct str *s)
{
    size_t i = 0;
    if (take_char(s, '<')) {
        while (i < s->n && s->p[i] != '>')
            i++;
        if (i == s->n)
            return false;
        i++;
    } else {
        while (i < s->n && isalpha((unsigned char)s->p[i]))
            i++;
    }
    s->p += i;
    s->n -= i;
    return i > 0;
}

static bool take_day(struct str *s, struct team_zone_day *out)
{
    int64_t month = 0, week = 0, day = 0;
    *out = (struct team_zone_day){.time = 7200};
    if (!take_char(s, ','))
        return false;
    if (take_char(s, 'M')) {
        out->kind = 'M';
        if (!take_number(s, 12, &month) || !month || !take_char(s, '.') ||
            !take_number(s, 5, &week) || !week || !take_char(s, '.') ||
            !take_number(s, 6, &day))
            return false;
    } else {
        out->kind = take_char(s, 'J') ? 'J' : 0;
        if (!take_number(s, 365, &day) || (out->kind && !day))
            return false;
    }
    out->month = (int)month;
    out->week = (int)week;
    out->day = (int)day;
    return !take_char(s, '/') || take_time(s, &out->time);
}

bool team_zone_rule_parse(struct str text, struct team_zone_rule *out)
{
    struct team_zone_rule r = {0};
    if (!take_name(&text) || !take_time(&text, &r.std))
        return false;
    r.std = -r.std; /* written west of Greenwich */
    r.dst = r.std + 3600;
    if (text.n) {
        r.changes = true;
        if (!take_name(&text))
            return false;
        if (text.n && text.p[0] != ',') {
            if (!take_time(&text, &r.dst))
                return false;
            r.dst = -r.dst;
        }
        if (!take_day(&text, &r.start) || !take_day(&text, &r.end) || text.n)
            return false;
    }
    *out = r;
    return true;
}

/* Seconds on the local clock at which the day's change takes place. */
static int64_t change_in(const struct team_zone_day *d, int64_t year)
{
    int64_t days;
    if (d->kind == 'M') {
        int64_t first = team_civil_days(year, d->month, 1);
        int weekday = team_civil_of(first * 86400).weekday;
        int day = 1 + (d->day - weekday + 7) % 7 + (d->week - 1) * 7;
        while (day > team_civil_month_days(year, d->month))
            day -= 7;
        days = first + day - 1;
    } else {
        bool leap = team_civil_month_days(year, 2) == 29;
        days = team_civil_days(year, 1, 1) + d->day;
        if (d->kind == 'J')
            days -= !(leap && d->day >= 60);
    }
    return days * 86400 + d->time;
}

struct team_zone_span team_zone_rule_at(const struct team_zone_rule *r, int64_t t)
{
    struct team_zone_span span = {INT64_MIN, INT64_MAX, r->std};
    if (!r->changes)
        return span;
    int64_t year = team_civil_of(t + r->std).year;
    for (int64_t y = year - 1; y <= year + 1; y++) {
        const struct {
            int64_t at, offset;
        } changes[] = {{change_in(&r->start, y) - r->std, r->dst},
                       {change_in(&r->end, y) - r->dst, r->std}};
        for (int i = 0; i < 2; i++) {
            if (changes[i].at <= t && changes[i].at >= span.from) {
                span.from = changes[i].at;
                span.offset = changes[i].offset;
            } else if (changes[i].at > t && changes[i].at < span.to) {
                span.to = changes[i].at;
            }
        }
    }
    return span;
}
