/* SPDX-License-Identifier: Apache-2.0 */
/* Lookups and updates against plain loops over the same ids. */
#include "embed/embed.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/rng.h"
#include "opts.h"
#include "tap.h"

#define TABLES 5
#define SLOTS 9
#define STEPS 4
#define WIDTH0 55
#define WIDTH1 9

static const struct {
    int table, output;
    int64_t col;
    enum embed_pooling pooling;
    bool multi, weighted, sequence, whole;
    float max_gradient;
    int like; /* the ids of that slot, by the same pointers; 0: its own */
} layout[SLOTS] = {
    {.table = 0, .output = 0, .col = 0},
    {.table = 1, .output = 0, .col = 3, .pooling = EMBED_MEAN, .multi = true},
    {.table = 1, .output = 0, .col = 8, .multi = true, .weighted = true},
    {.table = 0, .output = 1, .col = 1, .sequence = true},
    {.table = 2, .output = 0, .col = 13, .max_gradient = 0.1f},
    {.table = 3, .output = 0, .col = 30, .whole = true},
    {.table = 4, .output = 0, .col = 46, .whole = true},
    {.table = 1, .output = 0, .col = 47, .multi = true, .weighted = true, .like = 2},
    {.table = 1, .output = 1, .col = 4, .multi = true, .weighted = true, .like = 2},
};
static const int64_t table_rows[TABLES] = {50, 7, 100000, 900, 20},
                     table_dims[TABLES] = {3, 5, 17, 16, 1};

struct world {
    struct embed *e;
    struct pool *pool;
    struct rng rng;
    int64_t rows, positions;
    int64_t *ids[SLOTS], *offsets[SLOTS];
    float *weights[SLOTS];
    struct view out[2], grad[2];
};

static struct embed_table_conf table_conf(int i, enum embed_row_opt_kind kind)
{
    static const char *const names[TABLES] = {"a_emb", "b_emb", "c_emb", "d_emb",
                                              "e_emb"};
    return (struct embed_table_conf){.name = names[i],
                                     .rows = table_rows[i],
                                     .dim = table_dims[i],
                                     .a = -0.5,
                                     .b = 0.5,
                                     .trainable = true,
                                     .seed = 9,
                                     .opt = opt_of(kind)};
}

static struct view zero_view(int64_t rows, int64_t width)
{
    return view_of(mem_calloc((size_t)(rows * width), 4), rows, width);
}

static void make_slots(struct world *w)
{
    for (int i = 0; i < SLOTS; i++) {
        struct embed_slot_conf conf = {.feature = "f",
                                       .table = layout[i].table,
                                       .pooling = layout[i].pooling,
                                       .output = layout[i].output,
                                       .col = layout[i].col,
                                       .max_gradient = layout[i].max_gradient};
        CHECK_INT(embed_add_slot(w->e, &conf), i);
        w->ids[i] = mem_calloc((size_t)w->rows * 8, sizeof(int64_t));
        w->offsets[i] = mem_calloc((size_t)w->rows * 2 + 1, sizeof(int64_t));
        w->weights[i] = mem_calloc((size_t)w->rows * 8, sizeof(float));
    }
}

static struct world make(int threads, int64_t rows, enum embed_row_opt_kind kind)
{
    struct world w = {.rows = rows, .positions = rows * 2};
    CHECK(pool_create(threads, &w.pool, NULL) == RC_OK);
    rng_init(&w.rng, 4, 0, 0, 0);
    w.e = embed_create(w.pool);
    for (int i = 0; i < TABLES; i++) {
        struct embed_table_conf conf = table_conf(i, kind);
        CHECK_INT(embed_add_table(w.e, &conf, NULL), i);
    }
    make_slots(&w);
    w.out[0] = zero_view(rows, WIDTH0);
    w.out[1] = zero_view(w.positions, WIDTH1);
    w.grad[0] = zero_view(rows, WIDTH0);
    w.grad[1] = zero_view(w.positions, WIDTH1);
    return w;
}

static void unmake(struct world *w)
{
    for (int i = 0; i < SLOTS; i++) {
        mem_free(w->ids[i]);
        mem_free(w->offsets[i]);
        mem_free(w->weights[i]);
    }
    for (int i = 0; i < 2; i++) {
        mem_free(w->out[i].data);
        mem_free(w->grad[i].data);
    }
    embed_destroy(w->e);
    pool_destroy(w->pool);
}

/* Random ids, some missing, some repeated; random gradients. */
static void draw(struct world *w, struct embed_slot_ids *ids)
{
    for (int i = 0; i < SLOTS; i++) {
        int64_t rows = layout[i].sequence ? w->positions : w->rows, n = 0;
        for (int64_t r = 0; r < rows; r++) {
            int64_t k = layout[i].multi ? (int64_t)rng_below(&w->rng, 5) : 1;
            w->offsets[i][r] = n;
            for (; k > 0; k--, n++) {
                uint64_t id = rng_below(&w->rng, (uint64_t)table_rows[layout[i].table]);
                bool none = !layout[i].whole && rng_below(&w->rng, 9) == 0;
                w->ids[i][n] = none ? -1 : (int64_t)id;
                w->weights[i][n] = rng_f32(&w->rng);
            }
        }
        w->offsets[i][rows] = n;
        ids[i] =
            (struct embed_slot_ids){.ids = w->ids[i],
                                    .offsets = layout[i].multi ? w->offsets[i] : NULL,
                                    .weights = layout[i].weighted ? w->weights[i] : NULL,
                                    .rows = rows};
        if (layout[i].like)
            ids[i] = ids[layout[i].like];
    }
    for (int i = 0; i < 2; i++)
        rng_fill_uniform(&w->rng, -1, 1, w->grad[i].data,
                         (size_t)(w->grad[i].rows * w->grad[i].width));
}

/* The plain version: tables as arrays. */
struct embed_plain {
    float *rows[TABLES];
    int64_t stride[TABLES];
};

static struct embed_plain plain_make(enum embed_row_opt_kind kind)
{
    struct embed_plain p;
    for (int t = 0; t < TABLES; t++) {
        struct embed_table_conf conf = table_conf(t, kind);
        struct embed_table *model = NULL;
        CHECK(embed_table_create(&conf, &model, NULL) == RC_OK);
        p.stride[t] = model->stride;
        p.rows[t] = mem_calloc((size_t)(conf.rows * model->stride), sizeof(float));
        for (int64_t r = 0; r < conf.rows; r++) {
            float *w = p.rows[t] + r * model->stride;
            embed_table_initial(model, r, w);
            embed_row_opt_init(&conf.opt, w + conf.dim, conf.dim);
        }
        embed_table_destroy(model);
    }
    return p;
}

static void plain_free(struct embed_plain *p)
{
    for (int t = 0; t < TABLES; t++)
        mem_free(p->rows[t]);
}

/* Calls fn for every id that counts, in the order of the batch. */
typedef void each_fn(void *arg, int slot, int64_t row, int64_t id, float scale);

static void each(const struct embed_slot_ids *ids, int s, each_fn *fn, void *arg)
{
    for (int64_t r = 0; r < ids->rows; r++) {
        int64_t from = ids->offsets ? ids->offsets[r] : r, n = 0;
        int64_t to = ids->offsets ? ids->offsets[r + 1] : r + 1;
        for (int64_t k = from; k < to; k++)
            n += ids->ids[k] >= 0;
        for (int64_t k = from; k < to; k++) {
            float w = ids->weights ? ids->weights[k] : 1.0f;
            if (layout[s].pooling == EMBED_MEAN && n > 1)
                w /= (float)n;
            if (ids->ids[k] >= 0)
                fn(arg, s, r, ids->ids[k], w);
        }
    }
}

struct totals {
    const struct embed_plain *p;
    const struct view *views;
    struct view want[2];
    float *sums[TABLES];
    bool *seen[TABLES];
};

static void add_lookup(void *arg, int s, int64_t row, int64_t id, float scale)
{
    const struct totals *a = arg;
    int t = layout[s].table;
    for (int64_t d = 0; d < table_dims[t]; d++)
        view_row(&a->want[layout[s].output], row)[layout[s].col + d] +=
            scale * a->p->rows[t][id * a->p->stride[t] + d];
}

static void plain_forward_check(const struct embed_plain *p,
                                const struct embed_slot_ids *ids, const struct view *out)
{
    struct totals a = {.p = p};
    double worst = 0;
    for (int i = 0; i < 2; i++)
        a.want[i] = zero_view(out[i].rows, out[i].width);
    for (int s = 0; s < SLOTS; s++)
        each(&ids[s], s, add_lookup, &a);
    for (int i = 0; i < 2; i++) {
        for (int64_t k = 0; k < out[i].rows * out[i].width; k++)
            worst = fmax(worst, fabs((double)(out[i].data[k] - a.want[i].data[k])));
        mem_free(a.want[i].data);
    }
    CHECK(worst < 1e-5);
}

static void add_gradient(void *arg, int s, int64_t row, int64_t id, float scale)
{
    const struct totals *a = arg;
    int t = layout[s].table;
    float most = layout[s].max_gradient;
    a->seen[t][id] = true;
    for (int64_t d = 0; d < table_dims[t]; d++) {
        float g = view_row(&a->views[layout[s].output], row)[layout[s].col + d];
        if (most > 0)
            g = fminf(fmaxf(g, -most), most);
        a->sums[t][id * table_dims[t] + d] += scale * g;
    }
}

static void embed_plain_update(struct embed_plain *p, const struct embed_slot_ids *ids,
                               const struct view *grad, enum embed_row_opt_kind kind,
                               const struct embed_row_step *step)
{
    struct totals a = {.p = p, .views = grad};
    for (int t = 0; t < TABLES; t++) {
        a.sums[t] = mem_calloc((size_t)(table_rows[t] * table_dims[t]), sizeof(float));
        a.seen[t] = mem_calloc((size_t)table_rows[t], sizeof(bool));
    }
    for (int s = 0; s < SLOTS; s++)
        each(&ids[s], s, add_gradient, &a);
    for (int t = 0; t < TABLES; t++) {
        struct embed_table_conf conf = table_conf(t, kind);
        struct embed_row_rule rule = embed_row_rule_at(&conf.opt, step);
        int64_t dim = conf.dim;
        for (int64_t id = 0; id < conf.rows; id++) {
            float *w = p->rows[t] + id * p->stride[t];
            if (a.seen[t][id])
                embed_row_rule_apply(&rule, w, w + dim, a.sums[t] + id * dim, dim);
        }
        mem_free(a.sums[t]);
        mem_free(a.seen[t]);
    }
}

/* Of what is expected, or of 1 where that is less: sums run in another order. */
static double worst_difference(const struct world *w, const struct embed_plain *p)
{
    double worst = 0;
    for (int t = 0; t < TABLES; t++) {
        const struct embed_table *table = embed_table_at(w->e, t);
        for (int64_t r = 0; r < table_rows[t]; r++)
            for (int64_t d = 0; embed_table_used(table, r) && d < table->stride; d++) {
                double want = (double)p->rows[t][r * p->stride[t] + d];
                double got = (double)embed_table_row(table, r)[d];
                worst = fmax(worst, fabs(got - want) / fmax(1.0, fabs(want)));
            }
    }
    return worst;
}

static void equals_plain_loops(void)
{
    for (int kind = 0; kind < ROW_OPT_KINDS; kind++) {
        struct world w = make(2, 61, (enum embed_row_opt_kind)kind);
        struct embed_plain p = plain_make((enum embed_row_opt_kind)kind);
        struct embed_slot_ids ids[SLOTS];
        for (uint64_t step = 1; step <= STEPS; step++) {
            struct embed_row_step s = {.lr = 0.05, .step = step};
            draw(&w, ids);
            CHECK(embed_batch(w.e, ids, true, NULL) == RC_OK);
            embed_forward(w.e, w.out);
            plain_forward_check(&p, ids, w.out);
            embed_backward(w.e, w.grad, &s);
            embed_plain_update(&p, ids, w.grad, (enum embed_row_opt_kind)kind, &s);
        }
        double worst = worst_difference(&w, &p);
        if (worst >= 1e-5)
            printf("# %s: %g\n", embed_row_opt_name((enum embed_row_opt_kind)kind),
                   worst);
        CHECK(worst < 1e-5);
        plain_free(&p);
        unmake(&w);
    }
}

static uint64_t digest(int threads)
{
    struct world w = make(threads, 1500, ROW_ADAGRAD);
    struct embed_slot_ids ids[SLOTS];
    uint64_t h = 0;
    for (uint64_t step = 1; step <= STEPS; step++) {
        draw(&w, ids);
        CHECK(embed_batch(w.e, ids, true, NULL) == RC_OK);
        embed_forward(w.e, w.out);
        embed_backward(w.e, w.grad, &(struct embed_row_step){.lr = 0.05, .step = step});
        for (int i = 0; i < 2; i++)
            h = hash_xxh3_seeded(w.out[i].data,
                                 (size_t)(w.out[i].rows * w.out[i].width) * 4, h);
    }
    for (int t = 0; t < TABLES; t++) {
        const struct embed_table *table = embed_table_at(w.e, t);
        h = hash_xxh3_seeded(table->data, embed_table_bytes(table), h);
    }
    unmake(&w);
    return h;
}

static void threads_do_not_change_a_byte(void)
{
    uint64_t one = digest(1);
    CHECK(one == digest(2));
    CHECK(one == digest(5));
}

static void rows_outside_are_named(void)
{
    struct world w = make(1, 4, ROW_SGD);
    struct embed_slot_ids ids[SLOTS];
    struct err err = {0};
    draw(&w, ids);
    w.ids[4][2] = 100000;
    CHECK(embed_batch(w.e, ids, true, &err) == RC_INVAL);
    CHECK_STR(err.msg,
              "feature 'f': row 2 of the batch: id 100000 is outside table 'c_emb' of "
              "100000 rows");
    unmake(&w);
}

static void shared_tables_must_agree(void)
{
    struct embed *e = embed_create(NULL);
    struct err err = {0};
    struct embed_table_conf conf = table_conf(0, ROW_SGD);
    CHECK_INT(embed_add_table(e, &conf, &err), 0);
    CHECK_INT(embed_add_table(e, &conf, &err), 0);
    conf.dim = 4;
    CHECK_INT(embed_add_table(e, &conf, &err), -1);
    CHECK_STR(err.msg,
              "table 'a_emb' is shared by features that want 50 x 3 and 50 x 4 values");
    conf = table_conf(1, ROW_SGD);
    conf.rows = 0;
    CHECK_INT(embed_add_table(e, &conf, &err), -1);
    CHECK_STR(err.msg, "table 'b_emb': 0 rows of 5 values");
    embed_destroy(e);
}

static void unused_rows_read_as_their_first_values(void)
{
    struct world w = make(1, 8, ROW_SGD);
    struct embed_slot_ids ids[SLOTS];
    draw(&w, ids);
    CHECK(embed_batch(w.e, ids, false, NULL) == RC_OK);
    embed_forward(w.e, w.out);
    struct embed_plain p = plain_make(ROW_SGD);
    plain_forward_check(&p, ids, w.out);
    for (int64_t r = 0; r < table_rows[0]; r++)
        CHECK(!embed_table_used(embed_table_at(w.e, 0), r));
    plain_free(&p);
    unmake(&w);
}

static void a_step_allocates_nothing(void)
{
    struct world w = make(2, 300, ROW_ADAM);
    struct embed_slot_ids ids[SLOTS];
    int64_t before = 0;
    for (uint64_t step = 1; step <= 6; step++) {
        if (step == 4)
            before = mem_total();
        draw(&w, ids);
        CHECK(embed_batch(w.e, ids, true, NULL) == RC_OK);
        embed_forward(w.e, w.out);
        embed_backward(w.e, w.grad, &(struct embed_row_step){.lr = 0.1, .step = step});
    }
    CHECK_INT(mem_total() - before, 0);
    unmake(&w);
}

/* Bytes of this process that lie in memory. */
static int64_t resident(void)
{
    long long size = 0, pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    CHECK(f && fscanf(f, "%lld %lld", &size, &pages) == 2);
    if (f)
        fclose(f);
    return (int64_t)pages * sysconf(_SC_PAGESIZE);
}

static void a_few_rows_of_a_large_table_cost_little(void)
{
    struct embed_table *t = NULL, *small = NULL;
    struct embed_table_conf conf = {.name = "large",
                                    .rows = 8000000,
                                    .dim = 16,
                                    .type = DT_F32,
                                    .trainable = true,
                                    .opt = {.kind = ROW_ADAGRAD}};
    CHECK(embed_table_create(&conf, &t, NULL) == RC_OK);
    int64_t before = resident();
    for (int64_t i = 0; i < 100; i++)
        embed_table_use(t, i * 79999);
    for (int i = 0; i < 5; i++)
        embed_table_settle(t);
    CHECK(!t->dense);
    CHECK(resident() - before < 16 << 20);
    CHECK_INT((int64_t)embed_table_reach_bytes(t, 100), 100 * 4096);
    CHECK_INT((int64_t)embed_table_reach_bytes(t, 600000), (int64_t)embed_table_bytes(t));
    embed_table_destroy(t);
    conf.rows = 80000;
    CHECK(embed_table_create(&conf, &small, NULL) == RC_OK);
    CHECK_INT((int64_t)embed_table_reach_bytes(small, 2), 4 << 20);
    embed_table_destroy(small);
}

static void a_table_in_use_keeps_its_rows_when_pages_change(void)
{
    struct embed_table *t = NULL;
    struct embed_table_conf conf = {.name = "large",
                                    .rows = 300000,
                                    .dim = 256,
                                    .type = DT_F32,
                                    .a = -1,
                                    .b = 1,
                                    .seed = 3};
    float *first = mem_calloc(256, sizeof(float));
    CHECK(embed_table_create(&conf, &t, NULL) == RC_OK);
    for (int64_t i = 0; i < 20000; i++) /* from the front: pages that are whole */
        embed_table_use(t, i);
    for (int i = 0; i < 16; i++)
        embed_table_settle(t);
    CHECK(t->dense);
    CHECK(t->settled == embed_table_bytes(t));
    for (int64_t i = 0; i < 20000; i += 777) {
        embed_table_initial(t, i, first);
        CHECK(memcmp(first, embed_table_row(t, i), 256 * sizeof(float)) == 0);
    }
    embed_table_destroy(t);
    mem_free(first);
}

static const struct tap_case cases[] = {
    TAP(equals_plain_loops),
    TAP(threads_do_not_change_a_byte),
    TAP(a_few_rows_of_a_large_table_cost_little),
    TAP(a_table_in_use_keeps_its_rows_when_pages_change),
    TAP(rows_outside_are_named),
    TAP(shared_tables_must_agree),
    TAP(unused_rows_read_as_their_first_values),
    TAP(a_step_allocates_nothing),
};
TAP_MAIN(cases)
