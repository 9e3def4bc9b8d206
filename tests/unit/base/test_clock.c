/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"

#include "tap.h"

static void monotonic_time_does_not_go_back(void)
{
    int64_t last = clock_mono_ns();
    for (int i = 0; i < 1000; i++) {
        int64_t now = clock_mono_ns();
        CHECK(now >= last);
        last = now;
    }
    CHECK(clock_wall_ns() > INT64_C(1700000000) * CLOCK_SECOND);
}

static void moments_are_written_in_utc(void)
{
    static const struct {
        int64_t ns;
        const char *text;
    } want[] = {
        {0, "1970-01-01T00:00:00.000Z"},
        {-1, "1969-12-31T23:59:59.999Z"},
        {INT64_C(1709208000123999999), "2024-02-29T12:00:00.123Z"},
        {INT64_C(951782400000000000), "2000-02-29T00:00:00.000Z"},
        {INT64_MAX, "2262-04-11T23:47:16.854Z"},
        {INT64_MIN, "1677-09-21T00:12:43.145Z"},
    };
    char text[CLOCK_TEXT_SIZE];
    for (size_t i = 0; i < ARRAY_LEN(want); i++) {
        clock_rfc3339(want[i].ns, text);
        CHECK_STR(text, want[i].text);
    }
}

static void moments_are_read_back(void)
{
    static const struct {
        const char *text;
        int64_t ns;
    } want[] = {
        {"1970-01-01T00:00:00Z", 0},
        {"1970-01-01t01:00:00.5+01:00", 500000000},
        {"1969-12-31 23:30:00-00:30", 0},
        {"2024-02-29T12:00:00.1239999991Z", INT64_C(1709208000123999999)},
        {"1970-01-01T00:00:60Z", 60 * CLOCK_SECOND},
    };
    for (size_t i = 0; i < ARRAY_LEN(want); i++) {
        int64_t ns = -7;
        CHECK(clock_from_rfc3339(str_c(want[i].text), &ns));
        CHECK_INT(ns, want[i].ns);
    }
    char text[CLOCK_TEXT_SIZE];
    for (int64_t day = -100000; day < 100000; day += 13) {
        int64_t at = day * 86400 * CLOCK_SECOND + 45296789 * INT64_C(1000000), back = 0;
        clock_rfc3339(at, text);
        CHECK(clock_from_rfc3339(str_c(text), &back) && back == at);
    }
}

static void other_texts_are_no_moments(void)
{
    static const char *const bad[] = {
        "",
        "2024-02-30T00:00:00Z",
        "2023-02-29T00:00:00Z",
        "1900-02-29T00:00:00Z",
        "2024-13-01T00:00:00Z",
        "2024-00-01T00:00:00Z",
        "2024-01-01T24:00:00Z",
        "2024-01-01T00:60:00Z",
        "2024-01-01T00:00:61Z",
        "2024-01-01T00:00:00",
        "2024-01-01T00:00:00.Z",
        "2024-01-01T00:00:00+1:00",
        "2024-01-01T00:00:00+24:00",
        "2024-01-01T00:00:00Zx",
        "24-01-01T00:00:00Z",
        "9999-01-01T00:00:00Z",
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        int64_t ns = 7;
        CHECK(!clock_from_rfc3339(str_c(bad[i]), &ns));
        CHECK_INT(ns, 7);
    }
}

static void durations_read_well(void)
{
    static const struct {
        double s;
        const char *text;
    } want[] = {
        {0, "0us"},       {0.00085, "850us"}, {0.012, "12ms"},   {3.25, "3.2s"},
        {59.99, "59.9s"}, {60, "1m00s"},      {125, "2m05s"},    {3599, "59m59s"},
        {11220, "3h07m"}, {86399, "23h59m"},  {187200, "2d04h"}, {-125, "-2m05s"},
    };
    char text[CLOCK_TEXT_SIZE];
    for (size_t i = 0; i < ARRAY_LEN(want); i++) {
        clock_duration((int64_t)(want[i].s * 1e9), text);
        CHECK_STR(text, want[i].text);
    }
    clock_duration(INT64_MIN, text);
    CHECK_STR(text, "-106751d23h");
}

static const struct tap_case cases[] = {
    TAP(monotonic_time_does_not_go_back),
    TAP(moments_are_written_in_utc),
    TAP(moments_are_read_back),
    TAP(other_texts_are_no_moments),
    TAP(durations_read_well),
};
TAP_MAIN(cases)
