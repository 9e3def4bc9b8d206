/* SPDX-License-Identifier: Apache-2.0 */
#include "embed/touched.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "embed/embed.h"
#include "tap.h"

static void ids_come_back_once_and_in_order(void)
{
    static const int64_t given[] = {7, INT64_MAX, 0, 7, 5000000000, 63, 64, 0};
    static const int64_t want[] = {0, 7, 63, 64, 5000000000, INT64_MAX};
    struct embed_touched *t = NULL;
    int64_t *ids = NULL, n;
    CHECK(embed_touched_create(0, &t, NULL) == RC_OK);
    for (size_t i = 0; i < sizeof(given) / sizeof(*given); i++)
        CHECK(embed_touched_add(t, given[i], NULL) == RC_OK);
    CHECK(embed_touched_list(t, &ids, &n, NULL) == RC_OK);
    CHECK(n == 6 && memcmp(ids, want, sizeof(want)) == 0);
    mem_free(ids);
    embed_touched_clear(t);
    CHECK(embed_touched_list(t, &ids, &n, NULL) == RC_OK && n == 0);
    mem_free(ids);
    for (int64_t i = 0; i < 10000; i++)
        CHECK(embed_touched_add(t, (i * 7919) % 10000 * 1024, NULL) == RC_OK);
    CHECK(embed_touched_list(t, &ids, &n, NULL) == RC_OK && n == 10000);
    for (int64_t i = 0; i < n; i++)
        CHECK(ids[i] == i * 1024);
    mem_free(ids);
    embed_touched_destroy(t);
}

static void numbers_of_rows_are_bits(void)
{
    struct embed_touched *t = NULL;
    int64_t *ids = NULL, n;
    CHECK(embed_touched_create(65, &t, NULL) == RC_OK);
    CHECK(embed_touched_add(t, 64, NULL) == RC_OK &&
          embed_touched_add(t, 0, NULL) == RC_OK);
    embed_touched_mark(t, 63);
    CHECK(embed_touched_list(t, &ids, &n, NULL) == RC_OK);
    CHECK(n == 3 && ids[0] == 0 && ids[1] == 63 && ids[2] == 64);
    mem_free(ids);
    embed_touched_clear(t);
    CHECK(embed_touched_list(t, &ids, &n, NULL) == RC_OK && n == 0);
    mem_free(ids);
    embed_touched_destroy(t);
}

static enum rc use_all(struct err *err)
{
    struct embed_touched *t = NULL;
    int64_t *ids = NULL, n;
    enum rc rc = embed_touched_create(0, &t, err);
    for (int64_t i = 0; i < 2000 && !rc; i++)
        rc = embed_touched_add(t, i, err);
    if (!rc)
        rc = embed_touched_list(t, &ids, &n, err);
    mem_free(ids);
    embed_touched_destroy(t);
    if (!rc)
        rc = embed_touched_create(100, &t, err);
    if (!rc)
        embed_touched_destroy(t);
    return rc;
}

static void no_memory_is_an_error_and_nothing_leaks(void)
{
    enum rc rc = RC_NOMEM;
    int failed = 0;
    for (int64_t at = 1; rc; at++) {
        struct err err = {0};
        mem_fail_at(at);
        rc = use_all(&err);
        mem_fail_at(0);
        CHECK(rc == RC_OK || (rc == RC_NOMEM && strstr(err.msg, "ids that were used")));
        failed += rc != RC_OK;
    }
    CHECK(failed == 5);
}

/* What a batch of one feature leaves behind, in "1 2 3". */
static void touched_after(struct embed *e, const int64_t *ids, int64_t rows,
                          bool training, const char *want)
{
    struct embed_table *t = embed_table_at(e, 0);
    struct embed_slot_ids given = {.ids = ids, .rows = rows};
    int64_t *list = NULL, n;
    struct buf text;
    buf_init(&text, 4096);
    CHECK(embed_batch(e, &given, training, NULL) == RC_OK);
    CHECK(embed_touched_list(t->touched, &list, &n, NULL) == RC_OK);
    for (int64_t i = 0; i < n; i++)
        buf_printf(&text, "%s%jd", i ? " " : "", (intmax_t)list[i]);
    CHECK_STR(buf_str(&text), want);
    embed_touched_clear(t->touched);
    mem_free(list);
    buf_release(&text);
}

static struct embed *one_table(struct embed_table_conf conf)
{
    struct embed *e = embed_create(NULL);
    conf.name = "t";
    conf.dim = 2;
    conf.trainable = true;
    CHECK(embed_add_table(e, &conf, NULL) == 0);
    embed_add_slot(e, &(struct embed_slot_conf){.feature = "f", .table = 0});
    CHECK(embed_track(e, NULL) == RC_OK);
    return e;
}

static void training_notes_the_rows_of_a_batch_and_looking_does_not(void)
{
    struct embed *e = one_table((struct embed_table_conf){.rows = 100});
    touched_after(e, (int64_t[]){9, 3, -1, 9}, 4, true, "3 9");
    touched_after(e, (int64_t[]){5, 6}, 2, false, "");
    touched_after(e, (int64_t[]){99, 0}, 2, true, "0 99");
    embed_destroy(e);
}

/* Two rows for ids, a round after every batch; who comes most often has them. */
static void zch_notes_who_loses_a_row(void)
{
    struct embed_keyed_conf zch = {.kind = KEYED_ZCH,
                                   .capacity = 2,
                                   .worth = WORTH_COUNT,
                                   .decay = 1,
                                   .interval = 1};
    struct embed *e = one_table(
        (struct embed_table_conf){.rows = embed_keyed_rows(&zch), .keyed = zch});
    touched_after(e, (int64_t[]){70, 80, -1}, 3, true, "70 80");
    touched_after(e, (int64_t[]){90, 90, 70}, 3, true, "70 80 90");
    touched_after(e, (int64_t[]){55, -1, -1}, 3, true, "55");
    embed_destroy(e);
}

static const struct tap_case cases[] = {
    TAP(ids_come_back_once_and_in_order),
    TAP(numbers_of_rows_are_bits),
    TAP(no_memory_is_an_error_and_nothing_leaks),
    TAP(training_notes_the_rows_of_a_batch_and_looking_does_not),
    TAP(zch_notes_who_loses_a_row),
};
TAP_MAIN(cases)
