/* SPDX-License-Identifier: Apache-2.0 */
#include "tap.h"
#include "team/dates.h"

static void expand(const struct team_dates *d, const char *text, const char *want)
{
    struct buf b;
    buf_init(&b, 10000);
    team_dates_expand(d, str_c(text), &b);
    CHECK_STR(buf_str(&b), want);
    buf_release(&b);
}

/* Planned for 2024-03-01 02:30:00: the day before is a leap day. */
static const struct team_dates leap = {
    .at = {.year = 2024, .month = 3, .day = 1, .hour = 2, .minute = 30}};

static void dates_of_the_day_before(void)
{
    expand(&leap, "dt=${bizdate}", "dt=20240229");
    expand(&leap, "${yyyymmdd}", "20240229");
    expand(&leap, "${yyyy-mm-dd}", "2024-02-29");
    expand(&leap, "${yyyy/mm/dd}", "2024/02/29");
    expand(&leap, "${yyyymmdd-1} ${yyyymmdd+1} ${yyyymmdd-7*2}",
           "20240228 20240301 20240215");
    expand(&leap, "${yyyy-mm-dd-1}", "2024-02-28");
    expand(&leap, "${yyyymm} ${yyyymm-1} ${yyyymm-2} ${yyyymm+11}",
           "202402 202401 202312 202501");
    expand(&leap, "${yyyy} ${yyyy-1}", "2024 2023");
    expand(&leap, "${hh24} ${hh24miss}", "02 023000");
    expand(&leap, "${gmtdate} ${bizmonth} ${cyctime}", "20240301 202402 20240301023000");
}

static void dates_of_the_planned_moment(void)
{
    expand(&leap, "$[yyyymmddhh24miss]", "20240301023000");
    expand(&leap, "$[yyyy-mm-dd hh24:mi:ss]", "2024-03-01 02:30:00");
    expand(&leap, "$[yyyymmdd-1] $[mm] $[dd] $[mi]", "20240229 03 01 30");
    expand(&leap, "$[hh24-1/24] $[hh24-3/24]", "01 23");
    expand(&leap, "$[yyyymmdd-3/24]", "20240229");
    expand(&leap, "$[hh24mi-45/24/60]", "0145");
    expand(&leap, "$[add_months(yyyymmdd,-1)] $[add_months(yyyymm,12*-1)]",
           "20240201 202303");
    struct team_dates end = {.at = {.year = 2024, .month = 3, .day = 31}};
    expand(&end, "$[add_months(yyyymmdd, -1)]", "20240229");
    expand(&end, "${bizmonth}", "202402");
}

static void what_is_the_shells_stays(void)
{
    static const char *const same[] = {"${HOME}/x",
                                       "$PATH",
                                       "$bizdate",
                                       "${mm}",
                                       "${dd}",
                                       "${yyyyx}",
                                       "${yyyymmdd-}",
                                       "${yyyymmdd-x}",
                                       "${yyyymmdd--1}",
                                       "$[1+2]",
                                       "$[yyyymmdd",
                                       "${bizdate",
                                       "$",
                                       "$$ ${",
                                       "${}",
                                       "$[]",
                                       "${yyyymmdd:-x}",
                                       "$[add_months()]",
                                       "$[add_months(yyyymmdd,1/2)]",
                                       "$[add_months(yyyymmdd)]",
                                       "${yyyymm-1/2}",
                                       "$[yyyymmdd-1/7/11]",
                                       "$[yyyymmdd-99999999999]",
                                       "${yyyy-99999}",
                                       "$[hh24-1/0]",
                                       "$[hh24-1*9999999*99]",
                                       "${bizdate_x}",
                                       "$(yyyymmdd)"};
    for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++)
        expand(&leap, same[i], same[i]);
    expand(&leap, "for f in $A/${bizdate}/*; do echo \"${f%.csv}\"; done",
           "for f in $A/20240229/*; do echo \"${f%.csv}\"; done");
}

static void parameters_have_names(void)
{
    const struct team_dates_param params[] = {{"day", "${yyyymmdd-1}"},
                                              {"biz", "$bizdate"},
                                              {"bizdate", "19990101"},
                                              {"self", "${self}"},
                                              {"other", "${day}"}};
    struct team_dates d = leap;
    d.params = params;
    d.n = 5;
    expand(&d, "${day}|${biz}|${bizdate}|${self}|${other}",
           "20240228|20240229|19990101|${self}|${day}");
    CHECK(team_dates_name_ok(str_c("day_1")));
    CHECK(!team_dates_name_ok(str_c("1day")));
    CHECK(!team_dates_name_ok(str_c("")));
    CHECK(!team_dates_name_ok(str_c("a b")));
}

static const struct tap_case cases[] = {
    TAP(dates_of_the_day_before),
    TAP(dates_of_the_planned_moment),
    TAP(what_is_the_shells_stays),
    TAP(parameters_have_names),
};
TAP_MAIN(cases)
