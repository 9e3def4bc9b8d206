/* SPDX-License-Identifier: Apache-2.0 */
#include "http/limit.h"

#include <stdio.h>

#include "tap.h"

#define SECOND INT64_C(1000000000)

static void twice_the_rate_at_once_then_the_rate(void)
{
    struct http_limit *l = http_limit_create(5);
    int64_t now = 1000 * SECOND;
    for (int i = 0; i < 10; i++)
        CHECK(http_limit_take(l, "ann", now));
    CHECK(!http_limit_take(l, "ann", now));
    CHECK(http_limit_take(l, "bob", now)); /* somebody else's is full */
    now += SECOND / 5;
    CHECK(http_limit_take(l, "ann", now));
    CHECK(!http_limit_take(l, "ann", now));
    now += 3600 * SECOND; /* never more than the most */
    for (int i = 0; i < 10; i++)
        CHECK(http_limit_take(l, "ann", now));
    CHECK(!http_limit_take(l, "ann", now));
    http_limit_destroy(l);
}

static void no_rate_is_no_limit(void)
{
    struct http_limit *l = http_limit_create(0);
    for (int i = 0; i < 10000; i++)
        CHECK(http_limit_take(l, "x", 0));
    http_limit_destroy(l);
}

static void a_slow_rate_lets_one_through(void)
{
    struct http_limit *l = http_limit_create(0.1);
    CHECK(http_limit_take(l, "x", SECOND));
    CHECK(!http_limit_take(l, "x", 2 * SECOND));
    CHECK(http_limit_take(l, "x", 12 * SECOND));
    http_limit_destroy(l);
}

static void more_at_once_than_the_rate(void)
{
    struct http_limit *l = http_limit_create_burst(0.2, 200);
    int64_t now = 1000 * SECOND;
    int taken = 0;
    for (int i = 0; i < 400; i++)
        taken += http_limit_take(l, "ann", now);
    CHECK_INT(taken, 200);
    CHECK(http_limit_take(l, "ann", now + 5 * SECOND));
    CHECK(!http_limit_take(l, "ann", now + 6 * SECOND));
    http_limit_destroy(l);
}

static void many_names_do_not_disturb_each_other(void)
{
    struct http_limit *l = http_limit_create(1);
    char name[32];
    int denied = 0;
    for (int i = 0; i < 1000; i++) {
        snprintf(name, sizeof(name), "10.0.%d.%d", i / 256, i % 256);
        denied += !http_limit_take(l, name, 5 * SECOND);
    }
    CHECK_INT(denied, 0);
    http_limit_destroy(l);
}

static const struct tap_case cases[] = {
    TAP(twice_the_rate_at_once_then_the_rate), TAP(no_rate_is_no_limit),
    TAP(a_slow_rate_lets_one_through),         TAP(more_at_once_than_the_rate),
    TAP(many_names_do_not_disturb_each_other),
};
TAP_MAIN(cases)
