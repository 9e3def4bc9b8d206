/* SPDX-License-Identifier: Apache-2.0 */
#include "feature/tidy.h"

#include <string.h>

#define DAY 86400.0

struct str tidy_text(struct str s)
{
    s = str_trim(s);
    if (s.n >= 2 && s.p[0] == '"' && s.p[s.n - 1] == '"')
        s = str_of(s.p + 1, s.n - 2);
    return s;
}

static bool is_date(int64_t y, int64_t m, int64_t d)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (y % 4 == 0 && y % 100 != 0) || y % 400 == 0;
    return y >= 1970 && y < 2100 && m >= 1 && m <= 12 && d >= 1 &&
           d <= days[m - 1] + (m == 2 && leap);
}

/* The year is counted from March on, so that a leap day comes last. */
bool tidy_day(int64_t y, int64_t m, int64_t d, double *seconds)
{
    if (!is_date(y, m, d))
        return false;
    y -= m <= 2;
    int64_t era = y / 400, yoe = y - era * 400;
    int64_t doy = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
    int64_t doe = yoe * 365 + yoe / 4 - yoe / 100 + doy;
    *seconds = (double)(era * 146097 + doe - 719468) * DAY;
    return true;
}

/* `n` digits at the front of *s, and one of `ends` behind them unless the text ends. */
static bool take(struct str *s, size_t n, const char *ends, int64_t *out)
{
    int64_t v = 0;
    if (s->n < n)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (s->p[i] < '0' || s->p[i] > '9')
            return false;
        v = v * 10 + (s->p[i] - '0');
    }
    if (s->n > n && !strchr(ends, s->p[n]))
        return false;
    size_t used = s->n > n ? n + 1 : n;
    *s = str_of(s->p + used, s->n - used);
    *out = v;
    return true;
}

bool tidy_seconds(struct str s, double *seconds)
{
    int64_t y, m, d, hour = 0, minute = 0, second = 0;
    if (!take(&s, 4, "-/", &y) || !take(&s, 2, "-/", &m) || !take(&s, 2, " T", &d) ||
        !tidy_day(y, m, d, seconds))
        return false;
    if (s.n && (!take(&s, 2, ":", &hour) || !take(&s, 2, ":Z+-", &minute)))
        return false;
    if (s.n && s.n != 5 && !take(&s, 2, ".Z+-", &second))
        return false;
    if (hour > 23 || minute > 59 || second > 60)
        return false;
    *seconds += (double)(hour * 3600 + minute * 60 + second);
    return true;
}

bool tidy_is_needed(const struct column *c)
{
    const struct column *values = c->dict ? &c->dict->values : c;
    for (int64_t i = 0; i < values->n; i++) {
        struct str s = column_str(values, i);
        if (tidy_text(s).n != s.n)
            return true;
    }
    return false;
}

enum rc tidy_column(const struct column *from, struct column *to, struct err *err)
{
    static const struct type text = {.id = TYPE_STR, .nullable = true};
    enum rc rc = RC_OK;
    if (!to->type)
        column_init(to, &text);
    column_clear(to);
    for (int64_t i = 0; !rc && i < from->n; i++)
        rc = column_is_null(from, i)
                 ? column_add_null(to, err)
                 : column_add_str(to, tidy_text(column_str(from, i)), err);
    return rc;
}
