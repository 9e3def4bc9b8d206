/* SPDX-License-Identifier: Apache-2.0 */
/* Linear layers on inputs some of whose columns take few values: they give what layers
 * give that do not know so.
 */
#include "base/hash.h"
#include "base/mem.h"
#include "base/rng.h"
#include "nn/graph.h"
#include "nn/ops.h"
#include "tap.h"

#define ROWS 90
#define WIDTH 48
#define PLACES 3

/* Columns 5..13, 20..36 and 40..48; the other 16 are numbers. */
static const struct {
    int64_t col, width, n;
} places[PLACES] = {{5, 8, 3}, {20, 16, 6}, {40, 8, 2}};

struct run_conf {
    int threads;
    int64_t tile, rows;
    bool codes;     /* says which columns are coded, and their codes */
    bool whole;     /* coded columns alone: only those of places[1] */
    bool narrow;    /* a layer that does not look at codes reads the input as well */
    bool two_ids;   /* in one row */
    bool lists;     /* rows with one id and with none */
    uint64_t steps; /* 0: 1 */
};

struct run {
    struct pool *pool;
    struct graph *g;
    struct nn_val *x, *y;
    int64_t ids[PLACES][ROWS + 1], offsets[PLACES][ROWS + 1];
    int64_t id_of[PLACES][ROWS]; /* -1: none */
    float values[PLACES][8][16];
    int64_t allocations;
};

static int64_t width_of(const struct run_conf *c)
{
    return c->whole ? places[1].width : WIDTH;
}

static void build(struct run *r, const struct run_conf *c)
{
    CHECK(pool_create(c->threads, &r->pool, NULL) == RC_OK);
    r->g = graph_create(&(struct graph_options){
        .pool = r->pool, .training = true, .seed = 5, .tile_rows = c->tile});
    struct graph *g = r->g;
    r->x = nn_input(g, "x", &(struct nn_shape){AXIS_BATCH, 1, {width_of(c)}}, true);
    r->y = nn_input(g, "y", &(struct nn_shape){AXIS_BATCH, 1, {1}}, false);
    for (int i = 0; c->codes && !c->whole && i < PLACES; i++)
        CHECK(nn_coded(g, r->x, places[i].col, places[i].width, places[i].n));
    if (c->codes && c->whole)
        CHECK(nn_coded(g, r->x, 0, places[1].width, places[1].n));
    struct nn_val *h[] = {nn_linear(g, "a", r->x, 128, true, ACT_RELU),
                          nn_linear(g, "b", r->x, 80, true, ACT_TANH),
                          nn_linear(g, "c", r->x, 64, false, ACT_SIGMOID),
                          nn_linear(g, "d", r->x, c->narrow ? 3 : 144, true, ACT_NONE)};
    struct nn_val *logit = nn_linear(g, "e", nn_concat(g, h, 4), 1, true, ACT_NONE);
    nn_loss(g, "l", nn_bce_loss(g, logit, r->y, NULL, 0));
    CHECK(graph_finish(g, NULL) == RC_OK);
}

static void draw(struct run *r, const struct run_conf *c)
{
    struct rng rng;
    rng_init(&rng, 1, 2, 3, 4);
    rng_fill_uniform(&rng, -1, 1, &r->values[0][0][0], PLACES * 8 * 16);
    for (int i = 0; i < PLACES; i++)
        for (int64_t k = 0, at = 0; k < c->rows; k++) {
            bool none = c->lists && (k + i) % 4 == 3;
            int64_t id = (int64_t)rng_below(&rng, (uint64_t)places[i].n);
            r->id_of[i][k] = none ? -1 : id;
            r->ids[i][c->lists ? at : k] = none && !c->lists ? -1 : id;
            at += !none;
            r->offsets[i][k + 1] = at;
        }
    /* without lists a row may have none, too */
    for (int i = 0; !c->lists && i < PLACES; i++)
        r->ids[i][7 + i] = r->id_of[i][7 + i] = -1;
}

static void fill(struct run *r, const struct run_conf *c)
{
    struct rng rng;
    struct view x = graph_write_begin(r->g, r->x), y = graph_write_begin(r->g, r->y);
    rng_init(&rng, 4, 3, 2, 1);
    rng_fill_uniform(&rng, -1, 1, x.data, (size_t)(x.rows * x.width));
    for (int64_t k = 0; k < c->rows; k++) {
        *view_row(&y, k) = (float)(k % 3 == 0);
        for (int i = 0; i < PLACES; i++) {
            float *to = view_row(&x, k) + (c->whole ? 0 : places[i].col);
            int64_t id = r->id_of[i][k];
            for (int64_t j = 0; (!c->whole || i == 1) && j < places[i].width; j++)
                to[j] = id < 0 ? 0.0f : r->values[i][id][j];
        }
    }
    graph_write_end(r->g, r->x);
    graph_write_end(r->g, r->y);
}

static void say_codes(struct run *r, const struct run_conf *c)
{
    struct nn_code_ids ids[PLACES];
    int64_t two[ROWS + 1];
    for (int i = 0; i < PLACES; i++)
        ids[i] = (struct nn_code_ids){.ids = r->ids[i],
                                      .offsets = c->lists ? r->offsets[i] : NULL};
    for (int64_t k = 0; c->two_ids && k <= c->rows; k++)
        two[k] = k <= 4 ? k : k + 1;
    if (c->two_ids)
        ids[2].offsets = two;
    graph_codes(r->g, r->x, c->whole ? &ids[1] : ids);
}

static void open_run(struct run *r, const struct run_conf *c)
{
    *r = (struct run){0};
    build(r, c);
    draw(r, c);
    for (uint64_t step = 0; step < (c->steps ? c->steps : 1); step++) {
        if (step == 2)
            r->allocations = mem_total();
        CHECK(graph_rows(r->g, &(struct nn_batch_rows){.n = {c->rows}}, NULL) == RC_OK);
        fill(r, c);
        if (c->codes)
            say_codes(r, c);
        graph_forward(r->g, 1);
        graph_backward(r->g, true);
    }
    r->allocations = mem_total() - r->allocations;
}

static void close_run(struct run *r)
{
    graph_destroy(r->g);
    pool_destroy(r->pool);
}

static uint64_t digest(const struct run *r)
{
    double loss = graph_loss(r->g);
    uint64_t d = hash_xxh3(&loss, sizeof(loss));
    size_t n;
    struct param *const *params = graph_params(r->g, &n);
    for (size_t i = 0; i < n; i++)
        d = hash_xxh3_seeded(param_read_grad(params[i]),
                             (size_t)params[i]->n * sizeof(float), d);
    struct view dx = graph_read_grad(r->g, r->x);
    return hash_xxh3_seeded(dx.data, (size_t)(dx.rows * dx.width) * sizeof(float), d);
}

/* The gradient of column j of a value: over all rows that have it. */
static double value_grad(const struct run *r, const struct run_conf *c, int i, int64_t id,
                         int64_t j)
{
    struct view dx = graph_read_grad(r->g, r->x);
    double sum = 0;
    for (int64_t k = 0; k < c->rows; k++)
        if (r->id_of[i][k] == id)
            sum += (double)view_row(&dx, k)[(c->whole ? 0 : places[i].col) + j];
    return sum;
}

static bool is_coded(const struct run_conf *c, int64_t col)
{
    for (int i = 0; i < PLACES; i++)
        if (c->whole || (col >= places[i].col && col < places[i].col + places[i].width))
            return true;
    return false;
}

static void compare(const struct run *a, const struct run *b, const struct run_conf *c)
{
    size_t n;
    struct param *const *p = graph_params(a->g, &n), *const *q = graph_params(b->g, &n);
    CHECK_NEAR(graph_loss(a->g), graph_loss(b->g), 1e-5);
    for (size_t i = 0; i < n; i++)
        for (int64_t k = 0; k < p[i]->n; k++)
            CHECK_NEAR(param_read_grad(p[i])[k], param_read_grad(q[i])[k], 1e-5);
    struct view dx = graph_read_grad(a->g, a->x), dz = graph_read_grad(b->g, b->x);
    for (int64_t k = 0; k < dx.rows; k++)
        for (int64_t j = 0; j < dx.width; j++)
            if (!is_coded(c, j))
                CHECK_NEAR(view_row(&dx, k)[j], view_row(&dz, k)[j], 1e-5);
    for (int i = c->whole ? 1 : 0; i < (c->whole ? 2 : PLACES); i++)
        for (int64_t id = 0; id < places[i].n; id++)
            for (int64_t j = 0; j < places[i].width; j++)
                CHECK_NEAR(value_grad(a, c, i, id, j), value_grad(b, c, i, id, j), 1e-5);
}

/* How many rows have a gradient in the columns of a stretch. */
static int64_t rows_with_grad(const struct run *r, int64_t col, int64_t width)
{
    struct view dx = graph_read_grad(r->g, r->x);
    int64_t n = 0;
    for (int64_t k = 0; k < dx.rows; k++) {
        bool any = false;
        for (int64_t j = 0; j < width; j++)
            any |= view_row(&dx, k)[col + j] != 0.0f;
        n += any;
    }
    return n;
}

static void compare_with_plain(struct run_conf c)
{
    struct run coded, plain;
    c.threads = 2;
    c.codes = true;
    open_run(&coded, &c);
    c.codes = false;
    open_run(&plain, &c);
    compare(&coded, &plain, &c);
    close_run(&coded);
    close_run(&plain);
}

static void coded_layers_give_what_others_give(void)
{
    compare_with_plain((struct run_conf){.rows = ROWS});
    compare_with_plain((struct run_conf){.rows = ROWS, .lists = true});
    compare_with_plain((struct run_conf){.rows = ROWS, .narrow = true});
    compare_with_plain((struct run_conf){.rows = ROWS, .whole = true});
    compare_with_plain((struct run_conf){.rows = ROWS, .tile = 16, .steps = 3});
}

static void the_first_row_of_a_value_has_its_gradient(void)
{
    struct run r;
    open_run(&r, &(struct run_conf){.threads = 1, .rows = ROWS, .codes = true});
    for (int i = 0; i < PLACES; i++)
        CHECK_INT(rows_with_grad(&r, places[i].col, places[i].width), places[i].n);
    close_run(&r);
}

/* Values are nudged in all rows that have them. */
static void slopes_are_right(void)
{
    struct run_conf c = {.threads = 1, .rows = ROWS, .codes = true, .narrow = true};
    struct run r;
    open_run(&r, &c);
    float h = 1e-2f;
    for (int i = 0; i < PLACES; i++)
        for (int64_t id = 0; id < places[i].n; id++)
            for (int64_t j = 0; j < places[i].width; j += 3) {
                graph_backward(r.g, true);
                double got = value_grad(&r, &c, i, id, j), loss[2];
                for (int up = 0; up < 2; up++) {
                    r.values[i][id][j] += up ? 2 * h : -h;
                    fill(&r, &c);
                    graph_forward(r.g, 1);
                    loss[up] = graph_loss(r.g);
                }
                r.values[i][id][j] -= h;
                fill(&r, &c);
                graph_forward(r.g, 1);
                CHECK_NEAR(got, (loss[1] - loss[0]) / (2 * (double)h), 2e-3);
            }
    close_run(&r);
}

static void gradients_add_up_over_batches(void)
{
    struct run r;
    size_t n;
    open_run(&r, &(struct run_conf){.threads = 1, .rows = ROWS, .codes = true});
    struct param *const *p = graph_params(r.g, &n);
    float *once = mem_alloc((size_t)p[0]->n * sizeof(float));
    param_get_grad(p[0], once);
    graph_backward(r.g, false);
    for (int64_t k = 0; k < p[0]->n; k++)
        CHECK_NEAR(param_read_grad(p[0])[k], 2 * once[k], 1e-5);
    mem_free(once);
    close_run(&r);
}

static uint64_t digest_of(struct run_conf c)
{
    struct run r;
    open_run(&r, &c);
    uint64_t d = digest(&r);
    close_run(&r);
    return d;
}

static void threads_and_tiles_change_no_byte(void)
{
    struct run_conf c = {.threads = 1, .rows = ROWS, .codes = true};
    uint64_t one = digest_of(c);
    for (int threads = 1; threads <= 5; threads++)
        for (int64_t tile = 7; tile <= 64; tile += 57) {
            c.threads = threads;
            c.tile = tile;
            CHECK(digest_of(c) == one);
        }
}

/* Too few rows, or one with two ids: a layer like others, byte for byte. */
static void batches_without_codes_are_as_ever(void)
{
    struct run_conf few = {.threads = 1, .rows = 20},
                    two = {.threads = 1, .rows = ROWS - 1};
    uint64_t want_few = digest_of(few), want_two = digest_of(two);
    few.codes = two.codes = two.two_ids = true;
    CHECK(digest_of(few) == want_few);
    CHECK(digest_of(two) == want_two);
}

static void a_step_allocates_nothing(void)
{
    struct run r;
    open_run(&r,
             &(struct run_conf){.threads = 2, .rows = ROWS, .codes = true, .steps = 4});
    CHECK_INT(r.allocations, 0);
    close_run(&r);
}

static void not_everything_is_coded(void)
{
    struct nn_shape wide = {AXIS_BATCH, 1, {64}};
    for (int i = 0; i < 2; i++) {
        struct graph *g = graph_create(&(struct graph_options){
            .training = i == 0, .precision = i == 0 ? GEMM_BF16 : GEMM_F32});
        CHECK(!nn_coded(g, nn_input(g, "x", &wide, true), 0, 16, 4));
        graph_destroy(g);
    }
    struct graph *g = graph_create(&(struct graph_options){.training = true});
    struct nn_val *x = nn_input(g, "x", &wide, true);
    CHECK(!nn_coded(g, x, 0, 4, 4));     /* too narrow */
    CHECK(!nn_coded(g, x, 0, 16, 1000)); /* too many */
    CHECK(!nn_coded(g, x, 0, 16, 0));
    CHECK(!nn_coded(g, x, 56, 16, 4)); /* no such columns */
    CHECK(nn_coded(g, x, 16, 16, 4));
    CHECK(!nn_coded(g, x, 8, 16, 4)); /* out of order */
    CHECK(!nn_coded(g, nn_act(g, x, ACT_RELU, 0), 32, 16, 4));
    CHECK(!nn_coded(g, NULL, 0, 16, 4));
    graph_destroy(g);
}

static void memory_that_runs_out_is_said(void)
{
    bool done = false;
    for (int64_t n = 1; n < 100 && !done; n++) {
        struct graph *g = graph_create(&(struct graph_options){.training = true});
        struct nn_val *x =
            nn_input(g, "x", &(struct nn_shape){AXIS_BATCH, 1, {64}}, true);
        CHECK(nn_coded(g, x, 16, 16, 4));
        mem_fail_at(n);
        done = nn_linear(g, "a", x, 64, true, ACT_RELU) != NULL;
        mem_fail_at(0);
        struct err err = {0};
        if (!done) {
            CHECK(graph_finish(g, &err) != RC_OK);
            CHECK(strstr(err.msg, "memory") != NULL);
        }
        graph_destroy(g);
    }
    CHECK(done);
}

static const struct tap_case cases[] = {
    TAP(coded_layers_give_what_others_give),
    TAP(the_first_row_of_a_value_has_its_gradient),
    TAP(slopes_are_right),
    TAP(gradients_add_up_over_batches),
    TAP(threads_and_tiles_change_no_byte),
    TAP(batches_without_codes_are_as_ever),
    TAP(a_step_allocates_nothing),
    TAP(not_everything_is_coded),
    TAP(memory_that_runs_out_is_said),
};
TAP_MAIN(cases)
