/* SPDX-License-Identifier: Apache-2.0 */
/* The forms of tables in a checkpoint: used rows alone, ids, halves. */
#include "ckpt/state.h"
#include "embed/embed.h"

#include "base/fs.h"
#include "base/mem.h"
#include "base/rng.h"
#include "tap.h"

#define DIM 6
#define ROWS 100000
#define BATCH 40

static struct err err;
static char *dir;

enum which { PLAIN, HALF, ZCH, GROWING, TABLES };

static struct embed_table_conf conf_of(enum which which, int64_t rows, uint64_t seed)
{
    static const char *const names[] = {"plain", "half", "zch", "growing"};
    static const enum embed_keyed_kind kinds[] = {KEYED_NONE, KEYED_NONE, KEYED_ZCH,
                                                  KEYED_GROWING};
    struct embed_table_conf c = {.name = names[which],
                                 .rows = rows,
                                 .dim = DIM,
                                 .type = which == HALF ? DT_BF16 : DT_F32,
                                 .init = which == HALF ? EMBED_TRUNCATED : EMBED_UNIFORM,
                                 .a = -0.3,
                                 .b = 0.7,
                                 .lo = -0.5,
                                 .hi = 0.5,
                                 .trainable = true,
                                 .seed = seed,
                                 .opt = {.kind = ROW_ADAGRAD, .eps = 1e-8},
                                 .keyed = {.kind = kinds[which],
                                           .capacity = 60,
                                           .worth = WORTH_COUNT,
                                           .decay = 1,
                                           .interval = 3,
                                           .bucket = 16,
                                           .admit = which == GROWING ? 2 : 0,
                                           .counters = 200,
                                           .counter_bucket = 32}};
    if (kinds[which])
        c.rows = embed_keyed_rows(&c.keyed);
    return c;
}

static struct embed *local_embed(int64_t rows, uint64_t seed)
{
    struct embed *e = embed_create(NULL);
    for (enum which i = PLAIN; i < TABLES; i++) {
        struct embed_table_conf c = conf_of(i, rows, seed);
        struct embed_slot_conf s = {.feature = "f", .table = (int)i, .col = i * DIM};
        CHECK(embed_add_table(e, &c, &err) == (int)i);
        embed_add_slot(e, &s);
    }
    return e;
}

/* Steps [from, to): what happens in a step follows from its number. */
static void train(struct embed *e, uint64_t from, uint64_t to)
{
    int64_t ids[BATCH];
    float out[BATCH * DIM * TABLES], grad[BATCH * DIM * TABLES];
    struct view view = view_of(out, BATCH, DIM * TABLES),
                grads = view_of(grad, BATCH, DIM * TABLES);
    struct embed_slot_ids slots[TABLES];
    for (uint64_t step = from; step < to; step++) {
        struct rng r;
        rng_init(&r, 1, 2, step, 3);
        for (int i = 0; i < BATCH; i++)
            ids[i] = (int64_t)rng_below(&r, 50 + rng_below(&r, 100) * (step % 7));
        for (int i = 0; i < TABLES; i++)
            slots[i] = (struct embed_slot_ids){.ids = ids, .rows = BATCH};
        CHECK(embed_batch(e, slots, true, &err) == RC_OK);
        embed_forward(e, &view);
        rng_fill_normal(&r, 0, 1, grad, BATCH * DIM * TABLES);
        embed_backward(e, &grads, &(struct embed_row_step){.lr = 0.05, .step = step + 1});
    }
}

static void save(struct embed *e, bool detached)
{
    struct ckpt_writer *w = ckpt_writer_open(dir, &(struct ckpt_writer_conf){.step = 1});
    ckpt_add_state(w, &(struct ckpt_state){.lookup = embed_lookup(e)});
    if (detached)
        CHECK(ckpt_detach(w, &err) == RC_OK);
    CHECK(ckpt_commit(w, &err) == RC_OK);
}

static enum rc load(struct embed *e, const struct ckpt_load *how, struct ckpt_report *r)
{
    struct ckpt *c = NULL;
    err = (struct err){0};
    CHECK(ckpt_open(dir, 0, &c, NULL, &err) == RC_OK);
    enum rc rc =
        ckpt_load_state(c, &(struct ckpt_state){.lookup = embed_lookup(e)}, how, r, &err);
    ckpt_close(c);
    return rc;
}

/* Every row as it reads, the ids, and what decides about them. */
static bool same(const struct embed *a, const struct embed *b)
{
    for (int i = 0; i < TABLES; i++) {
        const struct embed_table *x = embed_table_at(a, i), *y = embed_table_at(b, i);
        for (int64_t row = 0; row < x->conf.rows; row++) {
            float v[DIM], w[DIM];
            bool used = embed_table_used(x, row);
            if (!x->keyed && used != embed_table_used(y, row))
                return false;
            used ? embed_table_load(x, row, v) : embed_table_initial(x, row, v);
            embed_table_used(y, row) ? embed_table_load(y, row, w)
                                     : embed_table_initial(y, row, w);
            if (memcmp(v, w, sizeof(v)) != 0 ||
                (used && x->keyed && row < x->keyed->conf.capacity &&
                 memcmp(embed_table_state(x, row), embed_table_state(y, row),
                        sizeof(v)) != 0))
                return false;
        }
        const struct embed_keyed *k = x->keyed, *l = y->keyed;
        size_t n = k ? (size_t)k->ids.n * 8 : 0;
        if (k &&
            (k->ids.n != l->ids.n || k->now != l->now || k->history.n != l->history.n ||
             k->waiting.n != l->waiting.n || memcmp(k->ids.keys, l->ids.keys, n) != 0 ||
             memcmp(k->ids.counts, l->ids.counts, n) != 0 ||
             memcmp(k->ids.last, l->ids.last, n) != 0))
            return false;
    }
    return true;
}

static void begin(void)
{
    CHECK(fs_temp_dir("ty-test", &dir, &err) == RC_OK);
}

static void end(void)
{
    CHECK(fs_remove_all(dir, &err) == RC_OK);
    mem_free(dir);
}

static void training_goes_on_exactly(void)
{
    int64_t live = mem_live();
    begin();
    struct embed *whole = local_embed(ROWS, 1), *first = local_embed(ROWS, 1);
    train(whole, 0, 40);
    train(first, 0, 23);
    CHECK(embed_table_at(first, ZCH)->keyed->history.n > 0);
    CHECK(embed_table_at(first, GROWING)->keyed->waiting.n > 0);
    for (int detached = 0; detached < 2; detached++) {
        struct ckpt_report r = {0};
        struct embed *second = local_embed(ROWS, 1);
        train(second, 0, 5); /* what was there before does not count */
        save(first, detached);
        CHECK(load(second, &(struct ckpt_load){0}, &r) == RC_OK);
        CHECK_STR(err.msg, "");
        CHECK_INT(r.diffs.n, 0);
        CHECK(same(first, second));
        train(second, 23, 40);
        CHECK(same(whole, second));
        ckpt_report_release(&r);
        embed_destroy(second);
    }
    embed_destroy(whole);
    embed_destroy(first);
    end();
    CHECK_INT(mem_live(), live);
}

static int64_t size_of(const struct ckpt *c, const char *name)
{
    const struct ckpt_st_tensor *t = ckpt_find(c, name);
    return t ? t->bytes : -1;
}

static void unused_rows_are_left_out(void)
{
    struct ckpt *c = NULL;
    begin();
    struct embed *e = local_embed(ROWS, 1);
    train(e, 0, 1);
    save(e, true);
    CHECK(ckpt_open(dir, 0, &c, NULL, &err) == RC_OK);
    const struct ckpt_st_tensor *ids = ckpt_find(c, "embedding.plain.weight.row_ids");
    CHECK(ids && ids->type == ST_I64 && ids->dims[0] > 10 && ids->dims[0] <= BATCH);
    int64_t n = ids->dims[0];
    CHECK_INT(size_of(c, "embedding.plain.weight.rows"), n * DIM * 4);
    CHECK_INT(size_of(c, "optimizer.embedding.plain.weight.momentum1.rows"), n * DIM * 4);
    CHECK_INT(size_of(c, "embedding.half.weight.rows"), n * DIM * 2);
    CHECK(!ckpt_find(c, "embedding.plain.weight"));
    CHECK(!ckpt_find(c, "embedding.plain.weight.used"));
    CHECK_INT(size_of(c, "embedding.zch.weight.keys"), 0); /* before the first round */
    CHECK_INT(size_of(c, "embedding.zch.weight.rows"), DIM * 4);
    ckpt_close(c);
    embed_destroy(e);
    end();
}

/* The rows that were left out had values too, those of another seed. */
static void another_seed_keeps_the_values_of_all_rows(void)
{
    struct ckpt_report r = {0};
    begin();
    struct embed *a = local_embed(ROWS, 1), *b = local_embed(ROWS + 5, 2);
    train(a, 0, 3);
    save(a, false);
    CHECK(load(b, &(struct ckpt_load){.partial = true}, &r) == RC_OK);
    CHECK_STR(err.msg, "");
    bool good = true;
    for (int i = PLAIN; i <= HALF; i++) {
        const struct embed_table *x = embed_table_at(a, i), *y = embed_table_at(b, i);
        for (int64_t row = 0; row < ROWS; row++) {
            float v[DIM], w[DIM];
            embed_table_used(x, row) ? embed_table_load(x, row, v)
                                     : embed_table_initial(x, row, v);
            good = good && embed_table_used(y, row);
            embed_table_load(y, row, w);
            good = good && memcmp(v, w, sizeof(v)) == 0;
        }
        CHECK(!embed_table_used(y, ROWS) && !embed_table_used(y, ROWS + 4));
    }
    CHECK(good);
    ckpt_report_release(&r);
    embed_destroy(a);
    embed_destroy(b);
    end();
}

static void other_rows_are_no_resume(void)
{
    struct ckpt_report r = {0};
    begin();
    struct embed *a = local_embed(ROWS, 1), *b = local_embed(ROWS + 1, 1);
    train(a, 0, 3);
    save(a, false);
    CHECK(load(b, &(struct ckpt_load){0}, &r) == RC_INVAL);
    CHECK_HAS(err.msg, "'embedding.plain.weight' has another number of rows");
    CHECK(!embed_table_used(embed_table_at(b, PLAIN), 0));
    ckpt_report_release(&r);
    embed_destroy(a);
    embed_destroy(b);
    end();
}

/* Fine-tuning takes ids with their vectors, as many as there is room for. */
static void ids_move_to_a_smaller_table(void)
{
    struct ckpt_report r = {0};
    begin();
    struct embed *a = local_embed(ROWS, 1), *b = embed_create(NULL);
    struct embed_table_conf c = conf_of(ZCH, ROWS, 9);
    c.keyed.capacity = 20;
    c.rows = embed_keyed_rows(&c.keyed);
    CHECK_INT(embed_add_table(b, &c, &err), 0);
    train(a, 0, 9);
    save(a, true);
    CHECK(load(b, &(struct ckpt_load){0}, &r) == RC_INVAL);
    CHECK_HAS(err.msg, "'embedding.zch.weight' follows another zch or dynamicemb block");
    ckpt_report_release(&r);
    struct ckpt_load how = {.partial = true, .no_optimizer = true};
    CHECK(load(b, &how, &r) == RC_OK);
    const struct embed_table *x = embed_table_at(a, ZCH), *y = embed_table_at(b, 0);
    CHECK(x->keyed->ids.n > 20 && y->keyed->ids.n == 20);
    bool good = true;
    for (int64_t i = 0; i < 20; i++) {
        float v[DIM], w[DIM];
        int64_t from = embed_keyed_find(x->keyed, y->keyed->ids.keys[i]);
        embed_table_used(x, from) ? embed_table_load(x, from, v)
                                  : embed_table_initial(x, from, v);
        embed_table_load(y, i, w);
        good = good && memcmp(v, w, sizeof(v)) == 0;
    }
    CHECK(good);
    CHECK(memcmp(embed_table_row(x, 60), embed_table_row(y, 20), DIM * sizeof(float)) ==
          0);
    ckpt_report_release(&r);
    embed_destroy(a);
    embed_destroy(b);
    end();
}

static bool same_touched(const struct embed *a, const struct embed *b, int64_t *total)
{
    bool good = true;
    *total = 0;
    for (int i = 0; i < TABLES; i++) {
        int64_t *x = NULL, *y = NULL, n = 0, m = 0;
        CHECK(embed_touched_list(embed_table_at(a, i)->touched, &x, &n, &err) == RC_OK);
        CHECK(embed_touched_list(embed_table_at(b, i)->touched, &y, &m, &err) == RC_OK);
        good = good && n == m && memcmp(x, y, (size_t)n * sizeof(*x)) == 0;
        *total += m;
        mem_free(x);
        mem_free(y);
    }
    return good;
}

/* Ids that wait for a dump are part of a run that goes on, and of nothing else. */
static void ids_that_were_touched_come_back(void)
{
    begin();
    struct embed *a = local_embed(ROWS, 1), *b = local_embed(ROWS, 1),
                 *c = local_embed(ROWS, 1);
    struct ckpt_report r = {0};
    int64_t n;
    CHECK(embed_track(a, &err) == RC_OK && embed_track(b, &err) == RC_OK);
    train(a, 0, 10);
    for (int i = 0; i < TABLES; i++)
        embed_touched_clear(embed_table_at(a, i)->touched);
    train(a, 10, 13);
    train(b, 0, 1); /* what it holds goes */
    save(a, true);
    CHECK(load(b, &(struct ckpt_load){0}, &r) == RC_OK);
    CHECK(same_touched(a, b, &n) && n > 4);
    ckpt_report_release(&r);
    r = (struct ckpt_report){0};
    CHECK(load(c, &(struct ckpt_load){0}, &r) == RC_OK); /* nobody asks */
    CHECK(!embed_table_at(c, PLAIN)->touched && same(a, c));
    ckpt_report_release(&r);
    r = (struct ckpt_report){0};
    CHECK(load(b, &(struct ckpt_load){.partial = true}, &r) == RC_OK); /* another run */
    CHECK(!same_touched(a, b, &n) && n == 0);
    ckpt_report_release(&r);
    embed_destroy(a);
    embed_destroy(b);
    embed_destroy(c);
    end();
}

static void touched_ids_that_cannot_be_are_refused(void)
{
    static const int64_t bad[][2] = {{5, 5}, {-1, 4}, {3, ROWS}};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        begin();
        struct embed *a = local_embed(ROWS, 1), *b = local_embed(ROWS, 1);
        struct ckpt_report r = {0};
        train(a, 0, 3);
        struct ckpt_writer *w =
            ckpt_writer_open(dir, &(struct ckpt_writer_conf){.step = 1});
        ckpt_add_state(w, &(struct ckpt_state){.lookup = embed_lookup(a)});
        ckpt_add_i64(w, CKPT_STATE, "embedding.plain.weight.touched", bad[i], 2);
        CHECK(ckpt_commit(w, &err) == RC_OK);
        CHECK(embed_track(b, &err) == RC_OK);
        CHECK(load(b, &(struct ckpt_load){0}, &r) == RC_INVAL);
        CHECK_HAS(err.msg, "'embedding.plain.weight' has touched ids out of order");
        ckpt_report_release(&r);
        embed_destroy(a);
        embed_destroy(b);
        end();
    }
}

static const struct tap_case cases[] = {
    TAP(training_goes_on_exactly),
    TAP(unused_rows_are_left_out),
    TAP(another_seed_keeps_the_values_of_all_rows),
    TAP(other_rows_are_no_resume),
    TAP(ids_move_to_a_smaller_table),
    TAP(ids_that_were_touched_come_back),
    TAP(touched_ids_that_cannot_be_are_refused),
};
TAP_MAIN(cases)
