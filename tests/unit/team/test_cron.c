/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"
#include "base/rng.h"
#include "tap.h"
#include "team/cron.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static struct team_zone *zone(const char *name)
{
    struct team_zone *z = NULL;
    CHECK_INT(team_zone_open(name, &z, NULL), RC_OK);
    return z;
}

static int64_t moment(const char *text)
{
    int64_t ns = 0;
    CHECK(clock_from_rfc3339(str_c(text), &ns));
    return ns / CLOCK_SECOND;
}

/* The times behind `after`, one after the other. */
static void follow(const char *line, const char *zone_name, const char *after,
                   const char *const *want, size_t n)
{
    struct team_cron c;
    struct err err = {0};
    struct team_zone *z = zone(zone_name);
    CHECK_INT(team_cron_parse(line, &c, &err), RC_OK);
    CHECK_STR(err.msg, "");
    int64_t at = moment(after);
    for (size_t i = 0; i < n; i++) {
        char text[CLOCK_TEXT_SIZE];
        CHECK(team_cron_next(&c, z, at, &at));
        clock_rfc3339(at * CLOCK_SECOND, text);
        CHECK_STR(text, want[i]);
    }
    team_zone_close(z);
}

static void lines_come_due_when_they_say(void)
{
    const char *const daily[] = {"2024-02-28T02:30:00.000Z", "2024-02-29T02:30:00.000Z",
                                 "2024-03-01T02:30:00.000Z"};
    follow("30 2 * * *", "UTC", "2024-02-27T02:30:00Z", daily, 3);
    const char *const quarter[] = {"2024-12-31T23:45:00.000Z",
                                   "2025-01-01T00:00:00.000Z"};
    follow("*/15 * * * *", "UTC", "2024-12-31T23:30:00Z", quarter, 2);
    const char *const work[] = {"2024-03-01T09:00:00.000Z", "2024-03-04T09:00:00.000Z"};
    follow("0 9 * * mon-FRI", "UTC", "2024-02-29T09:00:30Z", work, 2);
    const char *const leap[] = {"2024-02-29T00:00:00.000Z", "2028-02-29T00:00:00.000Z"};
    follow("0 0 29 feb *", "UTC", "2020-03-01T00:00:00Z", leap, 2);
    const char *const shanghai[] = {"2024-03-01T18:00:00.000Z"};
    follow("0 2 * * *", "Asia/Shanghai", "2024-03-01T12:00:00Z", shanghai, 1);
    const char *const from[] = {"2024-03-01T00:05:00.000Z", "2024-03-01T00:25:00.000Z",
                                "2024-03-01T00:45:00.000Z", "2024-03-01T01:05:00.000Z"};
    follow("5/20 * * * *", "UTC", "2024-03-01T00:00:00Z", from, 4);
}

static void either_day_is_enough_when_both_are_given(void)
{
    const char *const either[] = {"2024-03-13T00:00:00.000Z", "2024-03-15T00:00:00.000Z",
                                  "2024-03-22T00:00:00.000Z"};
    follow("0 0 13 * 5", "UTC", "2024-03-09T00:00:00Z", either, 3);
    /* A field that begins with a star restricts nothing in this sense. */
    const char *const both[] = {"2024-09-13T00:00:00.000Z", "2024-10-25T00:00:00.000Z"};
    follow("0 0 */12 * 5", "UTC", "2024-09-12T00:00:00Z", both, 2);
    const char *const weekend[] = {"2024-03-01T00:00:00.000Z", "2024-03-02T00:00:00.000Z",
                                   "2024-03-03T00:00:00.000Z",
                                   "2024-03-08T00:00:00.000Z"};
    follow("0 0 * * fri-sun", "UTC", "2024-02-29T00:00:00Z", weekend, 4);
}

static void the_hour_that_is_left_out(void)
{
    /* Berlin, 2026-03-29: 02:00 becomes 03:00 at 01:00 UTC. */
    const char *const fixed[] = {"2026-03-28T01:30:00.000Z", "2026-03-29T01:00:00.000Z",
                                 "2026-03-30T00:30:00.000Z"};
    follow("30 2 * * *", "Europe/Berlin", "2026-03-28T00:00:00Z", fixed, 3);
    const char *const twice[] = {"2026-03-29T01:00:00.000Z", "2026-03-30T00:10:00.000Z"};
    follow("10,40 2 * * *", "Europe/Berlin", "2026-03-29T00:00:00Z", twice, 2);
    const char *const wild[] = {"2026-03-29T00:30:00.000Z", "2026-03-29T01:30:00.000Z"};
    follow("30 * * * *", "Europe/Berlin", "2026-03-29T00:00:00Z", wild, 2);
    const char *const minutes[] = {"2026-03-30T00:00:00.000Z"};
    follow("* 2 * * *", "Europe/Berlin", "2026-03-29T00:30:00Z", minutes, 1);
}

static void the_hour_that_comes_twice(void)
{
    /* Berlin, 2026-10-25: 03:00 becomes 02:00 at 01:00 UTC. */
    const char *const fixed[] = {"2026-10-25T00:30:00.000Z", "2026-10-26T01:30:00.000Z"};
    follow("30 2 * * *", "Europe/Berlin", "2026-10-25T00:00:00Z", fixed, 2);
    /* Asked again in the second of the two hours. */
    const char *const again[] = {"2026-10-26T01:30:00.000Z"};
    follow("30 2 * * *", "Europe/Berlin", "2026-10-25T01:10:00Z", again, 1);
    const char *const wild[] = {"2026-10-25T00:30:00.000Z", "2026-10-25T01:30:00.000Z",
                                "2026-10-25T02:30:00.000Z"};
    follow("30 * * * *", "Europe/Berlin", "2026-10-25T00:00:00Z", wild, 3);
}

/* The same, minute by minute, from the definition in cron.h. */
static int64_t brute(const struct team_cron *c, const struct team_zone *z, int64_t after)
{
    int64_t seen = INT64_MIN;
    for (int64_t t = after - 3 * 86400; t < after + 20 * 86400; t += 60) {
        int64_t local = t + team_zone_at(z, t).offset;
        int64_t from = c->follows_clock || seen == INT64_MIN ? local : seen + 60;
        bool fits = false;
        for (int64_t l = from; l <= local && !fits; l += 60) {
            struct team_civil at = team_civil_of(l);
            fits = team_cron_fits(c, &at);
        }
        if (seen < local)
            seen = local;
        if (fits && t > after)
            return t;
    }
    return INT64_MAX;
}

static const char *const field_words[5][6] = {
    {"*", "*/7", "0", "30", "5,55", "10-20/3"},
    {"*", "*/5", "2", "1-3", "0,23", "2,3"},
    {"*", "*/3", "1", "25-31", "29,10", "*"},
    {"*", "3,10", "*/2", "mar-oct", "*", "10"},
    {"*", "0", "sun-tue", "*/2", "*", "7"},
};

static void next_is_what_a_walk_by_minutes_finds(void)
{
    static const char *const zones[] = {"Europe/Berlin", "Australia/Lord_Howe", "UTC",
                                        "America/New_York", "Asia/Shanghai"};
    static const char *const days[] = {"2026-03-29T00:30:00Z", "2026-10-25T00:20:00Z",
                                       "2026-03-08T06:31:00Z", "2026-11-01T05:29:00Z",
                                       "2026-04-04T14:50:00Z", "2026-10-03T15:10:00Z",
                                       "2024-02-28T23:58:00Z", "2026-12-31T23:00:00Z"};
    int bad = 0;
    for (uint64_t i = 0; i < 240 && bad < 5; i++) {
        char line[64];
        struct team_cron c;
        struct rng r;
        rng_init(&r, 7, 0, 0, i);
        struct team_zone *z = zone(zones[i % COUNT(zones)]);
        snprintf(line, sizeof(line), "%s %s %s %s %s", field_words[0][rng_below(&r, 6)],
                 field_words[1][rng_below(&r, 6)], field_words[2][rng_below(&r, 6)],
                 field_words[3][rng_below(&r, 6)], field_words[4][rng_below(&r, 6)]);
        CHECK_INT(team_cron_parse(line, &c, NULL), RC_OK);
        int64_t after =
            moment(days[rng_below(&r, COUNT(days))]) - (int64_t)(rng_below(&r, 180)) * 60;
        int64_t want = brute(&c, z, after), got = INT64_MAX;
        bool found = team_cron_next(&c, z, after, &got);
        if (want != INT64_MAX ? !found || got != want
                              : found && got < after + 20 * 86400) {
            bad++;
            printf("# '%s' in %s after %jd: got %jd, want %jd\n", line,
                   zones[i % COUNT(zones)], (intmax_t)after, (intmax_t)got,
                   (intmax_t)want);
        }
        team_zone_close(z);
    }
    CHECK_INT(bad, 0);
}

static void rare_lines_are_found_at_once(void)
{
    /* A 29 February that is a Sunday: the field of weekdays begins with a star. */
    const char *const rare[] = {"2032-02-29T00:00:00.000Z", "2060-02-29T00:00:00.000Z"};
    follow("0 0 29 2 */7", "UTC", "2024-03-01T00:00:00Z", rare, 2);
    struct team_cron c;
    struct team_zone *z = zone("UTC");
    int64_t next;
    CHECK_INT(team_cron_parse("0 0 1 1 *", &c, NULL), RC_OK);
    CHECK(!team_cron_next(&c, z, moment("2199-06-01T00:00:00Z"), &next));
    team_zone_close(z);
}

static void short_names_stand_for_lines(void)
{
    static const char *const names[] = {"@yearly", "@annually", "@monthly", "@weekly",
                                        "@daily",  "@midnight", "@hourly",  "@Daily"};
    static const char *const lines[] = {"0 0 1 1 *", "0 0 1 1 *", "0 0 1 * *",
                                        "0 0 * * 0", "0 0 * * *", "0 0 * * *",
                                        "0 * * * *", "0 0 * * *"};
    for (size_t i = 0; i < COUNT(names); i++) {
        struct team_cron a, b;
        CHECK_INT(team_cron_parse(names[i], &a, NULL), RC_OK);
        CHECK_INT(team_cron_parse(lines[i], &b, NULL), RC_OK);
        CHECK(a.minutes == b.minutes && a.hours == b.hours && a.days == b.days &&
              a.months == b.months && a.weekdays == b.weekdays);
    }
}

static void what_is_wrong_is_named(void)
{
    static const struct {
        const char *line, *msg;
    } bad[] = {
        {"", "a line has five fields (minute, hour, day of the month, month, day of the "
             "week); there are 0"},
        {"5", "a line has five fields (minute, hour, day of the month, month, day of the "
              "week); there is 1"},
        {"* * * * * *", "a line has five fields (minute, hour, day of the month, month, "
                        "day of the week); there are more than 5"},
        {"60 * * * *", "minute: '60' is not a number from 0 to 59, a range or a list"},
        {"0 24 * * *", "hour: '24' is not a number from 0 to 23, a range or a list"},
        {"0 0 0 * *", "day of the month: '0' is not a number from 1 to 31, a range or a "
                      "list"},
        {"0 0 * foo *", "month: 'foo' is not a number from 1 to 12, a range or a list"},
        {"0 0 * * 8", "day of the week: '8' is not a number from 0 to 7, a range or a "
                      "list"},
        {"1, * * * *", "minute: '' is not a number from 0 to 59, a range or a list"},
        {"5-1 * * * *", "minute: '5-1' ends before it begins"},
        {"*/0 * * * *", "minute: '*/0': a step is a number from 1 to 59"},
        {"*/ * * * *", "minute: '*/': a step is a number from 1 to 59"},
        {"-1 * * * *", "minute: '-1' is not a number from 0 to 59, a range or a list"},
        {"1-2-3 * * * *",
         "minute: '1-2-3' is not a number from 0 to 59, a range or a list"},
        {"99999999999999999999 * * * *", "minute: '99999999999999999999' is not a number "
                                         "from 0 to 59, a range or a list"},
        {"0 0 31 2,4 *", "no month of these has such a day"},
        {"@reboot", "only @hourly, @daily, @midnight, @weekly, @monthly, @yearly and "
                    "@annually are known"},
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct team_cron c;
        struct err err = {0};
        char want[300];
        snprintf(want, sizeof(want), "cron line '%s': %s", bad[i].line, bad[i].msg);
        CHECK_INT(team_cron_parse(bad[i].line, &c, &err), RC_INVAL);
        CHECK_STR(err.msg, want);
        CHECK_INT(err.code, E5101);
    }
}

static const struct tap_case cases[] = {
    TAP(lines_come_due_when_they_say),
    TAP(either_day_is_enough_when_both_are_given),
    TAP(the_hour_that_is_left_out),
    TAP(the_hour_that_comes_twice),
    TAP(next_is_what_a_walk_by_minutes_finds),
    TAP(rare_lines_are_found_at_once),
    TAP(short_names_stand_for_lines),
    TAP(what_is_wrong_is_named),
};
TAP_MAIN(cases)
