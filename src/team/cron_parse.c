/* SPDX-License-Identifier: Apache-2.0 */
/* Each field becomes a set of bits; names of months and days and the words that begin with @
 * are replaced first. A line that can never come due (30 February) is refused.
 */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/compiler.h"
#include "base/str.h"
#include "team/cron.h"

static const char *const month_names[] = {"jan", "feb", "mar", "apr", "may", "jun",
                                          "jul", "aug", "sep", "oct", "nov", "dec"};
static const char *const weekday_names[] = {"sun", "mon", "tue", "wed",
                                            "thu", "fri", "sat"};

struct field {
    const char *what;
    int low, high;
    const char *const *names; /* of low, low + 1, ...; may be NULL */
    size_t n_names;
};

static const struct field fields[] = {
    {"minute", 0, 59, NULL, 0},
    {"hour", 0, 23, NULL, 0},
    {"day of the month", 1, 31, NULL, 0},
    {"month", 1, 12, month_names, ARRAY_LEN(month_names)},
    {"day of the week", 0, 7, weekday_names, ARRAY_LEN(weekday_names)},
};

static const struct {
    const char *name, *line;
} shorts[] = {
    {"@annually", "0 0 1 1 *"}, {"@daily", "0 0 * * *"},   {"@hourly", "0 * * * *"},
    {"@midnight", "0 0 * * *"}, {"@monthly", "0 0 1 * *"}, {"@weekly", "0 0 * * 0"},
    {"@yearly", "0 0 1 1 *"},
};

static enum rc wrong(const struct field *f, struct str part, struct err *err)
{
    return err_coded(err, RC_INVAL, E5101,
                     "%s: '%.*s' is not a number from %d to %d, a range or a list",
                     f->what, (int)(part.n < 40 ? part.n : 40), part.p, f->low, f->high);
}

static bool one_value(const struct field *f, struct str s, int *out)
{
    int64_t v;
    for (size_t i = 0; i < f->n_names; i++)
        if (s.n == 3 && strncasecmp(s.p, f->names[i], 3) == 0) {
            *out = f->low + (int)i;
            return true;
        }
    if (!s.n || s.n > 2 || !isdigit((unsigned char)s.p[0]) || !str_to_i64(s, &v) ||
        v < f->low || v > f->high)
        return false;
    *out = (int)v;
    return true;
}

/* "*", "5", "1-5", each with "/2". */
static enum rc one_part(const struct field *f, struct str part, uint64_t *bits,
                        struct err *err)
{
    struct str whole = part, range, from;
    int64_t step = 1;
    int low = f->low, high = f->high;
    if (!str_split(&part, '/', &range))
        return wrong(f, whole, err);
    bool stepped = range.n < whole.n;
    if (stepped && (part.n > 2 || !str_to_i64(part, &step) || step < 1 || step > f->high))
        return err_coded(err, RC_INVAL, E5101,
                         "%s: '%.*s': a step is a number from 1 to %d", f->what,
                         (int)(whole.n < 40 ? whole.n : 40), whole.p, f->high);
    if (!str_is(range, "*")) {
        struct str rest = range;
        if (!str_split(&rest, '-', &from) || !one_value(f, from, &low))
            return wrong(f, whole, err);
        if (from.n == range.n) /* "5/15" goes on to the end, "5" does not */
            high = stepped ? f->high : low;
        else if (!one_value(f, rest, &high))
            return wrong(f, whole, err);
        if (high == 0 && low > 0 && f->high == 7)
            high = 7; /* fri-sun */
    }
    if (low > high)
        return err_coded(err, RC_INVAL, E5101, "%s: '%.*s' ends before it begins",
                         f->what, (int)(whole.n < 40 ? whole.n : 40), whole.p);
    for (int v = low; v <= high; v += (int)step)
        *bits |= UINT64_C(1) << v;
    return RC_OK;
}

static enum rc one_field(const struct field *f, struct str text, uint64_t *bits,
                         struct err *err)
{
    struct str part;
    enum rc rc = RC_OK;
    *bits = 0;
    while (!rc && str_split(&text, ',', &part))
        rc = one_part(f, part, bits, err);
    return rc;
}

/* Is there a day on which it can come due at all? */
static bool possible(const struct team_cron *c)
{
    if (!c->any_day && !c->any_weekday)
        return true; /* a weekday is enough, and every month has all of them */
    for (int m = 1; m <= 12; m++)
        for (int d = 1; d <= team_civil_month_days(2000, m); d++)
            if (c->months >> m & 1 && c->days >> d & 1)
                return true;
    return false;
}

static enum rc parse(const char *line, struct team_cron *out, struct err *err)
{
    struct str words[6];
    size_t n = 0;
    for (const char *p = line; *p && n < ARRAY_LEN(words);) {
        size_t blank = strspn(p, " \t"), len = strcspn(p + blank, " \t");
        if (len)
            words[n++] = str_of(p + blank, len);
        p += blank + len;
    }
    if (n != ARRAY_LEN(fields))
        return err_coded(err, RC_INVAL, E5101,
                         "a line has five fields (minute, hour, day of the month, month, "
                         "day of the week); there %s %s%zu",
                         n == 1 ? "is" : "are", n > 5 ? "more than " : "", n > 5 ? 5 : n);
    uint64_t bits[ARRAY_LEN(fields)];
    for (size_t i = 0; i < n; i++) {
        enum rc rc = one_field(&fields[i], words[i], &bits[i], err);
        if (rc)
            return rc;
    }
    struct team_cron c = {.minutes = bits[0],
                          .hours = (uint32_t)bits[1],
                          .days = (uint32_t)bits[2],
                          .months = (uint32_t)bits[3],
                          .weekdays = (uint32_t)((bits[4] | bits[4] >> 7) & 0x7f),
                          .any_day = words[2].p[0] == '*',
                          .any_weekday = words[4].p[0] == '*',
                          .follows_clock = words[0].p[0] == '*' || words[1].p[0] == '*'};
    if (!possible(&c))
        return err_coded(err, RC_INVAL, E5101, "no month of these has such a day");
    *out = c;
    return RC_OK;
}

enum rc team_cron_parse(const char *line, struct team_cron *out, struct err *err)
{
    const char *text = line;
    bool known = line[0] != '@';
    for (size_t i = 0; i < ARRAY_LEN(shorts); i++)
        if (strcasecmp(line, shorts[i].name) == 0) {
            text = shorts[i].line;
            known = true;
        }
    enum rc rc = known ? parse(text, out, err)
                       : err_coded(err, RC_INVAL, E5101,
                                   "only @hourly, @daily, @midnight, @weekly, @monthly, "
                                   "@yearly and @annually are known");
    return rc ? err_wrap(err, rc, "cron line '%.80s'", line) : RC_OK;
}
