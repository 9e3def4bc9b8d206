/* SPDX-License-Identifier: Apache-2.0 */
/* A long curve made short keeps its ends, its peaks and its order. */
#include "http/thin.h"

#include "base/compiler.h"

#include "tap.h"

#define MANY 100000

static void few_values_stay_as_they_are(void)
{
    struct http_thin t;
    struct http_thin_point p[2];
    http_thin_init(&t, 10);
    for (int64_t i = 0; i < 5; i++)
        http_thin_add(&t, 10 * i, 1000 + i, (double)(i % 2));
    CHECK_INT(t.n, 5);
    CHECK_INT(t.total, 5);
    for (size_t i = 0; i < t.n; i++) {
        CHECK_INT(http_thin_get(&t, i, p), 1);
        CHECK_INT(p[0].step, 10 * (int64_t)i);
        CHECK(p[0].value == (double)(i % 2));
    }
    http_thin_release(&t);
}

static void peaks_stay_whatever_their_place(void)
{
    for (int64_t peak = 0; peak < MANY; peak += 4999) {
        struct http_thin t;
        struct http_thin_point p[2];
        size_t left = 0, found = 0;
        int64_t before = -1;
        http_thin_init(&t, 100);
        for (int64_t i = 0; i < MANY; i++)
            http_thin_add(&t, i, i, i == peak ? 1e9 : i == MANY - 1 - peak ? -1e9 : 0.5);
        CHECK_INT(t.total, MANY);
        for (size_t i = 0; i < t.n; i++) {
            size_t n = http_thin_get(&t, i, p);
            left += n;
            for (size_t k = 0; k < n; k++) {
                CHECK(p[k].step > before); /* in the order in which they came */
                before = p[k].step;
                found += (p[k].value == 1e9 && p[k].step == peak) ||
                         (p[k].value == -1e9 && p[k].step == MANY - 1 - peak);
            }
        }
        CHECK_INT(found, 2);
        CHECK(left <= 100 && left >= 25);
        http_thin_release(&t);
    }
}

static void what_is_cut_comes_again(void)
{
    struct http_thin t;
    struct http_thin_point p[2];
    int64_t last = -1;
    http_thin_init(&t, 20);
    for (int64_t i = 0; i < 1000; i++)
        http_thin_add(&t, i, i, (double)i);
    http_thin_cut(&t, 500);
    for (size_t i = 0; i < t.n; i++)
        for (size_t k = 0, n = http_thin_get(&t, i, p); k < n; k++)
            CHECK(p[k].step < 500);
    for (int64_t i = 500; i < 2000; i++)
        http_thin_add(&t, i, i, (double)-i);
    for (size_t i = 0; i < t.n; i++)
        for (size_t k = 0, n = http_thin_get(&t, i, p); k < n; k++) {
            CHECK(p[k].step > last);
            CHECK(p[k].step < 500 ? p[k].value >= 0 : p[k].value < 0);
            last = p[k].step;
        }
    CHECK_INT(last, 1999);
    http_thin_cut(&t, 0);
    CHECK_INT(t.n, 0);
    http_thin_release(&t);
}

static void the_least_number_of_points_is_four(void)
{
    struct http_thin t;
    http_thin_init(&t, 0);
    for (int64_t i = 0; i < 1000; i++)
        http_thin_add(&t, i, i, (double)i);
    CHECK(t.n >= 1 && t.n <= 2);
    http_thin_release(&t);
    http_thin_release(&t);
}

static const struct tap_case cases[] = {
    TAP(few_values_stay_as_they_are),
    TAP(peaks_stay_whatever_their_place),
    TAP(what_is_cut_comes_again),
    TAP(the_least_number_of_points_is_four),
};

int main(int argc, char **argv)
{
    return tap_run(cases, ARRAY_LEN(cases), argc, argv);
}
