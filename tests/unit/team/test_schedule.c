/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"
#include "base/mem.h"
#include "tap.h"
#include "team/schedule.h"

static int64_t moment(const char *text)
{
    int64_t ns = 0;
    CHECK(clock_from_rfc3339(str_c(text), &ns));
    return ns;
}

/* "fire fire | missed | next", times as day and minute of March 2026. */
static void due(const char *line, const char *catch_up, const char *next, const char *now,
                const char *want)
{
    struct team_cron c;
    struct team_zone *z = NULL;
    struct team_schedule_policy p;
    struct team_schedule_due d;
    struct buf b;
    char text[CLOCK_TEXT_SIZE];
    buf_init(&b, 10000);
    CHECK_INT(team_cron_parse(line, &c, NULL), RC_OK);
    CHECK_INT(team_zone_open("UTC", &z, NULL), RC_OK);
    CHECK_INT(team_schedule_policy_read(catch_up, "skip", &p, NULL), RC_OK);
    team_schedule_due_at(&c, z, &p, *next ? moment(next) : 0, moment(now), &d);
    for (size_t i = 0; i < d.fire.n; i++) {
        clock_rfc3339(d.fire.at[i], text);
        buf_printf(&b, "%.11s ", text + 5);
    }
    buf_putc(&b, '|');
    if (d.missed) {
        clock_rfc3339(d.missed, text);
        buf_printf(&b, " %.11s", text + 5);
    }
    buf_puts(&b, " |");
    if (d.next) {
        clock_rfc3339(d.next, text);
        buf_printf(&b, " %.11s", text + 5);
    }
    CHECK_STR(buf_str(&b), want);
    team_schedule_due_release(&d);
    buf_release(&b);
    team_zone_close(z);
}

static void what_is_on_time_is_run(void)
{
    const char *const policies[] = {"none", "last", "all"};
    for (size_t i = 0; i < 3; i++) {
        due("30 2 * * *", policies[i], "2026-03-05T02:30:00Z", "2026-03-05T02:30:01Z",
            "03-05T02:30 | | 03-06T02:30");
        due("30 2 * * *", policies[i], "2026-03-05T02:30:00Z", "2026-03-05T02:29:59Z",
            "| | 03-05T02:30");
        due("30 2 * * *", policies[i], "", "2026-03-05T02:29:59Z", "| |");
    }
}

static void what_was_missed_is_made_up_for_as_agreed(void)
{
    due("0 2 * * *", "none", "2026-03-05T02:00:00Z", "2026-03-08T12:00:00Z",
        "| 03-08T02:00 | 03-09T02:00");
    due("0 2 * * *", "last", "2026-03-05T02:00:00Z", "2026-03-08T12:00:00Z",
        "03-08T02:00 | 03-07T02:00 | 03-09T02:00");
    due("0 2 * * *", "all", "2026-03-05T02:00:00Z", "2026-03-08T12:00:00Z",
        "03-05T02:00 03-06T02:00 03-07T02:00 03-08T02:00 | | 03-09T02:00");
    due("0 2 * * *", "all:2", "2026-03-05T02:00:00Z", "2026-03-08T12:00:00Z",
        "03-07T02:00 03-08T02:00 | 03-06T02:00 | 03-09T02:00");
    /* Late, but not by much: that is not missed. */
    due("0 2 * * *", "none", "2026-03-08T02:00:00Z", "2026-03-08T02:04:59Z",
        "03-08T02:00 | | 03-09T02:00");
    due("0 2 * * *", "none", "2026-03-07T02:00:00Z", "2026-03-08T02:00:10Z",
        "03-08T02:00 | 03-07T02:00 | 03-09T02:00");
    /* One behind a clock that jumped far ahead. */
    due("* * * * *", "last", "2020-01-01T00:00:00Z", "2026-03-08T02:00:10Z",
        "03-08T02:00 | 03-08T01:59 | 03-08T02:01");
}

static void the_year_of_every_minute_is_not_walked(void)
{
    struct team_cron c;
    struct team_zone *z = NULL;
    struct team_schedule_due d;
    struct team_schedule_policy p = {.catch_up = SCHEDULE_CATCH_ALL, .limit = 1000};
    CHECK_INT(team_cron_parse("* * * * *", &c, NULL), RC_OK);
    CHECK_INT(team_zone_open("Europe/Berlin", &z, NULL), RC_OK);
    int64_t now = moment("2026-03-08T02:00:10Z");
    team_schedule_due_at(&c, z, &p, moment("1990-01-01T00:00:00Z"), now, &d);
    CHECK_INT(d.fire.n, 1000);
    CHECK(d.fire.cap <= 4096); /* so few were looked at */
    CHECK_INT(d.fire.at[999], moment("2026-03-08T02:00:00Z"));
    CHECK_INT(d.fire.at[0], moment("2026-03-08T02:00:00Z") - 999 * 60 * CLOCK_SECOND);
    team_schedule_due_release(&d);
    team_zone_close(z);
}

static void policies_are_read_and_kept(void)
{
    static const char *const kept[] = {"none skip", "last queue", "all replace",
                                       "all:20 allow"};
    for (size_t i = 0; i < 4; i++) {
        struct team_schedule_policy p;
        struct buf b;
        buf_init(&b, 100);
        CHECK_INT(team_schedule_policy_parse(kept[i], &p, NULL), RC_OK);
        team_schedule_catch_up_print(&p, &b);
        buf_printf(&b, " %s", team_schedule_overlap_name(p.overlap));
        CHECK_STR(buf_str(&b), kept[i]);
        buf_release(&b);
    }
    static const struct {
        const char *catch_up, *overlap, *msg;
    } bad[] = {
        {"some", "skip",
         "catch-up: 'some' is not none, last, all or all:N with N from 1 to "
         "1000"},
        {"all:0", "skip",
         "catch-up: 'all:0' is not none, last, all or all:N with N from 1 "
         "to 1000"},
        {"all:1001", "skip",
         "catch-up: 'all:1001' is not none, last, all or all:N with N "
         "from 1 to 1000"},
        {"last:2", "skip",
         "catch-up: 'last:2' is not none, last, all or all:N with N from "
         "1 to 1000"},
        {"", "skip",
         "catch-up: '' is not none, last, all or all:N with N from 1 to 1000"},
        {"last", "wait", "overlap: 'wait' is not skip, queue, replace or allow"},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct team_schedule_policy p;
        struct err err = {0};
        CHECK_INT(team_schedule_policy_read(bad[i].catch_up, bad[i].overlap, &p, &err),
                  RC_INVAL);
        CHECK_STR(err.msg, bad[i].msg);
        CHECK_INT(err.code, E5105);
    }
}

static const struct tap_case cases[] = {
    TAP(what_is_on_time_is_run),
    TAP(what_was_missed_is_made_up_for_as_agreed),
    TAP(the_year_of_every_minute_is_not_walked),
    TAP(policies_are_read_and_kept),
};
TAP_MAIN(cases)
