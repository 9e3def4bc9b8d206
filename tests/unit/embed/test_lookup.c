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
        CHECK_INT(lookup_add_slot(l, &slot), i);
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

static const struct tap_case cases[] = {
    TAP(an_image_restores_another_lookup), TAP(a_detached_image_does_not_follow_the_rows),
    TAP(a_whole_image_has_all_rows),       TAP(an_id_is_peeked_as_an_evaluation_reads_it),
    TAP(an_id_outside_its_table_is_named),
};
TAP_MAIN(cases)
