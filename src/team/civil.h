/* SPDX-License-Identifier: Apache-2.0 */
/* team/civil.h - days of the calendar as numbers, and back (Gregorian, proleptic). */
#ifndef TEAM_CIVIL_H
#define TEAM_CIVIL_H

#include <stdint.h>

struct team_civil {
    int64_t year;
    int month, day;           /* 1.. */
    int hour, minute, second; /* of a day of 24 hours */
    int weekday;              /* 0: Sunday; set by team_civil_of() */
};

/* Days since 1970-01-01. `month` 1..12; `day` may lie outside of the month. */
int64_t team_civil_days(int64_t year, int month, int day);
/* Seconds since 1970-01-01T00:00:00 of a clock that shows `c`. */
int64_t team_civil_seconds(const struct team_civil *c);
struct team_civil team_civil_of(int64_t seconds);
int team_civil_month_days(int64_t year, int month);
/* The same day `n` months later, or the last day of that month if it has fewer. */
void team_civil_add_months(struct team_civil *c, int64_t n);

/* Division that rounds down. */
static inline int64_t team_civil_floor(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

#endif
