/* SPDX-License-Identifier: Apache-2.0 */
/* The C library reads the same files by its own code: it is the judge. */
#include <stdlib.h>
#include <time.h>

#include "tap.h"
#include "team/zone.h"
#include "team/zone_rule.h"

static void offsets_agree_with_the_c_library(void)
{
    static const char *const names[] = {
        "UTC",           "Asia/Shanghai",       "Europe/Berlin",     "America/New_York",
        "Europe/Dublin", "Australia/Lord_Howe", "America/Sao_Paulo", "Asia/Kolkata",
        "Pacific/Apia",  "Africa/Casablanca",   "America/St_Johns",  "Asia/Tehran"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct team_zone *z = NULL;
        struct err err = {0};
        int bad = 0;
        CHECK_INT(team_zone_open(names[i], &z, &err), RC_OK);
        CHECK_STR(err.msg, "");
        if (!z)
            continue;
        setenv("TZ", names[i], 1);
        tzset();
        /* From 1972 to 2090, behind the end of all tables. */
        for (int64_t t = 63072000; t < 3800000000; t += 7 * 3600 + 1800) {
            time_t at = (time_t)t;
            struct tm tm;
            localtime_r(&at, &tm);
            struct team_zone_span s = team_zone_at(z, t);
            if (s.offset != tm.tm_gmtoff || s.from > t || s.to <= t)
                bad++;
        }
        if (bad)
            printf("# %s: %d moments differ\n", names[i], bad);
        CHECK_INT(bad, 0);
        team_zone_close(z);
    }
    unsetenv("TZ");
    tzset();
}

static void spans_meet_at_the_change(void)
{
    struct team_zone *z = NULL;
    CHECK_INT(team_zone_open("Europe/Berlin", &z, NULL), RC_OK);
    struct team_zone_span s =
        team_zone_at(z, 1774745999); /* a second before 2026-03-29T01:00Z */
    CHECK_INT(s.offset, 3600);
    CHECK_INT(s.to, 1774746000);
    s = team_zone_at(z, s.to);
    CHECK_INT(s.from, 1774746000);
    CHECK_INT(s.offset, 7200);
    CHECK_INT(s.to, 1792890000); /* 2026-10-25T01:00Z */
    team_zone_close(z);
}

static void fixed_offsets_need_no_file(void)
{
    static const struct {
        const char *name;
        int64_t offset;
    } good[] = {{"+08:00", 28800}, {"-0330", -12600}, {"+8", 28800}, {"UTC", 0}};
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        struct team_zone *z = NULL;
        CHECK_INT(team_zone_open(good[i].name, &z, NULL), RC_OK);
        struct team_zone_span s = team_zone_at(z, 1700000000);
        CHECK_INT(s.offset, good[i].offset);
        CHECK(s.from == INT64_MIN && s.to == INT64_MAX);
        team_zone_close(z);
    }
    struct team_zone *z = NULL;
    CHECK_INT(team_zone_open("local", &z, NULL), RC_OK);
    team_zone_close(z);
}

static void names_that_are_none_are_refused(void)
{
    static const struct {
        const char *name;
        enum rc rc;
        const char *msg;
    } bad[] = {
        {"Asia/Nowhere", RC_INVAL, "no time zone 'Asia/Nowhere' on this machine"},
        {"../../etc/passwd", RC_INVAL,
         "'../../etc/passwd' is not a time zone such as Asia/Shanghai or +08:00"},
        {"/etc/localtime", RC_INVAL,
         "'/etc/localtime' is not a time zone such as Asia/Shanghai or +08:00"},
        {"", RC_INVAL, "'' is not a time zone such as Asia/Shanghai or +08:00"},
        {"+25:00", RC_INVAL,
         "'+25:00' is not a time zone such as Asia/Shanghai or +08:00"},
        {"+08:77", RC_INVAL,
         "'+08:77' is not a time zone such as Asia/Shanghai or +08:00"},
        {"tzdata_zi", RC_INVAL, "no time zone 'tzdata_zi' on this machine"},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct team_zone *z = NULL;
        struct err err = {0};
        CHECK_INT(team_zone_open(bad[i].name, &z, &err), bad[i].rc);
        CHECK_STR(err.msg, bad[i].msg);
        CHECK_INT(err.code, E5102);
        CHECK(!z);
    }
}

static void rules_are_read_or_refused(void)
{
    struct team_zone_rule r;
    CHECK(team_zone_rule_parse(str_c("CET-1CEST,M3.5.0,M10.5.0/3"), &r));
    CHECK_INT(r.std, 3600);
    CHECK_INT(r.dst, 7200);
    CHECK_INT(r.end.time, 10800);
    CHECK(team_zone_rule_parse(str_c("<-03>3<-02>,M3.5.0/-2,M10.5.0/-1"), &r));
    CHECK_INT(r.start.time, -7200);
    CHECK(team_zone_rule_parse(str_c("<+0530>-5:30"), &r));
    CHECK(!r.changes);
    CHECK_INT(r.std, 19800);
    CHECK(team_zone_rule_parse(str_c("A0B,J60/0,300"), &r));
    static const char *const bad[] = {"",
                                      "C",
                                      "CET",
                                      "CET-1CEST",
                                      "<A",
                                      "A0B,M13.1.0,M1.1.0",
                                      "A0B,M1.6.0,M1.1.0",
                                      "A0B,J0,J1",
                                      "A0B,M1.1.0",
                                      "A0B,400,1",
                                      "A999",
                                      "A0B,J1,J2x"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        CHECK(!team_zone_rule_parse(str_c(bad[i]), &r));
}

static const struct tap_case cases[] = {
    TAP(offsets_agree_with_the_c_library), TAP(spans_meet_at_the_change),
    TAP(fixed_offsets_need_no_file),       TAP(names_that_are_none_are_refused),
    TAP(rules_are_read_or_refused),
};
TAP_MAIN(cases)
