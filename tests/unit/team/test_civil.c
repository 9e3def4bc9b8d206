/* SPDX-License-Identifier: Apache-2.0 */
#include <time.h>

#include "tap.h"
#include "team/civil.h"

static void days_agree_with_the_c_library(void)
{
    int bad = 0;
    for (int64_t t = -4000000000; t < 9000000000 && bad < 5; t += 40009) {
        struct team_civil c = team_civil_of(t);
        struct tm tm;
        time_t at = (time_t)t;
        gmtime_r(&at, &tm);
        bool same = c.year == tm.tm_year + 1900 && c.month == tm.tm_mon + 1 &&
                    c.day == tm.tm_mday && c.hour == tm.tm_hour &&
                    c.minute == tm.tm_min && c.second == tm.tm_sec &&
                    c.weekday == tm.tm_wday;
        if (!same || team_civil_seconds(&c) != t)
            bad++;
    }
    CHECK_INT(bad, 0);
}

static void months_end_where_they_end(void)
{
    struct team_civil c = {.year = 2024, .month = 3, .day = 31};
    team_civil_add_months(&c, -1);
    CHECK(c.year == 2024 && c.month == 2 && c.day == 29);
    team_civil_add_months(&c, -14);
    CHECK(c.year == 2022 && c.month == 12 && c.day == 29);
    team_civil_add_months(&c, 1);
    CHECK(c.year == 2023 && c.month == 1 && c.day == 29);
    CHECK_INT(team_civil_month_days(1900, 2), 28);
    CHECK_INT(team_civil_month_days(2000, 2), 29);
}

static const struct tap_case cases[] = {
    TAP(days_agree_with_the_c_library),
    TAP(months_end_where_they_end),
};
TAP_MAIN(cases)
