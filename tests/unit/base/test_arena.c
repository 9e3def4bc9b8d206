/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"

#include "base/mem.h"
#include "tap.h"

static void blocks_are_zeroed_aligned_and_apart(void)
{
    struct arena a = {0};
    unsigned char *before = NULL;
    for (size_t i = 1; i < 300; i++) {
        unsigned char *p = arena_alloc(&a, i * 7);
        CHECK_INT((uintptr_t)p % 16, 0);
        for (size_t k = 0; k < i * 7; k++)
            CHECK(p[k] == 0);
        memset(p, 0xff, i * 7);
        CHECK(p != before);
        before = p;
    }
    arena_release(&a);
}

static void release_gives_all_back(void)
{
    int64_t live = mem_live();
    struct arena a = {0};
    for (int i = 0; i < 100; i++)
        CHECK(arena_alloc(&a, 100000) != NULL);
    CHECK(mem_live() > live);
    arena_reset(&a);
    CHECK_INT(mem_live(), live + 1);
    CHECK(arena_alloc(&a, 8) != NULL);
    arena_release(&a);
    arena_release(&a);
    CHECK_INT(mem_live(), live);
}

static void huge_and_injected_requests_fail_softly(void)
{
    struct arena a = {0};
    CHECK(arena_try_alloc(&a, SIZE_MAX / 4, 8) == NULL);
    mem_fail_at(1);
    CHECK(arena_try_alloc(&a, 10, 8) == NULL);
    mem_fail_at(0);
    CHECK(arena_try_alloc(&a, 10, 8) != NULL);
    arena_release(&a);
}

static void strings_are_copied(void)
{
    struct arena a = {0};
    CHECK_STR(arena_strdup(&a, "hello"), "hello");
    CHECK_STR(arena_strndup(&a, "hello", 2), "he");
    CHECK_STR(arena_printf(&a, "%d/%s", 3, "x"), "3/x");
    arena_release(&a);
}

static const struct tap_case cases[] = {
    TAP(blocks_are_zeroed_aligned_and_apart),
    TAP(release_gives_all_back),
    TAP(huge_and_injected_requests_fail_softly),
    TAP(strings_are_copied),
};
TAP_MAIN(cases)
