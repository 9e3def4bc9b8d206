/* SPDX-License-Identifier: Apache-2.0 */
/* Of very many metric values, fewer, and always the latest. */
#include "backend/thin.h"

#include <stdio.h>

#include "tap.h"

static struct store_point point(const char *name, int64_t at)
{
    return (struct store_point){
        .name = name, .attempt = 1, .at = at, .value = (double)at};
}

/* `n` lines of two values from `at` on; how many values were kept. */
static int64_t print_lines(struct backend_thin *t, int64_t at, int64_t n)
{
    int64_t kept = 0;
    for (int64_t i = at; i < at + n; i++) {
        struct store_point a = point("loss", i), b = point("auc", i);
        bool first = backend_thin_keep(t, &a), second = backend_thin_keep(t, &b);
        if (first != second)
            return -1;
        kept += first + second;
    }
    return kept;
}

static void the_first_are_all_kept_then_fewer_and_fewer(void)
{
    struct backend_thin t = {0};
    CHECK_INT(print_lines(&t, 0, THIN_EACH / 2), THIN_EACH);
    CHECK_INT(backend_thin_stride(&t), 2);
    CHECK_INT(print_lines(&t, 1000000, THIN_EACH), THIN_EACH);
    CHECK_INT(backend_thin_stride(&t), 4);
    CHECK_INT(print_lines(&t, 2000000, 2 * THIN_EACH), THIN_EACH);
    int64_t much = print_lines(&t, 10000000, 30 * THIN_EACH);
    CHECK(much > 0 && much < 5 * THIN_EACH);
    backend_thin_release(&t);
    backend_thin_release(&t);
}

static void the_latest_value_of_a_name_is_not_lost(void)
{
    struct backend_thin t = {0};
    struct store_point p;
    print_lines(&t, 0, THIN_EACH / 2);
    CHECK(!backend_thin_rest(&t, &p)); /* nothing was left out */
    CHECK_INT(print_lines(&t, 1000000, 1002), 1002);
    int n = 0;
    for (; backend_thin_rest(&t, &p); n++)
        CHECK(p.at == 1001001 && p.attempt == 1 && p.value == 1001001);
    CHECK_INT(n, 2);
    CHECK(!backend_thin_rest(&t, &p));
    backend_thin_release(&t);
}

static void names_are_bounded(void)
{
    struct backend_thin t = {0};
    char name[24];
    int64_t kept = 0;
    for (int i = 0; i < 2 * THIN_NAMES; i++) {
        snprintf(name, sizeof(name), "m%d", i);
        struct store_point p = point(name, i);
        kept += backend_thin_keep(&t, &p);
    }
    CHECK_INT(kept, THIN_NAMES);
    struct store_point known = point("m7", 99999);
    CHECK(backend_thin_keep(&t, &known));
    backend_thin_release(&t);
}

static const struct tap_case cases[] = {
    TAP(the_first_are_all_kept_then_fewer_and_fewer),
    TAP(the_latest_value_of_a_name_is_not_lost),
    TAP(names_are_bounded),
};
TAP_MAIN(cases)
