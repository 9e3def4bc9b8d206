/* SPDX-License-Identifier: Apache-2.0 */
/* The same ids twice: once as they are, and once with offsets that say "one per row". The
 * former go the short way of plain.c, the latter are sorted; no byte may differ.
 */
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "embed/embed_private.h"
#include "opts.h"
#include "tap.h"

#define TABLES 9
#define SLOTS 11
#define STEPS 3
#define WIDTH 150
#define OUTPUTS 2

static const struct {
    int64_t rows, dim;
    enum dtype type;
    bool frozen;
} tables[TABLES] = {
    {.rows = 100000, .dim = 16},
    {.rows = 40, .dim = 1},
    {.rows = 700, .dim = 3},
    {.rows = 5000, .dim = 8},
    {.rows = 3, .dim = 32},
    {.rows = 2000, .dim = 17},
    {.rows = 90, .dim = 5, .type = DT_BF16},
    {.rows = 60000, .dim = 16, .type = DT_F16},
    {.rows = 500, .dim = 16, .frozen = true},
};

static const struct {
    int table, output;
    int64_t col;
    bool whole;
    float max_gradient;
    int like; /* the ids of that slot, by the same pointers; -1: its own */
} layout[SLOTS] = {
    {0, 0, 0, true, 0, -1},   {1, 0, 16, true, 0, -1},  {2, 0, 17, false, 0.1f, -1},
    {3, 0, 20, true, 0, -1},  {4, 0, 28, false, 0, -1}, {5, 0, 60, true, 0, -1},
    {6, 0, 77, false, 0, -1}, {7, 0, 82, true, 0, -1},  {8, 0, 98, true, 0, -1},
    {0, 1, 0, true, 0.2f, 0}, {0, 0, 114, true, 0, 0},
};

struct side {
    struct pool *pool;
    struct embed *e;
    struct view out[OUTPUTS];
};

struct world {
    struct side a, b; /* as they are, and with offsets */
    struct rng rng;
    int64_t rows;
    bool few; /* most lookups are those of a few slots, which are split */
    int64_t *ids[SLOTS], *offsets;
    struct view grad[OUTPUTS];
};

static struct embed_table_conf table_conf(int i, enum embed_row_opt_kind kind)
{
    static const char *const names[TABLES] = {"a", "b", "c", "d", "e",
                                              "f", "g", "h", "i"};
    return (struct embed_table_conf){.name = names[i],
                                     .rows = tables[i].rows,
                                     .dim = tables[i].dim,
                                     .type = tables[i].type,
                                     .a = -0.5,
                                     .b = 0.5,
                                     .trainable = !tables[i].frozen,
                                     .seed = 9,
                                     .opt = opt_of(kind)};
}

static struct view zero_view(int64_t rows)
{
    return view_of(mem_calloc((size_t)(rows * WIDTH), 4), rows, WIDTH);
}

static struct side make_side(int threads, int64_t rows, enum embed_row_opt_kind kind)
{
    struct side s = {0};
    CHECK(pool_create(threads, &s.pool, NULL) == RC_OK);
    s.e = embed_create(s.pool);
    for (int i = 0; i < TABLES; i++) {
        struct embed_table_conf conf = table_conf(i, kind);
        CHECK_INT(embed_add_table(s.e, &conf, NULL), i);
    }
    for (int i = 0; i < SLOTS; i++) {
        struct embed_slot_conf conf = {.feature = "f",
                                       .table = layout[i].table,
                                       .output = layout[i].output,
                                       .col = layout[i].col,
                                       .max_gradient = layout[i].max_gradient};
        CHECK_INT(embed_add_slot(s.e, &conf), i);
    }
    for (int i = 0; i < OUTPUTS; i++)
        s.out[i] = zero_view(rows);
    return s;
}

static void unmake_side(struct side *s)
{
    for (int i = 0; i < OUTPUTS; i++)
        mem_free(s->out[i].data);
    embed_destroy(s->e);
    pool_destroy(s->pool);
}

static struct world make(int threads, int64_t rows, enum embed_row_opt_kind kind)
{
    struct world w = {.rows = rows};
    rng_init(&w.rng, 4, 0, 0, 0);
    w.a = make_side(threads, rows, kind);
    w.b = make_side(1, rows, kind);
    w.offsets = mem_calloc((size_t)rows + 1, sizeof(*w.offsets));
    for (int64_t r = 0; r <= rows; r++)
        w.offsets[r] = r;
    for (int i = 0; i < SLOTS; i++)
        w.ids[i] = mem_calloc((size_t)rows, sizeof(**w.ids));
    for (int i = 0; i < OUTPUTS; i++)
        w.grad[i] = zero_view(rows);
    return w;
}

static void unmake(struct world *w)
{
    for (int i = 0; i < SLOTS; i++)
        mem_free(w->ids[i]);
    for (int i = 0; i < OUTPUTS; i++)
        mem_free(w->grad[i].data);
    mem_free(w->offsets);
    unmake_side(&w->a);
    unmake_side(&w->b);
}

/* Slots of odd tables have no rows when there are few. */
static bool is_empty(const struct world *w, int slot)
{
    return w->few && layout[slot].table % 2 == 1 && layout[slot].table != 7;
}

/* Half of the ids are one of a few, so that rows come up often; some are none. */
static void draw(struct world *w)
{
    for (int i = 0; i < SLOTS; i++)
        for (int64_t r = 0; r < w->rows; r++) {
            uint64_t rows = (uint64_t)tables[layout[i].table].rows;
            uint64_t few = rng_below(&w->rng, 2) && rows > 9 ? 9 : rows;
            bool none = !layout[i].whole && rng_below(&w->rng, 9) == 0;
            w->ids[i][r] = none ? -1 : (int64_t)(rows - 1 - rng_below(&w->rng, few));
        }
    for (int i = 0; i < OUTPUTS; i++)
        rng_fill_uniform(&w->rng, -1, 1, w->grad[i].data, (size_t)(w->rows * WIDTH));
}

static enum rc batch(const struct world *w, const struct side *s, bool training,
                     struct err *err)
{
    struct embed_slot_ids ids[SLOTS];
    for (int i = 0; i < SLOTS; i++) {
        int own = layout[i].like >= 0 ? layout[i].like : i;
        ids[i] = (struct embed_slot_ids){.ids = w->ids[own],
                                         .offsets = s == &w->b ? w->offsets : NULL,
                                         .rows = is_empty(w, own) ? 0 : w->rows};
    }
    return embed_batch(s->e, ids, training, err);
}

static bool same(const struct world *w)
{
    bool ok = true;
    for (int i = 0; i < OUTPUTS; i++)
        ok &= memcmp(w->a.out[i].data, w->b.out[i].data, (size_t)(w->rows * WIDTH) * 4) ==
              0;
    for (int i = 0; i < TABLES; i++) {
        const struct embed_table *a = embed_table_at(w->a.e, i),
                                 *b = embed_table_at(w->b.e, i);
        ok &= memcmp(a->data, b->data, embed_table_bytes(a)) == 0 &&
              memcmp(a->used, b->used, (size_t)(a->conf.rows + 63) / 64 * 8) == 0;
    }
    return ok;
}

/* A step on both sides; the second output has gradients if `both`. */
static void step(struct world *w, uint64_t t, bool both)
{
    struct view grads[OUTPUTS] = {w->grad[0], both ? w->grad[1] : (struct view){0}};
    const struct side *sides[] = {&w->a, &w->b};
    draw(w);
    for (int i = 0; i < 2; i++) {
        CHECK(batch(w, sides[i], true, NULL) == RC_OK);
        embed_forward(sides[i]->e, sides[i]->out);
        embed_backward(sides[i]->e, grads,
                       &(struct embed_row_step){.lr = 0.05, .step = t});
    }
    CHECK_INT((int64_t)w->a.e->plains.n, w->few ? (TABLES - 3) * SPLIT : TABLES);
    CHECK_INT((int64_t)w->b.e->plains.n, 0);
}

static void every_optimizer_gives_the_same_bytes(void)
{
    for (int i = 0; i < 2 * ROW_OPT_KINDS; i++) {
        int kind = i / 2;
        struct world w = make(2, i % 2 ? 200 : 1200, (enum embed_row_opt_kind)kind);
        w.few = i % 2 == 0;
        for (uint64_t t = 1; t <= STEPS; t++)
            step(&w, t, true);
        if (!same(&w))
            printf("# %s\n", embed_row_opt_name((enum embed_row_opt_kind)kind));
        CHECK(same(&w));
        unmake(&w);
    }
}

static void threads_do_not_change_a_byte(void)
{
    static const int threads[] = {1, 2, 5};
    for (int i = 0; i < 3; i++) {
        for (int few = 0; few < 2; few++) {
            struct world w = make(threads[i], few ? 5000 : 900, ROW_ADAGRAD);
            w.few = few;
            for (uint64_t t = 1; t <= STEPS; t++)
                step(&w, t, true);
            CHECK(same(&w));
            unmake(&w);
        }
    }
}

static void an_output_without_gradients_changes_nothing(void)
{
    struct world w = make(2, 100, ROW_ADAGRAD);
    step(&w, 1, false);
    CHECK(same(&w));
    struct view none[OUTPUTS] = {0};
    embed_backward(w.a.e, none, &(struct embed_row_step){.lr = 0.05, .step = 2});
    CHECK(same(&w));
    unmake(&w);
}

/* Rows of the batch that are all one, and a batch of one row. */
static void small_and_uniform_batches_are_the_same(void)
{
    static const int64_t sizes[] = {1, 2, 33};
    for (int i = 0; i < 3; i++) {
        struct world w = make(2, sizes[i], ROW_ADAM);
        step(&w, 1, true);
        CHECK(same(&w));
        for (int k = 0; k < SLOTS; k++)
            for (int64_t r = 0; r < w.rows; r++)
                w.ids[k][r] = k == 2 ? -1 : tables[layout[k].table].rows - 1;
        CHECK(batch(&w, &w.a, true, NULL) == RC_OK);
        CHECK(batch(&w, &w.b, true, NULL) == RC_OK);
        embed_forward(w.a.e, w.a.out);
        embed_forward(w.b.e, w.b.out);
        embed_backward(w.a.e, w.grad, &(struct embed_row_step){.lr = 0.1, .step = 2});
        embed_backward(w.b.e, w.grad, &(struct embed_row_step){.lr = 0.1, .step = 2});
        CHECK(same(&w));
        unmake(&w);
    }
}

static void outside_training_nothing_is_used(void)
{
    struct world w = make(2, 300, ROW_ADAGRAD);
    step(&w, 1, true);
    draw(&w);
    struct embed_table *t = embed_table_at(w.a.e, 0);
    int64_t unused = 0;
    for (int64_t r = 0; r < w.rows; r++)
        unused += !embed_table_used(t, w.ids[0][r]);
    CHECK(unused > 0);
    CHECK(batch(&w, &w.a, false, NULL) == RC_OK);
    CHECK(batch(&w, &w.b, false, NULL) == RC_OK);
    embed_forward(w.a.e, w.a.out);
    embed_forward(w.b.e, w.b.out);
    CHECK(same(&w));
    for (int64_t r = 0; r < w.rows; r++)
        unused -= !embed_table_used(t, w.ids[0][r]);
    CHECK_INT(unused, 0);
    unmake(&w);
}

/* The first in the order of slots and rows, whichever way they go; nothing is filled. */
static void ids_outside_are_named(void)
{
    for (int i = 0; i < 8; i++) {
        struct world w = make(2, i & 4 ? 6000 : 50, ROW_ADAGRAD);
        const struct side *side = i & 1 ? &w.a : &w.b;
        struct err err = {0};
        w.few = i & 4;
        draw(&w);
        w.ids[6][4] = INT64_MAX;
        w.ids[2][w.rows - 5] = 700;
        w.ids[2][w.rows - 2] = 701;
        CHECK(batch(&w, side, i & 2, &err) == RC_INVAL);
        CHECK_STR(err.msg,
                  w.few ? "feature 'f': row 5995 of the batch: id 700 is outside table "
                          "'c' of 700 rows"
                        : "feature 'f': row 45 of the batch: id 700 is outside table "
                          "'c' of 700 rows");
        for (int64_t r = 0; r < w.rows; r++)
            CHECK(!embed_table_used(embed_table_at(side->e, 0), w.ids[0][r]));
        unmake(&w);
    }
}

/* Two features of one table are sorted; slots that are long against the batch are split,
 * and those whose sums would not fit the cache, unless even a part would not.
 */
static void slots_go_the_way_that_fits(void)
{
    static const struct {
        int64_t rows[3];
        int64_t dim;
        bool shared;
        size_t plains;
    } try[] = {{{500, 500, 500}, 16, false, 3},
               {{500, 500, 500}, 16, true, 1},
               {{500, 500, 3000}, 16, false, 2 + SPLIT},
               {{4000, 4000, 4000}, 1024, false, 3 * SPLIT},
               {{5000, 5000, 1}, 1024, false, 1}};
    for (int i = 0; i < 5; i++) {
        struct embed *e = embed_create(NULL);
        struct embed_slot_ids ids[3];
        int64_t *zeros = mem_calloc(5000, sizeof(*zeros));
        for (int k = 0; k < 3; k++) {
            struct embed_table_conf conf =
                table_conf(try[i].shared && k ? 1 : k, ROW_SGD);
            char feature[] = {(char)('x' + k), 0};
            conf.rows = 5000;
            conf.dim = try[i].dim;
            embed_add_slot(
                e, &(struct embed_slot_conf){.feature = feature,
                                             .table = embed_add_table(e, &conf, NULL)});
            ids[k] = (struct embed_slot_ids){.ids = zeros, .rows = try[i].rows[k]};
        }
        CHECK(embed_batch(e, ids, true, NULL) == RC_OK);
        CHECK_INT((int64_t)e->plains.n, (int64_t)try[i].plains);
        embed_destroy(e);
        mem_free(zeros);
    }
}

/* More ids than the table has rows: each part of the slot has its room all the same. */
static void parts_of_a_split_slot_have_room(void)
{
    enum { ROWS = 10000, IDS = 20000 };
    struct embed *e = embed_create(NULL);
    struct embed_table_conf conf = table_conf(0, ROW_SGD);
    int64_t *ids = mem_calloc(IDS, sizeof(*ids));
    conf.rows = ROWS;
    embed_add_slot(e, &(struct embed_slot_conf){
                          .feature = "x", .table = embed_add_table(e, &conf, NULL)});
    for (int64_t i = 0; i < IDS; i++)
        ids[i] = i % ROWS;
    CHECK(embed_batch(e, &(struct embed_slot_ids){.ids = ids, .rows = IDS}, true, NULL) ==
          RC_OK);
    CHECK_INT((int64_t)e->plains.n, SPLIT);
    for (size_t i = 0; i < e->plains.n; i++) {
        const struct embed_plain *p = &e->plains.at[i];
        CHECK(p->n_distinct == p->n / 2);
        CHECK(p->distinct + p->n + 1 <= e->numbers + e->numbers_room);
    }
    embed_destroy(e);
    mem_free(ids);
}

static void a_step_allocates_nothing(void)
{
    for (int few = 0; few < 2; few++) {
        struct world w = make(2, 1100, ROW_ADAGRAD);
        w.few = few;
        step(&w, 1, true);
        step(&w, 2, true);
        int64_t before = mem_total();
        step(&w, 3, true);
        CHECK_INT(mem_total() - before, 0);
        unmake(&w);
    }
}

static void lack_of_memory_is_told(void)
{
    for (int few = 0; few < 2; few++) {
        int64_t failed = 0;
        for (enum rc rc = RC_NOMEM; rc && failed < 100;) {
            struct world w = make(3, few ? 1100 : 100, ROW_ADAGRAD);
            struct err err = {0};
            w.few = few;
            draw(&w);
            mem_fail_at(failed + 1);
            rc = batch(&w, &w.a, true, &err);
            mem_fail_at(0);
            if (rc) {
                failed++;
                CHECK(rc == RC_NOMEM);
                CHECK_STR(err.msg, few ? "no memory for 6600 lookups"
                                       : "no memory for 900 lookups");
                step(&w, 1, true); /* the next batch goes on as if nothing had been */
                CHECK(same(&w));
            }
            unmake(&w);
        }
        CHECK(failed > 6 && failed < 20);
    }
}

static const struct tap_case cases[] = {
    TAP(every_optimizer_gives_the_same_bytes),
    TAP(threads_do_not_change_a_byte),
    TAP(an_output_without_gradients_changes_nothing),
    TAP(small_and_uniform_batches_are_the_same),
    TAP(outside_training_nothing_is_used),
    TAP(ids_outside_are_named),
    TAP(slots_go_the_way_that_fits),
    TAP(parts_of_a_split_slot_have_room),
    TAP(a_step_allocates_nothing),
    TAP(lack_of_memory_is_told),
};
TAP_MAIN(cases)
