/* SPDX-License-Identifier: Apache-2.0 */
/* Years are counted from March, so that the leap day is the last of its year; 400 years
 * have 146097 days.
 */
#include "team/civil.h"

#include <stdbool.h>

#define ERA_DAYS 146097
#define EPOCH_DAYS 719468 /* from 0000-03-01 to 1970-01-01 */

int64_t team_civil_days(int64_t year, int month, int day)
{
    int64_t y = month <= 2 ? year - 1 : year;
    int64_t era = team_civil_floor(y, 400), of_era = y - era * 400;
    int64_t of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
    return era * ERA_DAYS + of_era * 365 + of_era / 4 - of_era / 100 + of_year -
           EPOCH_DAYS;
}

int64_t team_civil_seconds(const struct team_civil *c)
{
    return team_civil_days(c->year, c->month, c->day) * 86400 + c->hour * 3600 +
           c->minute * 60 + c->second;
}

struct team_civil team_civil_of(int64_t seconds)
{
    int64_t days = team_civil_floor(seconds, 86400), rest = seconds - days * 86400;
    int64_t z = days + EPOCH_DAYS, era = team_civil_floor(z, ERA_DAYS);
    int64_t doe = z - era * ERA_DAYS;
    int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    int64_t mp = (5 * doy + 2) / 153;
    int month = (int)(mp < 10 ? mp + 3 : mp - 9);
    return (struct team_civil){
        .year = yoe + era * 400 + (month <= 2),
        .month = month,
        .day = (int)(doy - (153 * mp + 2) / 5 + 1),
        .hour = (int)(rest / 3600),
        .minute = (int)(rest / 60 % 60),
        .second = (int)(rest % 60),
        .weekday = (int)((days % 7 + 11) % 7), /* 1970-01-01 was a Thursday */
    };
}

int team_civil_month_days(int64_t year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return month == 2 && leap ? 29 : days[month - 1];
}

void team_civil_add_months(struct team_civil *c, int64_t n)
{
    int64_t months = c->year * 12 + (c->month - 1) + n;
    c->year = team_civil_floor(months, 12);
    c->month = (int)(months - c->year * 12) + 1;
    int last = team_civil_month_days(c->year, c->month);
    if (c->day > last)
        c->day = last;
}
