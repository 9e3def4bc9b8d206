/* SPDX-License-Identifier: Apache-2.0 */
#include "base/map.h"

#include "base/mem.h"
#include "tap.h"

static void keeps_order_and_finds_all(void)
{
    int64_t live = mem_live();
    struct map m = {0};
    static int values[5000];
    char key[32];
    for (int i = 0; i < 5000; i++) {
        snprintf(key, sizeof(key), "key-%d", i);
        map_put(&m, str_c(key))->value = &values[i];
    }
    CHECK_INT(m.n, 5000);
    for (int i = 0; i < 5000; i++) {
        snprintf(key, sizeof(key), "key-%d", i);
        CHECK(map_get(&m, key) == &values[i]);
        CHECK_STR(m.at[i].key, key);
    }
    CHECK(map_get(&m, "key-5000") == NULL);
    map_release(&m);
    CHECK_INT(mem_live(), live);
}

static void putting_twice_is_one_entry(void)
{
    struct map m = {0};
    CHECK(map_find(&m, str_c("a")) == NULL);
    map_put(&m, str_c("a"))->value = &m;
    CHECK(map_put(&m, str_c("a"))->value == &m);
    CHECK_INT(m.n, 1);
    CHECK(map_put(&m, str_of("a\0b", 3))->value == NULL);
    CHECK_INT(m.n, 2);
    map_release(&m);
}

static const struct tap_case cases[] = {
    TAP(keeps_order_and_finds_all),
    TAP(putting_twice_is_one_entry),
};
TAP_MAIN(cases)
