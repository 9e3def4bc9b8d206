/* SPDX-License-Identifier: Apache-2.0 */
/* nn_pair_linear() beside the same layer on rows that are laid out. */
#include "base/hash.h"
#include "unit/nn/gradcheck.h"

static struct nn_val *build_pairs(struct graph *g, struct nn_val *const *x, int axis)
{
    return nn_pair_linear(g, "l", x[0], x[1], true, 5, true, ACT_TANH);
}

static struct nn_val *build_pairs_twice(struct graph *g, struct nn_val *const *x,
                                        int axis)
{
    struct nn_val *y = nn_pair_linear(g, "l", x[0], x[1], false, 3, false, ACT_NONE);
    struct nn_val *z = nn_pair_linear(g, "m", x[0], x[1], true, 3, true, ACT_SILU);
    return nn_seq_sum(g, nn_row_sum(g, nn_mul(g, y, z)), x[1]);
}

static struct nn_val *build_net(struct graph *g, struct nn_val *const *x, int axis)
{
    const struct nn_pair_layer layers[] = {{"l", 6, true, ACT_TANH},
                                           {"m", 5, true, ACT_SIGMOID}};
    return nn_pair_net(g, x[0], x[1], true, layers);
}

static void slopes_are_right(void)
{
    gradcheck(&(struct gradcheck){
        "pair net", build_net, 2, {{0, 1, {3}}, {1, 1, {3}}}, 7, .eval = false});
    gradcheck(&(struct gradcheck){
        "pairs", build_pairs, 2, {{0, 1, {3}}, {1, 1, {3}}}, 7, .eval = false});
    gradcheck(&(struct gradcheck){
        "pairs of one", build_pairs, 2, {{0, 1, {1}}, {1, 1, {1}}}, 40, .eval = false});
    gradcheck(&(struct gradcheck){"pairs twice",
                                  build_pairs_twice,
                                  2,
                                  {{0, 1, {4}}, {1, 1, {4}}},
                                  9,
                                  .eval = false});
}

/* A batch of `rows` with short and long sequences, some empty, through one layer. */
struct trial {
    bool laid_out, differences;
    enum gemm_precision precision;
    int threads;
    int64_t rows, d, out;
    int64_t second; /* units of another layer behind it; 0: there is none */
    enum nn_act act;
    /* results */
    float *y, *dq, *dk, *dw, *db;
    int64_t n, n_w, n_b;
    int64_t allocations;
};

static struct nn_val *layer(struct graph *g, const struct trial *t, struct nn_val *q,
                            struct nn_val *k, int axis)
{
    const struct nn_pair_layer layers[] = {{"l", t->out, true, t->act},
                                           {"m", t->second, true, t->act}};
    if (!t->laid_out && t->second)
        return nn_pair_net(g, q, k, t->differences, layers);
    if (!t->laid_out)
        return nn_pair_linear(g, "l", q, k, t->differences, t->out, true, t->act);
    struct nn_val *e = nn_expand(g, q, axis), *product = nn_mul(g, e, k);
    struct nn_val *four[] = {e, k, nn_sub(g, e, k), product}, *three[] = {k, product, e};
    struct nn_val *x = t->differences ? nn_concat(g, four, 4) : nn_concat(g, three, 3);
    struct nn_val *y = nn_linear(g, "l", x, t->out, true, t->act);
    return t->second ? nn_linear(g, "m", y, t->second, true, t->act) : y;
}

static float *copy_of(const float *x, int64_t n)
{
    float *y = mem_calloc((size_t)n, sizeof(float));
    memcpy(y, x, (size_t)n * sizeof(float));
    return y;
}

static void fill(struct rng *r, struct graph *g, struct nn_val *v)
{
    struct view at = graph_write_begin(g, v);
    rng_fill_uniform(r, -1, 1, at.data, (size_t)(at.rows * at.width));
    graph_write_end(g, v);
}

/* The gradients of both layers, one behind the other. */
static float *grads_of(struct graph *g, const char *first, const char *second,
                       int64_t *total)
{
    struct param *a = graph_param(g, first), *b = graph_param(g, second);
    *total = a->n + (b ? b->n : 0);
    float *all = mem_calloc((size_t)*total, sizeof(float));
    param_get_grad(a, all);
    if (b)
        param_get_grad(b, all + a->n);
    return all;
}

static int64_t width(const struct trial *t)
{
    return t->second ? t->second : t->out;
}

static void keep(struct trial *t, struct graph *g, struct nn_val *y, struct nn_val *q,
                 struct nn_val *k)
{
    t->n = graph_rows_of(g, k);
    t->y = copy_of(graph_read(g, y).data, t->n * width(t));
    t->dq = copy_of(graph_read_grad(g, q).data, t->rows * t->d);
    t->dk = copy_of(graph_read_grad(g, k).data, t->n * t->d);
    t->dw = grads_of(g, "l.weight", "m.weight", &t->n_w);
    t->db = grads_of(g, "l.bias", "m.bias", &t->n_b);
}

static void run(struct trial *t)
{
    struct pool *pool = NULL;
    struct rng r;
    CHECK(pool_create(t->threads, &pool, NULL) == RC_OK);
    struct graph *g = graph_create(&(struct graph_options){
        .pool = pool, .training = true, .seed = 5, .precision = t->precision});
    int axis = graph_axis(g, "sequence");
    struct nn_val *q = nn_input(g, "q", &(struct nn_shape){0, 1, {t->d}}, true);
    struct nn_val *k = nn_input(g, "k", &(struct nn_shape){axis, 1, {t->d}}, true);
    struct nn_val *y = layer(g, t, q, k, axis);
    struct nn_val *weights = nn_input(g, "w", nn_val_shape(y), false);
    nn_loss(g, "loss", nn_row_sum(g, nn_mul(g, y, weights)));
    nn_output(g, "y", y);
    CHECK(graph_finish(g, NULL) == RC_OK);
    rng_init(&r, 8, 0, 0, 0);
    int64_t *offsets = mem_calloc((size_t)t->rows + 1, sizeof(*offsets));
    for (int64_t b = 0; b < t->rows; b++)
        offsets[b + 1] = offsets[b] + (b == 3 ? 300 : (int64_t)rng_below(&r, 30));
    struct nn_batch_rows rows = {.n = {t->rows, offsets[t->rows]},
                                 .offsets = {0, offsets}};
    CHECK(graph_rows(g, &rows, NULL) == RC_OK);
    fill(&r, g, q);
    fill(&r, g, k);
    fill(&r, g, weights);
    for (uint64_t step = 0; step < 2; step++) {
        int64_t before = mem_total();
        graph_forward(g, step);
        graph_backward(g, true);
        t->allocations = mem_total() - before;
    }
    keep(t, g, y, q, k);
    graph_destroy(g);
    pool_destroy(pool);
    mem_free(offsets);
}

static void forget(struct trial *t)
{
    mem_free(t->y);
    mem_free(t->dq);
    mem_free(t->dk);
    mem_free(t->dw);
    mem_free(t->db);
}

/* Relative to the largest value: sums of several hundred terms in another order. */
static double distance(const float *got, const float *want, int64_t n)
{
    double worst = 0, size = 0;
    for (int64_t i = 0; i < n; i++) {
        worst = fmax(worst, fabs((double)got[i] - (double)want[i]));
        size = fmax(size, fabs((double)want[i]));
    }
    return worst / size;
}

static void compare(struct trial t, double tolerance)
{
    struct trial want = t;
    want.laid_out = true;
    run(&t);
    run(&want);
    CHECK(distance(t.y, want.y, t.n * width(&t)) < tolerance);
    CHECK(distance(t.dq, want.dq, t.rows * t.d) < tolerance);
    CHECK(distance(t.dk, want.dk, t.n * t.d) < tolerance);
    CHECK(distance(t.dw, want.dw, t.n_w) < tolerance);
    CHECK(distance(t.db, want.db, t.n_b) < tolerance);
    forget(&t);
    forget(&want);
}

static void equals_the_layer_on_rows_laid_out(void)
{
    struct trial t = {.threads = 2, .rows = 75, .d = 48, .out = 96, .act = ACT_TANH};
    for (int i = 0; i < 2; i++) {
        t.differences = i == 0;
        compare(t, 2e-5);
        compare((struct trial){.threads = 2,
                               .rows = 5,
                               .d = 7,
                               .out = 33,
                               .act = ACT_RELU,
                               .differences = i == 0},
                2e-5);
        compare((struct trial){.threads = 2,
                               .rows = 9,
                               .d = 37,
                               .out = 3,
                               .act = ACT_SIGMOID,
                               .differences = i == 0},
                2e-5);
        compare(
            (struct trial){
                .threads = 2, .rows = 40, .d = 300, .out = 31, .differences = i == 0},
            2e-5);
        t.second = 21;
        compare(t, 2e-5);
        t.out = 700; /* a long sequence does not fit into one block */
        compare(t, 2e-5);
        t.out = 96;
        t.precision = GEMM_BF16; /* which rounds other numbers */
        compare(t, 3e-2);
        t.second = 0;
        compare(t, 3e-2);
        t.precision = GEMM_F32;
    }
}

static uint64_t digest(int threads, enum gemm_precision precision, int64_t second)
{
    struct trial t = {.threads = threads,
                      .rows = 101,
                      .d = 24,
                      .out = 64,
                      .second = second,
                      .act = ACT_RELU,
                      .precision = precision,
                      .differences = true};
    run(&t);
    CHECK_INT(t.allocations, 0);
    uint64_t h = hash_xxh3(t.y, (size_t)(t.n * width(&t)) * 4);
    h = hash_xxh3_seeded(t.dq, (size_t)(t.rows * t.d) * 4, h);
    h = hash_xxh3_seeded(t.dk, (size_t)(t.n * t.d) * 4, h);
    h = hash_xxh3_seeded(t.dw, (size_t)t.n_w * 4, h);
    h = hash_xxh3_seeded(t.db, (size_t)t.n_b * 4, h);
    forget(&t);
    return h;
}

static void threads_do_not_change_a_byte(void)
{
    for (int i = 0; i < 4; i++) {
        enum gemm_precision p = i % 2 ? GEMM_BF16 : GEMM_F32;
        int64_t second = i < 2 ? 0 : 40;
        uint64_t one = digest(1, p, second);
        CHECK(one == digest(2, p, second));
        CHECK(one == digest(5, p, second));
    }
}

static void a_query_must_fit_its_keys(void)
{
    struct graph *g = graph_create(&(struct graph_options){0});
    int axis = graph_axis(g, "sequence");
    struct nn_val *q = nn_input(g, "q", &(struct nn_shape){0, 1, {3}}, true);
    struct nn_val *k = nn_input(g, "k", &(struct nn_shape){axis, 1, {4}}, true);
    struct nn_val *wide = nn_input(g, "w", &(struct nn_shape){axis, 1, {100000}}, true);
    struct err err = {0};
    CHECK(!nn_pairs_fit(q, k));
    CHECK(!nn_pairs_fit(wide, wide));
    CHECK(!nn_pairs_fit(NULL, k));
    struct nn_pair_layer layers[] = {{"l", 8, true, ACT_RELU}, {"m", 4, true, ACT_SILU}};
    CHECK(!nn_pair_net_fits(layers));
    layers[1].act = ACT_NONE;
    CHECK(nn_pair_net_fits(layers));
    layers[0].out = 5000;
    CHECK(!nn_pair_net_fits(layers));
    CHECK(nn_pair_linear(g, "l", q, k, true, 2, true, ACT_NONE) == NULL);
    CHECK(graph_finish(g, &err) == RC_INVAL);
    CHECK_STR(err.msg, "query part: a query of 3 values for keys of 4");
    graph_destroy(g);
}

static const struct tap_case cases[] = {
    TAP(slopes_are_right),
    TAP(equals_the_layer_on_rows_laid_out),
    TAP(threads_do_not_change_a_byte),
    TAP(a_query_must_fit_its_keys),
};
TAP_MAIN(cases)
