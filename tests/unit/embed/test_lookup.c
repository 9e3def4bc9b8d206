/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that leave one lookup as an image and come into another. */
#include "base/mem.h"
#include "base/rng.h"
#include "embed/lookup.h"
#include "tap.h"

#define DIM 4
#define BATCH 50

enum { SMALL, SPARSE, ZCH, GROWING, HALF, TABLES };

static struct err err;

static struct embed_table_conf conf_of(int table)
{
    static const char *const names[] = {"small", "sparse", "zch", "growing", "half"};
    struct embed_table_conf c = {
        .name = names[table],
        .rows = table == SPARSE ? 1000000 : 300,
        .dim = DIM,
        .type = table == HALF ? DT_BF16 : DT_F32,
        .a = -0.1,
        .b = 0.1,
        .trainable = true,
        .opt = {.kind = ROW_ADAM, .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-8},
        .seed = 7};
    if (table == ZCH)
        c.keyed = (struct embed_keyed_conf){
            .kind = KEYED_ZCH, .capacity = 30, .decay = 1, .interval = 2};
    if (table == GROWING)
        c.keyed = (struct embed_keyed_conf){.kind = KEYED_GROWING,
                                            .capacity = 64,
                                            .worth = WORTH_RECENT,
                                            .bucket = 8,
                                            .admit = 2,
                                            .counters = 64,
                                            .counter_bucket = 8};
    if (c.keyed.kind)
        c.rows = embed_keyed_rows(&c.keyed);
    return c;
}

static struct lookup *create(void)
{
    struct lookup *l = NULL;
    CHECK(lookup_create(NULL, &(struct lookup_conf){0}, &l, &err) == RC_OK);
    for (int i = 0; i < TABLES; i++) {
        struct embed_table_conf c = conf_of(i);
        CHECK_INT(lookup_add_table(l, &c, &err), i);
        struct embed_slot_conf slot = {.feature = c.name, .table = i, .col = i * DIM};
        CHECK_INT(lookup_add_slot(l, &slot, &err), i);
    }
    CHECK(lookup_track(l, &err) == RC_OK);
    return l;
}

static void train(struct lookup *l, uint64_t step)
{
    float values[BATCH * DIM * TABLES];
    int64_t ids[TABLES][BATCH];
    struct embed_slot_ids slots[TABLES];
    struct view v = view_of(values, BATCH, DIM * TABLES);
    struct rng r;
    rng_init(&r, 11, 0, step, 0);
    for (int t = 0; t < TABLES; t++) {
        uint64_t most = t == SPARSE ? 1000000 : t == ZCH || t == GROWING ? 90 : 300;
        for (int i = 0; i < BATCH; i++)
            ids[t][i] = (int64_t)(rng_u64(&r) % most);
        slots[t] = (struct embed_slot_ids){.ids = ids[t], .rows = BATCH};
    }
    CHECK(lookup_prepare(l, slots, true, &err) == RC_OK);
    CHECK(lookup_forward(l, &v, &err) == RC_OK);
    rng_fill_normal(&r, 0, 1, values, BATCH * DIM * TABLES);
    CHECK(lookup_update(l, &v, &(struct embed_row_step){.lr = 0.05, .step = step + 1},
                        &err) == RC_OK);
}

static bool same_list(const struct lookup_list *a, const struct lookup_list *b)
{
    bool same = lookup_has(a) == lookup_has(b) && a->n == b->n;
    for (int64_t i = 0; same && i < a->n; i++)
        same = lookup_list_at(a, i) == lookup_list_at(b, i);
    return same;
}

static void check_same_rows(const struct lookup_image *a, const struct lookup_image *b,
                            const struct embed_table_conf *conf)
{
    struct lookup_column cols[LOOKUP_COLUMNS_MAX];
    int n = lookup_columns(conf, cols);
    float x[DIM], y[DIM];
    CHECK_INT(n, 3); /* weights and two moments */
    for (int c = 0; c < n; c++) {
        size_t bytes = (size_t)cols[c].width * dtype_size(cols[c].type);
        int64_t bad = 0;
        for (int64_t i = 0; i < a->n; i++) {
            CHECK(a->read(a->arg, c, i, 1, x, &err) == RC_OK);
            CHECK(b->read(b->arg, c, i, 1, y, &err) == RC_OK);
            bad += memcmp(x, y, bytes) != 0;
        }
        CHECK_INT(bad, 0);
    }
}

static void check_same(struct lookup *a, struct lookup *b)
{
    for (int t = 0; t < TABLES; t++) {
        struct lookup_snapshot *x = NULL, *y = NULL;
        CHECK(lookup_snapshot(a, t, false, &x, &err) == RC_OK);
        CHECK(lookup_snapshot(b, t, false, &y, &err) == RC_OK);
        CHECK_INT(x->image.form, y->image.form);
        CHECK_INT(x->image.n, y->image.n);
        for (int i = 0; i < LOOKUP_LISTS; i++)
            CHECK(same_list(&x->image.lists[i], &y->image.lists[i]));
        CHECK(memcmp(&x->image.ids, &y->image.ids, sizeof(x->image.ids)) == 0);
        check_same_rows(&x->image, &y->image, lookup_table(a, t));
        lookup_snapshot_release(x);
        lookup_snapshot_release(y);
    }
}

static void an_image_restores_another_lookup(void)
{
    static const enum lookup_form forms[TABLES] = {
        LOOKUP_ALL, LOOKUP_LISTED, LOOKUP_KEYED, LOOKUP_KEYED, LOOKUP_ALL};
    struct lookup *a = create(), *b = create();
    for (uint64_t step = 0; step < 7; step++)
        train(a, step);
    train(b, 40); /* rows that the image does not have are forgotten */
    for (int t = 0; t < TABLES; t++) {
        struct lookup_snapshot *s = NULL;
        CHECK(lookup_snapshot(a, t, false, &s, &err) == RC_OK);
        CHECK_INT(s->image.form, forms[t]);
        CHECK(lookup_restore(b, t, &s->image, &err) == RC_OK);
        lookup_snapshot_release(s);
    }
    check_same(a, b);
    for (uint64_t step = 7; step < 12; step++) { /* and they go on alike */
        train(a, step);
        train(b, step);
    }
    check_same(a, b);
    lookup_destroy(a);
    lookup_destroy(b);
}

static void a_detached_image_does_not_follow_the_rows(void)
{
    struct lookup *a = create(), *b = create();
    for (int t = 0; t < TABLES; t++) {
        struct lookup_snapshot *s = NULL;
        float before[DIM], after[DIM];
        train(a, 0);
        CHECK(lookup_snapshot(a, t, false, &s, &err) == RC_OK);
        CHECK(s->ops->bytes(s) > 0 || s->image.n == 0);
        CHECK(s->ops->detach(s, &err) == RC_OK);
        CHECK(s->image.n == 0 ||
              s->image.read(s->image.arg, 0, 0, 1, before, &err) == RC_OK);
        train(a, 0); /* the same ids again */
        CHECK(s->image.n == 0 ||
              s->image.read(s->image.arg, 0, 0, 1, after, &err) == RC_OK);
        size_t bytes = DIM * dtype_size(conf_of(t).type);
        CHECK(s->image.n == 0 || memcmp(before, after, bytes) == 0);
        lookup_snapshot_release(s);
    }
    lookup_destroy(a);
    lookup_destroy(b);
}

static void a_whole_image_has_all_rows(void)
{
    struct lookup *a = create();
    struct lookup_snapshot *s = NULL;
    train(a, 0);
    CHECK(lookup_snapshot(a, SPARSE, true, &s, &err) == RC_OK);
    CHECK_INT(s->image.form, LOOKUP_ALL);
    CHECK_INT(s->image.n, 1000000);
    lookup_snapshot_release(s);
    lookup_destroy(a);
}

static void an_id_is_peeked_as_an_evaluation_reads_it(void)
{
    struct lookup *a = create();
    float w[DIM], out[DIM * TABLES];
    int64_t id = 17, none = -1;
    struct embed_slot_ids slots[TABLES];
    struct view v = view_of(out, 1, DIM * TABLES);
    train(a, 0);
    for (int t = 0; t < TABLES; t++)
        slots[t] = (struct embed_slot_ids){.ids = t == SMALL ? &id : &none, .rows = 1};
    CHECK(lookup_prepare(a, slots, false, &err) == RC_OK);
    CHECK(lookup_forward(a, &v, &err) == RC_OK);
    CHECK(lookup_peek(a, SMALL, id, w));
    CHECK(memcmp(w, out, sizeof(w)) == 0);
    CHECK(!lookup_peek(a, SMALL, 300, w));         /* outside the table */
    CHECK(!lookup_peek(a, GROWING, 123456789, w)); /* has no row */
    CHECK(lookup_peek(a, ZCH, 123456789, w));      /* shares one */
    lookup_destroy(a);
}

/* How far rows 1 and 2 of a table go when both are in one bag with weights 0.5 and 2 (or
 * without), and the gradient is 1 everywhere; SGD with a rate of 1.
 */
static void moved_by(bool sum_gradient, bool weighted, float out[2])
{
    struct lookup *l = NULL;
    struct embed_table_conf c = {
        .name = "t", .rows = 4, .dim = DIM, .init = EMBED_CONST, .trainable = true};
    struct embed_slot_conf slot = {
        .feature = "t", .pooling = EMBED_MEAN, .sum_gradient = sum_gradient};
    const int64_t ids[] = {1, 2}, offsets[] = {0, 2};
    const float weights[] = {0.5f, 2};
    struct embed_slot_ids in = {
        .ids = ids, .offsets = offsets, .weights = weighted ? weights : NULL, .rows = 1};
    float y[DIM], g[DIM] = {1, 1, 1, 1}, row[DIM];
    struct view out_view = {.data = y, .rows = 1, .width = DIM, .ld = DIM};
    struct view grad = {.data = g, .rows = 1, .width = DIM, .ld = DIM};
    c.opt = (struct embed_row_opt){.kind = ROW_SGD};
    CHECK(lookup_create(NULL, &(struct lookup_conf){0}, &l, &err) == RC_OK);
    CHECK_INT(lookup_add_table(l, &c, &err), 0);
    CHECK_INT(lookup_add_slot(l, &slot, &err), 0);
    CHECK(lookup_prepare(l, &in, true, &err) == RC_OK);
    CHECK(lookup_forward(l, &out_view, &err) == RC_OK);
    CHECK(lookup_update(l, &grad, &(struct embed_row_step){.lr = 1, .step = 1}, &err) ==
          RC_OK);
    for (int k = 0; k < 2; k++) {
        CHECK(lookup_peek(l, 0, k + 1, row));
        out[k] = -row[0];
    }
    lookup_destroy(l);
}

static void a_mean_with_weights_may_have_the_gradient_of_a_sum(void)
{
    float by[2];
    moved_by(false, true, by);
    CHECK_NEAR(by[0], 0.25, 1e-7);
    CHECK_NEAR(by[1], 1, 1e-7);
    moved_by(true, true, by);
    CHECK_NEAR(by[0], 0.5, 1e-7);
    CHECK_NEAR(by[1], 2, 1e-7);
    moved_by(true, false, by); /* weights of one, which other features give it there */
    CHECK_NEAR(by[0], 1, 1e-7);
    moved_by(false, false, by);
    CHECK_NEAR(by[0], 0.5, 1e-7);
}

static void an_id_outside_its_table_is_named(void)
{
    struct lookup *a = create();
    int64_t bad = 300, none = -1;
    struct embed_slot_ids slots[TABLES];
    for (int t = 0; t < TABLES; t++)
        slots[t] = (struct embed_slot_ids){.ids = t == SMALL ? &bad : &none, .rows = 1};
    CHECK_INT(lookup_prepare(a, slots, true, &err), RC_INVAL);
    CHECK_INT(err.code, E1402);
    CHECK_STR(err.msg, "feature 'small': row 0 of the batch: id 300 is outside table "
                       "'small' of 300 rows");
    lookup_destroy(a);
}

/* The batch has ids for the dynamic tables, which would be admitted, and a wrong one. */
static void a_batch_that_is_refused_changes_nothing(void)
{
    struct lookup *a = create(), *b = create();
    int64_t ids[BATCH], bad[BATCH];
    struct embed_slot_ids slots[TABLES];
    for (uint64_t step = 0; step < 3; step++) {
        train(a, step);
        train(b, step);
    }
    for (int i = 0; i < BATCH; i++) {
        ids[i] = 1000 + i;
        bad[i] = i == 31 ? 300 : i;
    }
    for (int t = 0; t < TABLES; t++)
        slots[t] = (struct embed_slot_ids){.ids = t == HALF ? bad : ids, .rows = BATCH};
    slots[SMALL].ids = bad + 32; /* in order */
    slots[SMALL].rows = BATCH - 32;
    CHECK_INT(lookup_prepare(a, slots, true, &err), RC_INVAL);
    CHECK_STR(err.msg, "feature 'half': row 31 of the batch: id 300 is outside table "
                       "'half' of 300 rows");
    check_same(a, b);
    train(a, 3); /* and the next batch follows */
    train(b, 3);
    check_same(a, b);
    lookup_destroy(a);
    lookup_destroy(b);
}

static void check_refused(int table, const struct lookup_image *image, const char *said)
{
    struct lookup *a = create(), *b = create();
    train(a, 0);
    train(b, 0);
    CHECK_INT(lookup_restore(a, table, image, &err), RC_FORMAT);
    CHECK_INT(err.code, E2306);
    CHECK_STR(err.msg, said);
    check_same(a, b); /* the table is as it was */
    lookup_destroy(a);
    lookup_destroy(b);
}

static void refuse_numbers(const struct lookup_image *image)
{
    static const int64_t again[] = {3, 3}, back[] = {7, 3}, below[] = {-1, 3},
                         beyond[] = {3, 1000000};
    static const struct {
        const int64_t *ids;
        const char *said;
    } lists[] = {{again, "1 of the image's rows is 3"},
                 {back, "1 of the image's rows is 3"},
                 {below, "0 of the image's rows is -1"},
                 {beyond, "1 of the image's rows is 1000000"}};
    struct lookup_image x = *image;
    char said[200];
    x.n = 2;
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        x.lists[LOOKUP_ROW_IDS] = (struct lookup_list){.data = lists[i].ids, .n = 2};
        snprintf(said, sizeof(said),
                 "table 'sparse': number %s: they must ascend and be below 1000000",
                 lists[i].said);
        check_refused(SPARSE, &x, said);
    }
    x.lists[LOOKUP_ROW_IDS].n = 1;
    check_refused(SPARSE, &x, "table 'sparse': the image has 2 rows, but 1 numbers");
}

static void images_of_other_tables_are_refused(void)
{
    struct lookup *a = create();
    struct lookup_snapshot *s[TABLES];
    train(a, 0);
    train(a, 0);
    for (int t = 0; t < TABLES; t++)
        CHECK(lookup_snapshot(a, t, false, &s[t], &err) == RC_OK);
    check_refused(
        SMALL, &s[GROWING]->image,
        "table 'small': the image has rows of ids, but the table numbers its rows");
    check_refused(ZCH, &s[SMALL]->image,
                  "table 'zch': the image has rows of numbers, but the table is dynamic");
    struct lookup_image x = s[SMALL]->image;
    x.has[0] = false;
    check_refused(SMALL, &x, "table 'small': the image has no weights");
    x = s[SMALL]->image;
    x.types[1] = DT_BF16;
    check_refused(SMALL, &x, "table 'small': the image has momentum1 as bf16, not f32");
    x = s[SMALL]->image;
    x.n = 299;
    check_refused(SMALL, &x, "table 'small': the image has 299 of 300 rows");
    x = s[GROWING]->image;
    x.n++;
    char said[200];
    snprintf(said, sizeof(said), "table 'growing': the image has %jd rows, but %jd ids",
             (intmax_t)x.n, (intmax_t)x.n - 1);
    check_refused(GROWING, &x, said);
    refuse_numbers(&s[SPARSE]->image);
    for (int t = 0; t < TABLES; t++)
        lookup_snapshot_release(s[t]);
    lookup_destroy(a);
}

static const struct tap_case cases[] = {
    TAP(an_image_restores_another_lookup),
    TAP(a_detached_image_does_not_follow_the_rows),
    TAP(a_whole_image_has_all_rows),
    TAP(an_id_is_peeked_as_an_evaluation_reads_it),
    TAP(a_mean_with_weights_may_have_the_gradient_of_a_sum),
    TAP(an_id_outside_its_table_is_named),
    TAP(a_batch_that_is_refused_changes_nothing),
    TAP(images_of_other_tables_are_refused),
};
TAP_MAIN(cases)
