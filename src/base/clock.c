/* SPDX-License-Identifier: Apache-2.0 */
/* Dates are computed here instead of by timegm(): it takes 61 seconds and 31st Aprils
 * without complaint, and consults the time zone database.
 */
#include "base/clock.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define YEAR_MIN 1678
#define YEAR_MAX 2261

static int64_t now(clockid_t which)
{
    struct timespec t;
    clock_gettime(which, &t);
    return (int64_t)t.tv_sec * CLOCK_SECOND + t.tv_nsec;
}

int64_t clock_mono_ns(void)
{
    return now(CLOCK_MONOTONIC);
}

int64_t clock_wall_ns(void)
{
    return now(CLOCK_REALTIME);
}

void clock_rfc3339(int64_t wall_ns, char out[CLOCK_TEXT_SIZE])
{
    int64_t seconds = wall_ns / CLOCK_SECOND, rest = wall_ns % CLOCK_SECOND;
    if (rest < 0) {
        rest += CLOCK_SECOND;
        seconds--;
    }
    time_t t = (time_t)seconds;
    struct tm tm;
    gmtime_r(&t, &tm);
    size_t n = strftime(out, CLOCK_TEXT_SIZE, "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(out + n, CLOCK_TEXT_SIZE - n, ".%03dZ", (int)(rest / 1000000));
}

/* Exactly `n` digits off the front. */
static bool digits(struct str *s, size_t n, int64_t *out)
{
    int64_t v = 0;
    if (s->n < n)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (s->p[i] < '0' || s->p[i] > '9')
            return false;
        v = v * 10 + (s->p[i] - '0');
    }
    *s = str_of(s->p + n, s->n - n);
    *out = v;
    return true;
}

static bool one_of(struct str *s, const char *chars)
{
    if (s->n == 0 || s->p[0] == '\0' || !strchr(chars, s->p[0]))
        return false;
    *s = str_of(s->p + 1, s->n - 1);
    return true;
}

/* ".123456789"; digits past the ninth are dropped. */
static bool fraction(struct str *s, int64_t *ns)
{
    *ns = 0;
    if (!one_of(s, "."))
        return true;
    int64_t scale = CLOCK_SECOND / 10, d;
    if (s->n == 0 || s->p[0] < '0' || s->p[0] > '9')
        return false;
    while (digits(s, 1, &d)) {
        *ns += d * scale;
        scale /= 10;
    }
    return true;
}

static bool offset(struct str *s, int64_t *seconds)
{
    int64_t h, m;
    *seconds = 0;
    if (one_of(s, "zZ"))
        return true;
    int64_t sign = s->n && s->p[0] == '-' ? -1 : 1;
    if (!one_of(s, "+-") || !digits(s, 2, &h) || !one_of(s, ":") || !digits(s, 2, &m) ||
        h > 23 || m > 59)
        return false;
    *seconds = sign * (h * 3600 + m * 60);
    return true;
}

static bool leap(int64_t y)
{
    return (y % 4 == 0 && y % 100 != 0) || y % 400 == 0;
}

static bool valid_date(int64_t y, int64_t m, int64_t d)
{
    static const int8_t days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    if (y < YEAR_MIN || y > YEAR_MAX || m < 1 || m > 12 || d < 1)
        return false;
    return d <= days[m - 1] + (m == 2 && leap(y));
}

/* Days since 1970-01-01, counting years from March so that the leap day comes last. */
static int64_t day_number(int64_t y, int64_t m, int64_t d)
{
    if (m < 3) {
        y--;
        m += 12;
    }
    return 365 * y + y / 4 - y / 100 + y / 400 + (153 * (m - 3) + 2) / 5 + d - 719469;
}

bool clock_from_rfc3339(struct str text, int64_t *wall_ns)
{
    int64_t y, mon, d, h, m, s, ns, away;
    struct str rest = text;
    if (!digits(&rest, 4, &y) || !one_of(&rest, "-") || !digits(&rest, 2, &mon) ||
        !one_of(&rest, "-") || !digits(&rest, 2, &d) || !one_of(&rest, "Tt ") ||
        !digits(&rest, 2, &h) || !one_of(&rest, ":") || !digits(&rest, 2, &m) ||
        !one_of(&rest, ":") || !digits(&rest, 2, &s) || !fraction(&rest, &ns) ||
        !offset(&rest, &away) || rest.n != 0)
        return false;
    if (!valid_date(y, mon, d) || h > 23 || m > 59 || s > 60)
        return false;
    int64_t seconds = day_number(y, mon, d) * 86400 + h * 3600 + m * 60 + s - away;
    *wall_ns = seconds * CLOCK_SECOND + ns;
    return true;
}

void clock_duration(int64_t ns, char out[CLOCK_TEXT_SIZE])
{
    const char *sign = ns < 0 ? "-" : "";
    uint64_t t = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    uint64_t s = t / (uint64_t)CLOCK_SECOND;
    size_t size = CLOCK_TEXT_SIZE;
    if (t < 1000000)
        snprintf(out, size, "%s%juus", sign, (uintmax_t)(t / 1000));
    else if (s < 1)
        snprintf(out, size, "%s%jums", sign, (uintmax_t)(t / 1000000));
    else if (s < 60)
        snprintf(out, size, "%s%ju.%jus", sign, (uintmax_t)s,
                 (uintmax_t)(t % (uint64_t)CLOCK_SECOND / 100000000));
    else if (s < 3600)
        snprintf(out, size, "%s%jum%02jus", sign, (uintmax_t)(s / 60),
                 (uintmax_t)(s % 60));
    else if (s < 86400)
        snprintf(out, size, "%s%juh%02jum", sign, (uintmax_t)(s / 3600),
                 (uintmax_t)(s / 60 % 60));
    else
        snprintf(out, size, "%s%jud%02juh", sign, (uintmax_t)(s / 86400),
                 (uintmax_t)(s / 3600 % 24));
}
