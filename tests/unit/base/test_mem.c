/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mem.h"

#include "base/vec.h"
#include "tap.h"

static void overflowing_products_are_refused(void)
{
    CHECK(mem_try_alloc(SIZE_MAX / 2, 3) == NULL);
    CHECK(mem_try_calloc(SIZE_MAX, SIZE_MAX) == NULL);
    CHECK(mem_try_aligned(64, SIZE_MAX / 8, 8) == NULL);
    void *p = mem_try_alloc(1, 1);
    CHECK(mem_try_realloc(p, SIZE_MAX, 2) == NULL);
    mem_free(p);
}

static void injected_failure_hits_the_nth_and_only_that(void)
{
    mem_fail_at(2);
    void *a = mem_try_alloc(1, 8), *b = mem_try_alloc(1, 8), *c = mem_try_alloc(1, 8);
    mem_fail_at(0);
    CHECK(a && !b && c);
    mem_free(a);
    mem_free(c);
}

static void live_counts_blocks(void)
{
    int64_t live = mem_live(), total = mem_total();
    void *p = mem_alloc(0);
    void *q = mem_try_aligned(64, 3, 5);
    CHECK_INT((uintptr_t)q % 64, 0);
    p = mem_realloc(p, 100, 4);
    CHECK_INT(mem_live(), live + 2);
    mem_free(p);
    mem_free(q);
    mem_free(NULL);
    CHECK_INT(mem_live(), live);
    CHECK_INT(mem_total(), total + 2);
}

static void printed_text_is_whole(void)
{
    char *s = mem_printf("%s-%d", "abc", 12);
    CHECK_STR(s, "abc-12");
    mem_free(s);
    s = mem_strndup("abcdef", 3);
    CHECK_STR(s, "abc");
    mem_free(s);
}

static void vectors_grow(void)
{
    VEC(int) v = {0};
    for (int i = 0; i < 1000; i++)
        VEC_PUSH(&v, i);
    CHECK_INT(v.n, 1000);
    CHECK_INT(v.at[999], 999);
    VEC_RELEASE(&v);
    CHECK(v.at == NULL && v.n == 0);
}

static const struct tap_case cases[] = {
    TAP(overflowing_products_are_refused),
    TAP(injected_failure_hits_the_nth_and_only_that),
    TAP(live_counts_blocks),
    TAP(printed_text_is_whole),
    TAP(vectors_grow),
};
TAP_MAIN(cases)
