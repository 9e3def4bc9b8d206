/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs that are equal in all rows: their ops run for the first row only, with the same
 * results for all. Rows that need not be filled hold NaN here.
 */
#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "base/rng.h"
#include "nn/graph.h"
#include "nn/ops.h"
#include "tap.h"

enum { ROWS = 150, STEPS = 7, WIDTH = 5 };

struct trial {
    bool alike;
    int threads;
    float *y, *user;
};

/* A user with a history beside an item: towers of both, attention, and what joins them. */
static void build(struct graph *g, int axis, struct nn_val *user, struct nn_val *seen,
                  struct nn_val *item)
{
    const struct nn_pair_layer layers[] = {{"p", 6, true, ACT_SILU},
                                           {"q", 1, true, ACT_NONE}};
    struct nn_val *x = nn_linear(g, "tower", user, 8, true, ACT_RELU);
    struct nn_val *deep = nn_linear(g, "history", seen, WIDTH, true, ACT_TANH);
    struct nn_val *sum = nn_seq_sum(g, nn_row_sum(g, deep), deep);
    struct nn_val *own[] = {x, sum, user};
    struct nn_val *all = nn_linear(g, "user", nn_concat(g, own, 3), 6, true, ACT_RELU);
    struct nn_val *scores = nn_pair_net(g, item, seen, true, layers);
    struct nn_val *parts[] = {all, nn_seq_sum(g, scores, seen), item};
    nn_output(g, "y", nn_linear(g, "top", nn_concat(g, parts, 3), 3, true, ACT_NONE));
    nn_output(g, "user", all);
}

/* All rows; those behind the first `filled` are NaN. */
static void fill(struct graph *g, struct nn_val *v, uint64_t seed, int64_t each,
                 int64_t filled)
{
    struct view at = graph_write_begin(g, v);
    for (int64_t r = 0; r < at.rows; r++) {
        struct rng rng;
        rng_init(&rng, seed, 0, 0, (uint64_t)(r % each));
        rng_fill_uniform(&rng, -1, 1, view_row(&at, r), (size_t)at.width);
        for (int64_t i = 0; r >= filled && i < at.width; i++)
            view_row(&at, r)[i] = NAN;
    }
    graph_write_end(g, v);
}

static float *output(struct graph *g, const char *name)
{
    struct nn_val *v = graph_output(g, name);
    float *out =
        mem_calloc((size_t)(ROWS * nn_shape_width(nn_val_shape(v))), sizeof(*out));
    graph_get(g, v, out);
    return out;
}

static void pass(struct graph *g, struct trial *t, int axis, struct nn_val *user,
                 struct nn_val *seen, struct nn_val *item)
{
    int64_t offsets[ROWS + 1];
    for (int64_t r = 0; r <= ROWS; r++)
        offsets[r] = r * STEPS;
    struct nn_batch_rows rows = {.n = {ROWS}};
    rows.n[axis] = ROWS * STEPS;
    rows.offsets[axis] = offsets;
    CHECK(graph_rows(g, &rows, NULL) == RC_OK);
    fill(g, user, 1, 1, t->alike ? 1 : ROWS);
    fill(g, seen, 2, STEPS, t->alike ? STEPS : ROWS * STEPS);
    fill(g, item, 3, ROWS, ROWS);
    if (t->alike)
        CHECK(graph_alike(g, user) && graph_alike(g, seen));
    graph_forward(g, 0);
    CHECK(graph_wait(g, NULL) == RC_OK);
}

static void run(struct trial *t)
{
    struct pool *pool = NULL;
    CHECK(pool_create(t->threads, &pool, NULL) == RC_OK);
    struct graph *g =
        graph_create(&(struct graph_options){.pool = pool, .fixed = true, .seed = 5});
    int axis = graph_axis(g, "seen");
    struct nn_val *user = nn_input(g, "u", &(struct nn_shape){0, 1, {WIDTH}}, false);
    struct nn_val *seen = nn_input(g, "s", &(struct nn_shape){axis, 1, {WIDTH}}, false);
    struct nn_val *item = nn_input(g, "i", &(struct nn_shape){0, 1, {WIDTH}}, false);
    build(g, axis, user, seen, item);
    CHECK(graph_finish(g, NULL) == RC_OK);
    pass(g, t, axis, user, seen, item);
    t->y = output(g, "y");
    t->user = output(g, "user");
    if (t->alike) { /* what was said holds for one batch */
        struct trial other = {.alike = false};
        pass(g, &other, axis, user, seen, item);
        float *y = output(g, "y");
        CHECK(memcmp(y, t->y, sizeof(*y) * ROWS * 3) == 0);
        mem_free(y);
    }
    graph_destroy(g);
    pool_destroy(pool);
}

static void the_first_row_stands_for_all(void)
{
    struct trial all = {.threads = 1};
    run(&all);
    for (int threads = 1; threads <= 3; threads += 2) {
        struct trial once = {.alike = true, .threads = threads};
        run(&once);
        CHECK(memcmp(all.y, once.y, sizeof(*all.y) * ROWS * 3) == 0);
        CHECK(memcmp(all.user, once.user, sizeof(*all.user) * ROWS * 6) == 0);
        mem_free(once.y);
        mem_free(once.user);
    }
    CHECK(all.y[0] != all.y[3] && all.user[0] == all.user[6]);
    mem_free(all.y);
    mem_free(all.user);
}

enum { COLUMNS = 90, UNITS = 37 };

/* Two layers on an input some of whose columns are equal in all rows, and NaN behind the
 * first where they are said to be.
 */
static void split_pass(struct graph *g, struct nn_val *v, const struct nn_columns *at,
                       int n, bool say, float *y)
{
    struct nn_batch_rows rows = {.n = {ROWS}};
    CHECK(graph_rows(g, &rows, NULL) == RC_OK);
    fill(g, v, 4, ROWS, ROWS);
    struct view x = graph_write_begin(g, v);
    for (int64_t r = 1; r < ROWS; r++)
        for (int i = 0; i < n; i++)
            for (int64_t c = at[i].from; c < at[i].to; c++)
                view_row(&x, r)[c] = say ? NAN : view_row(&x, 0)[c];
    graph_write_end(g, v);
    if (say)
        graph_alike_columns(v, at, n);
    graph_forward(g, 0);
    CHECK(graph_wait(g, NULL) == RC_OK);
    graph_get(g, graph_output(g, "y"), y);
}

static void columns_are_multiplied_once(void)
{
    static const struct {
        int n;
        struct nn_columns at[3];
    } sets[] = {{1, {{0, 60}}},
                {1, {{31, 90}}},
                {3, {{0, 8}, {20, 40}, {41, 80}}},
                {3, {{0, 8}, {20, 40}, {41, 80}}},
                {2, {{5, 30}, {50, 60}}}};
    float y[ROWS * UNITS], want[ROWS * UNITS];
    for (int precision = GEMM_F32; precision <= GEMM_BF16; precision++) {
        struct graph *g = graph_create(&(struct graph_options){
            .fixed = true, .seed = 5, .precision = (enum gemm_precision)precision});
        struct nn_val *v = nn_input(g, "v", &(struct nn_shape){0, 1, {COLUMNS}}, false);
        struct nn_val *h = nn_linear(g, "a", v, 64, true, ACT_RELU);
        nn_output(g, "y", nn_linear(g, "b", h, UNITS, false, ACT_NONE));
        CHECK(graph_finish(g, NULL) == RC_OK);
        for (size_t i = 0; i < ARRAY_LEN(sets); i++) {
            float most = 0, tolerance = precision == GEMM_F32 ? 1e-5f : 2e-2f;
            split_pass(g, v, sets[i].at, sets[i].n, false, want);
            split_pass(g, v, sets[i].at, sets[i].n, true, y);
            for (int k = 0; k < ROWS * UNITS; k++)
                most = fabsf(y[k] - want[k]) <= most ? most : fabsf(y[k] - want[k]);
            CHECK(most < tolerance);
        }
        graph_destroy(g);
    }
}

static const struct tap_case cases[] = {
    TAP(the_first_row_stands_for_all),
    TAP(columns_are_multiplied_once),
};
TAP_MAIN(cases)
