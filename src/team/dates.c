/* SPDX-License-Identifier: Apache-2.0 */
/* A text is copied up to the next ${ or $[; what stands inside is tried as a parameter, as a
 * name that is known, as an arrangement of parts with an offset, in this order. What fits
 * none of them stays as it is, since it may be the shell's.
 */
#include "team/dates.h"

#include <ctype.h>
#include <string.h>

#include "base/compiler.h"

#define DAY 86400
#define OFFSET_MAX INT64_C(100000000)

enum part { PART_YEAR, PART_MONTH, PART_DAY, PART_HOUR, PART_MINUTE, PART_SECOND };

static const struct {
    const char *text;
    enum part part;
} parts[] = {{"yyyy", PART_YEAR}, {"mm", PART_MONTH},  {"dd", PART_DAY},
             {"hh24", PART_HOUR}, {"mi", PART_MINUTE}, {"ss", PART_SECOND}};

static bool starts(struct str s, const char *with)
{
    size_t n = strlen(with);
    return s.n >= n && memcmp(s.p, with, n) == 0;
}

static struct str skip(struct str s, size_t n)
{
    return str_of(s.p + n, s.n - n);
}

static int find_part(struct str s)
{
    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        if (starts(s, parts[i].text))
            return (int)i;
    return -1;
}

/* How much of `s` is an arrangement of parts; *finest is the last kind in it. A '-'
 * before a digit begins an offset.
 */
static size_t pattern_length(struct str s, enum part *finest)
{
    size_t end = 0;
    *finest = PART_YEAR;
    for (size_t i = 0; i < s.n;) {
        int k = find_part(skip(s, i));
        if (k >= 0) {
            if (parts[k].part > *finest)
                *finest = parts[k].part;
            i += strlen(parts[k].text);
            end = i;
        } else if (i && strchr("-/:._T ", s.p[i]) && s.p[i]) {
            i++;
        } else {
            break;
        }
    }
    return end;
}

static void put_pattern(const struct team_civil *at, struct str s, struct buf *out)
{
    const int64_t values[] = {at->year, at->month,  at->day,
                              at->hour, at->minute, at->second};
    for (size_t i = 0; i < s.n;) {
        int k = find_part(skip(s, i));
        if (k < 0) {
            buf_putc(out, s.p[i++]);
            continue;
        }
        buf_printf(out, "%0*jd", k == 0 ? 4 : 2, (intmax_t)values[parts[k].part]);
        i += strlen(parts[k].text);
    }
}

static bool take_int(struct str *s, int64_t *out)
{
    size_t n = 0;
    bool sign = s->n && (s->p[0] == '-' || s->p[0] == '+');
    for (n = sign; n < s->n && isdigit((unsigned char)s->p[n]); n++)
        ;
    if (n == sign || n > 10 || !str_to_i64(str_of(s->p, n), out))
        return false;
    *s = skip(*s, n);
    return true;
}

/* A product of whole numbers, then divisions: 7*2, 1/24, 30/24/60, 12*-1. As a fraction.
 */
static bool take_offset(struct str s, int64_t *over, int64_t *under)
{
    int64_t v;
    *under = 1;
    if (!take_int(&s, over))
        return false;
    while (s.n) {
        char op = s.p[0];
        s = skip(s, 1);
        if ((op != '*' && op != '/') || !take_int(&s, &v))
            return false;
        if (op == '*' && *under == 1 && v > -OFFSET_MAX && v < OFFSET_MAX)
            *over *= v;
        else if (op == '/' && v > 0 && v <= DAY)
            *under *= v;
        else
            return false;
        if (*over > OFFSET_MAX || *over < -OFFSET_MAX || *under > DAY)
            return false;
    }
    return true;
}

static bool in_range(const struct team_civil *c)
{
    return c->year >= 1 && c->year <= 9999;
}

static bool move_days(struct team_civil *at, int64_t over, int64_t under)
{
    if (DAY * over % under != 0)
        return false;
    *at = team_civil_of(team_civil_seconds(at) + DAY * over / under);
    return in_range(at);
}

/* `s`: PATTERN, PATTERN+OFFSET. `coarse`: an offset counts what the pattern ends in. */
static bool put_moved(struct team_civil at, struct str s, bool coarse, struct buf *out)
{
    enum part finest;
    size_t n = pattern_length(s, &finest);
    struct str pattern = str_of(s.p, n), rest = skip(s, n);
    int64_t over = 0, under = 1;
    if (!n)
        return false;
    if (rest.n) {
        if ((rest.p[0] != '-' && rest.p[0] != '+') || !take_offset(rest, &over, &under))
            return false;
        if (coarse && finest <= PART_MONTH) {
            if (under != 1)
                return false;
            team_civil_add_months(&at, finest == PART_YEAR ? over * 12 : over);
            if (!in_range(&at))
                return false;
        } else if (!move_days(&at, over, under)) {
            return false;
        }
    }
    put_pattern(&at, pattern, out);
    return true;
}

/* add_months(PATTERN,N) */
static bool put_months(struct team_civil at, struct str s, struct buf *out)
{
    static const char name[] = "add_months(";
    struct str pattern;
    int64_t over, under;
    enum part finest;
    if (!starts(s, name) || s.p[s.n - 1] != ')')
        return false;
    s = str_of(s.p + sizeof(name) - 1, s.n - sizeof(name));
    if (!str_split(&s, ',', &pattern) || !s.p)
        return false;
    pattern = str_trim(pattern);
    if (!take_offset(str_trim(s), &over, &under) || under != 1 || !pattern.n ||
        pattern_length(pattern, &finest) != pattern.n)
        return false;
    team_civil_add_months(&at, over);
    if (!in_range(&at))
        return false;
    put_pattern(&at, pattern, out);
    return true;
}

static bool put_builtin(const struct team_dates *d, struct str name, struct buf *out)
{
    struct team_civil day = d->at;
    move_days(&day, -1, 1);
    if (str_is(name, "bizdate")) {
        put_pattern(&day, str_c("yyyymmdd"), out);
    } else if (str_is(name, "cyctime")) {
        put_pattern(&d->at, str_c("yyyymmddhh24miss"), out);
    } else if (str_is(name, "gmtdate")) {
        put_pattern(&d->at, str_c("yyyymmdd"), out);
    } else if (str_is(name, "bizmonth")) {
        if (day.month == d->at.month)
            team_civil_add_months(&day, -1);
        put_pattern(&day, str_c("yyyymm"), out);
    } else {
        return false;
    }
    return true;
}

static bool put_param(const struct team_dates *d, struct str name, struct buf *out)
{
    for (size_t i = 0; i < d->n; i++)
        if (str_is(name, d->params[i].name)) {
            struct team_dates own = {.at = d->at};
            team_dates_value(&own, d->params[i].value, out);
            return true;
        }
    return false;
}

/* ${inside}; single small parts such as ${mm} are more likely the shell's. */
static bool put_braced(const struct team_dates *d, struct str inside, struct buf *out)
{
    struct team_civil day = d->at;
    move_days(&day, -1, 1);
    if (put_param(d, inside, out) || put_builtin(d, inside, out))
        return true;
    return (starts(inside, "yyyy") || starts(inside, "hh24")) &&
           put_moved(day, inside, true, out);
}

static bool put_bracketed(const struct team_dates *d, struct str inside, struct buf *out)
{
    return put_months(d->at, inside, out) || put_moved(d->at, inside, false, out);
}

void team_dates_expand(const struct team_dates *d, struct str text, struct buf *out)
{
    for (size_t i = 0; i < text.n;) {
        struct str rest = skip(text, i);
        char open = rest.n > 2 && rest.p[0] == '$' ? rest.p[1] : 0;
        const char *end = open == '{'   ? memchr(rest.p, '}', rest.n)
                          : open == '[' ? memchr(rest.p, ']', rest.n)
                                        : NULL;
        struct str inside = end ? str_of(rest.p + 2, (size_t)(end - rest.p) - 2) : rest;
        if (end &&
            (open == '{' ? put_braced(d, inside, out) : put_bracketed(d, inside, out))) {
            i += inside.n + 3;
            continue;
        }
        buf_putc(out, text.p[i++]);
    }
}

void team_dates_value(const struct team_dates *d, const char *text, struct buf *out)
{
    if (text[0] == '$' && put_builtin(d, str_c(text + 1), out))
        return;
    team_dates_expand(d, str_c(text), out);
}

bool team_dates_name_ok(struct str name)
{
    for (size_t i = 0; i < name.n; i++)
        if (!isalnum((unsigned char)name.p[i]) && name.p[i] != '_')
            return false;
    return name.n && name.n <= 64 && !isdigit((unsigned char)name.p[0]);
}
