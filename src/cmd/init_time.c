/* SPDX-License-Identifier: Apache-2.0 */
/* Dates in the forms that log files have, as seconds since 1970 UTC. */
#include <math.h>

#include "cmd/init_private.h"
#include "feature/tidy.h"

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

static bool from_digits(int64_t day, int64_t hour, double *seconds)
{
    if (hour > 23 || !tidy_day(day / 10000, day / 100 % 100, day % 100, seconds))
        return false;
    *seconds += (double)hour * 3600;
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
