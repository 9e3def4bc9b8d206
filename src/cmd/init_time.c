/* SPDX-License-Identifier: Apache-2.0 */
/* Dates in the forms that log files have, as seconds since 1970 UTC. */
#include <math.h>
#include <string.h>

#include "cmd/init_private.h"

#define DAY 86400.0

const char *init_clock_title(enum init_clock clock)
{
    static const char *const titles[] = {
        [INIT_CLOCK_NONE] = "no time",
        [INIT_CLOCK_SECONDS] = "seconds since 1970",
        [INIT_CLOCK_MILLIS] = "milliseconds since 1970",
        [INIT_CLOCK_MICROS] = "microseconds since 1970",
        [INIT_CLOCK_NANOS] = "nanoseconds since 1970",
        [INIT_CLOCK_DAYS] = "days since 1970",
        [INIT_CLOCK_DAY] = "dates as 20141021",
        [INIT_CLOCK_HOUR] = "hours as 2014102100",
        [INIT_CLOCK_SHORT_HOUR] = "hours as 14102100",
        [INIT_CLOCK_TEXT] = "dates as text",
    };
    return titles[clock];
}

static bool is_date(int64_t y, int64_t m, int64_t d)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (y % 4 == 0 && y % 100 != 0) || y % 400 == 0;
    return y >= 1970 && y < 2100 && m >= 1 && m <= 12 && d >= 1 &&
           d <= days[m - 1] + (m == 2 && leap);
}

/* Days from 1970-01-01, the year counted from March on, so that a leap day comes last. */
static double days_of(int64_t y, int64_t m, int64_t d)
{
    y -= m <= 2;
    int64_t era = y / 400, yoe = y - era * 400;
    int64_t doy = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
    int64_t doe = yoe * 365 + yoe / 4 - yoe / 100 + doy;
    return (double)(era * 146097 + doe - 719468);
}

static bool from_digits(int64_t day, int64_t hour, double *seconds)
{
    int64_t y = day / 10000, m = day / 100 % 100, d = day % 100;
    if (!is_date(y, m, d) || hour > 23)
        return false;
    *seconds = days_of(y, m, d) * DAY + (double)hour * 3600;
    return true;
}

/* Between 1990 and 2100: what lies outside is a number of something else. */
static bool plausible(double seconds, double *out)
{
    *out = seconds;
    return seconds >= 631152000.0 && seconds < 4102444800.0;
}

bool init_clock_number(double v, enum init_clock clock, double *seconds)
{
    bool digits = v >= 0 && v < 1e11 && v == floor(v);
    int64_t i = digits ? (int64_t)v : 0;
    switch (clock) {
    case INIT_CLOCK_SECONDS:
        return plausible(v, seconds);
    case INIT_CLOCK_MILLIS:
        return plausible(v / 1e3, seconds);
    case INIT_CLOCK_MICROS:
        return plausible(v / 1e6, seconds);
    case INIT_CLOCK_NANOS:
        return plausible(v / 1e9, seconds);
    case INIT_CLOCK_DAYS:
        return plausible(v * DAY, seconds);
    case INIT_CLOCK_DAY:
        return digits && from_digits(i, 0, seconds);
    case INIT_CLOCK_HOUR:
        return digits && from_digits(i / 100, i % 100, seconds);
    case INIT_CLOCK_SHORT_HOUR:
        return digits && i >= 1000000 &&
               from_digits(20000000 + i / 100, i % 100, seconds);
    default:
        return false;
    }
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

/* YYYY-MM-DD[ HH:MM[:SS[.fraction]]], with '/' or '-', ' ' or 'T'; a zone is ignored, so
 * that hours are those of the clock that wrote them.
 */
bool init_clock_text(struct str s, double *seconds)
{
    int64_t y, m, d, hour = 0, minute = 0, second = 0;
    if (!take(&s, 4, "-/", &y) || !take(&s, 2, "-/", &m) || !take(&s, 2, " T", &d) ||
        !is_date(y, m, d))
        return false;
    if (s.n && (!take(&s, 2, ":", &hour) || !take(&s, 2, ":Z+-", &minute)))
        return false;
    if (s.n && s.n != 5 && !take(&s, 2, ".Z+-", &second))
        return false;
    if (hour > 23 || minute > 59 || second > 60)
        return false;
    *seconds = days_of(y, m, d) * DAY + (double)(hour * 3600 + minute * 60 + second);
    return true;
}
