/* SPDX-License-Identifier: Apache-2.0 */
/* Transduction units: attention beside a plain sum over a mask worked out pair by pair, at
 * lengths around the tiles; slopes of all their ops at odd shapes; same bytes on threads.
 */
#include "base/pool.h"
#include "nn/op/stu.h"
#include "unit/nn/gradcheck.h"

static struct nn_stu_conf stu;

#define NEAR_MAX 80
/* How many distances have a bias in attention_is_the_plain_sum(); 0: there is none. */
static int64_t near;
static float bias[NEAR_MAX];
static double bias_slopes[NEAR_MAX]; /* of the plain sum */

/* Tokens of x: C of the batch, then a history, then as many candidates. */
static struct nn_val *tokens(struct graph *g, struct nn_val *const *x, int axis,
                             int64_t width)
{
    struct nn_val *parts[] = {x[0], x[1], x[2]};
    stu.targets = axis;
    return nn_seq_join(g, "tokens", parts, 3, width, AXIS_BATCH);
}

static struct nn_val *build_attention(struct graph *g, struct nn_val *const *x, int axis)
{
    return nn_stu_attention(g, tokens(g, x, axis, op_stu_width(&stu)), NULL, &stu);
}

static struct nn_val *build_layer(struct graph *g, struct nn_val *const *x, int axis)
{
    int64_t width = op_stu_width(&stu), n = stu.heads * stu.hidden, e = 5;
    struct nn_init small = {INIT_UNIFORM, -0.7, 0.7};
    struct param *w = nn_param(g, "w", (const int64_t[]){e, width}, 2, small, true);
    struct param *b = nn_param(g, "b", &width, 1, small, true);
    struct param *gamma = nn_param(g, "gamma", &n, 1, small, true);
    struct param *beta = nn_param(g, "beta", &n, 1, small, true);
    struct nn_val *uvqk = nn_times_bias(g, w, b, tokens(g, x, axis, e));
    return nn_stu_gate(g, uvqk, nn_stu_attention(g, uvqk, NULL, &stu), gamma, beta, 1);
}

static struct nn_val *build_groups(struct graph *g, struct nn_val *const *x, int axis)
{
    struct nn_init small = {INIT_UNIFORM, -0.7, 0.7};
    struct param *gamma = nn_param(g, "gamma", &stu.heads, 1, small, true);
    struct param *beta = nn_param(g, "beta", &stu.heads, 1, small, true);
    struct nn_val *uvqk = tokens(g, x, axis, op_stu_width(&stu));
    /* far from constant groups, whose norm is steep */
    struct nn_val *o = nn_add(g, nn_stu_attention(g, uvqk, NULL, &stu),
                              nn_slice(g, uvqk, 0, stu.heads * stu.hidden));
    return nn_stu_gate(g, uvqk, o, gamma, beta, stu.heads);
}

static void slopes_of_attention(void)
{
    static const struct nn_stu_conf confs[] = {
        {.heads = 1, .hidden = 1, .attention = 1, .alpha = 1, .scale = 0.5f},
        {.heads = 2,
         .hidden = 3,
         .attention = 5,
         .contextual = 1,
         .alpha = 0.7f,
         .scale = 1},
        {.heads = 3,
         .hidden = 2,
         .attention = 1,
         .contextual = 3,
         .window = 2,
         .alpha = 2,
         .scale = 0.3f},
        {.heads = 1,
         .hidden = 4,
         .attention = 2,
         .contextual = 2,
         .local = 2,
         .global = 3,
         .alpha = 1,
         .scale = 1},
        {.heads = 2,
         .hidden = 1,
         .attention = 3,
         .window = 1,
         .full = 2,
         .alpha = 1,
         .scale = 1},
    };
    for (size_t i = 0; i < ARRAY_LEN(confs); i++) {
        stu = confs[i];
        int64_t width = op_stu_width(&stu), c = stu.contextual ? stu.contextual : 1;
        gradcheck(
            &(struct gradcheck){"attention",
                                build_attention,
                                3,
                                {{0, 1, {c * width}}, {1, 1, {width}}, {1, 1, {width}}},
                                5,
                                .eval = false});
    }
    stu = confs[1];
    gradcheck(&(struct gradcheck){"layer",
                                  build_layer,
                                  3,
                                  {{0, 1, {5}}, {1, 1, {5}}, {1, 1, {5}}},
                                  4,
                                  .tolerance = 5e-2,
                                  .eval = false});
    stu = confs[1];
    int64_t width = op_stu_width(&stu);
    gradcheck(&(struct gradcheck){"groups",
                                  build_groups,
                                  3,
                                  {{0, 1, {width}}, {1, 1, {width}}, {1, 1, {width}}},
                                  4,
                                  .tolerance = 5e-2,
                                  .eval = false});
}

/* Whether token p sees token q, as the published mask says it: by numbers of tokens. */
static bool sees(const struct nn_stu_conf *c, int64_t p, int64_t q, int64_t n,
                 int64_t targets)
{
    int64_t history = n - targets;
    if (c->local || c->global) {
        int64_t first = c->global > c->contextual ? c->global : c->contextual;
        if (p >= history)
            return q < history;
        return q <= p && (q < first || q >= p - c->local + 1);
    }
    int64_t ids[2] = {p, q}, last = history;
    for (int i = 0; i < 2 && c->contextual > 0; i++)
        ids[i] = ids[i] - c->contextual + 1 > 0 ? ids[i] - c->contextual + 1 : 0;
    last = c->contextual > 0 ? n - c->contextual + 1 - targets : last;
    for (int i = 0; i < 2; i++)
        ids[i] = ids[i] < last ? ids[i] : last;
    int64_t distance = ids[0] - ids[1];
    bool yes = p == q || distance > 0;
    if (c->window > 0)
        yes = yes && (distance <= c->window || (c->full > 0 && ids[0] >= last - c->full));
    if (c->contextual > 0)
        yes = yes || (ids[0] == 0 && ids[1] < last);
    return yes;
}

/* What head k of token p gets, and with dy what it gives to the gradients. */
static void plain(const struct nn_stu_conf *c, const float *x, int64_t n, int64_t targets,
                  int64_t p, int64_t k, const double *dy, double *y, double *dx)
{
    int64_t width = op_stu_width(c), v = (c->heads + k) * c->hidden;
    int64_t q = 2 * c->heads * c->hidden + k * c->attention,
            key = q + c->heads * c->attention;
    for (int64_t j = 0; j < n; j++) {
        if (!sees(c, p, j, n, targets))
            continue;
        double dot = 0, dw = 0;
        int64_t last = n - targets, a = p < last ? p : last, b = j < last ? j : last;
        int64_t apart = a > b ? a - b : b - a;
        apart = near && apart >= near ? near - 1 : apart;
        for (int64_t i = 0; i < c->attention; i++)
            dot += (double)x[p * width + q + i] * (double)x[j * width + key + i];
        double z = (double)c->alpha * dot + (near ? (double)bias[apart] : 0);
        double s = 1 / (1 + exp(-z));
        double w = z * s * (double)c->scale;
        for (int64_t i = 0; i < c->hidden; i++) {
            double value = (double)x[j * width + v + i];
            y[p * c->heads * c->hidden + k * c->hidden + i] += w * value;
            dw += dy[p * c->heads * c->hidden + k * c->hidden + i] * value;
            dx[j * width + v + i] += w * dy[p * c->heads * c->hidden + k * c->hidden + i];
        }
        double d = dw * s * (1 + z * (1 - s)) * (double)(c->alpha * c->scale);
        if (near)
            bias_slopes[apart] += d / (double)c->alpha;
        for (int64_t i = 0; i < c->attention; i++) {
            dx[p * width + q + i] += d * (double)x[j * width + key + i];
            dx[j * width + key + i] += d * (double)x[p * width + q + i];
        }
    }
}

#define ROWS 4
/* Tokens and candidates of each row of the batch: none, less than a tile, and several. */
static const int64_t lengths[ROWS] = {0, 63, 200, 129}, candidates[ROWS] = {0, 5, 70, 1};

struct run {
    float *out, *grad, slopes[NEAR_MAX];
};

static struct run attend(const struct nn_stu_conf *conf, struct pool *pool,
                         const float *x, const float *weights, int64_t total)
{
    struct nn_stu_conf c = *conf;
    struct graph *g =
        graph_create(&(struct graph_options){.training = true, .seed = 1, .pool = pool});
    int axis = graph_axis(g, "tokens");
    c.targets = graph_axis(g, "targets");
    struct nn_shape wide = {axis, 1, {op_stu_width(&c)}};
    struct nn_shape out = {axis, 1, {c.heads * c.hidden}};
    struct nn_val *in = nn_input(g, "x", &wide, true);
    struct nn_val *by = nn_input(g, "by", &out, false);
    struct nn_init none = {INIT_ZEROS, 0, 0};
    struct param *by_distance = near ? nn_param(g, "bias", &near, 1, none, true) : NULL;
    struct nn_val *y = nn_stu_attention(g, in, by_distance, &c);
    nn_output(g, "y", y);
    nn_loss(g, "loss", nn_row_sum(g, nn_mul(g, y, by)));
    CHECK(graph_finish(g, NULL) == RC_OK);
    int64_t at[ROWS + 1] = {0}, to[ROWS + 1] = {0};
    for (int b = 0; b < ROWS; b++) {
        at[b + 1] = at[b] + lengths[b];
        to[b + 1] = to[b] + candidates[b];
    }
    struct nn_batch_rows rows = {.n = {ROWS, total, to[ROWS]}, .offsets = {NULL, at, to}};
    CHECK(graph_rows(g, &rows, NULL) == RC_OK);
    graph_set(g, in, x);
    graph_set(g, by, weights);
    if (near)
        memcpy(by_distance->value, bias, (size_t)near * sizeof(float));
    graph_forward(g, 0);
    graph_backward(g, true);
    struct run r = {.out = mem_calloc((size_t)(total * out.dims[0]), sizeof(float)),
                    .grad = mem_calloc((size_t)(total * wide.dims[0]), sizeof(float))};
    graph_get(g, y, r.out);
    if (near)
        memcpy(r.slopes, by_distance->grad, (size_t)near * sizeof(float));
    struct view d = graph_read_grad(g, in);
    memcpy(r.grad, d.data, (size_t)(total * wide.dims[0]) * sizeof(float));
    graph_destroy(g);
    return r;
}

static void compare(const struct nn_stu_conf *c)
{
    int64_t total = 0, width = op_stu_width(c), made = c->heads * c->hidden;
    for (int b = 0; b < ROWS; b++)
        total += lengths[b];
    float *x = mem_calloc((size_t)(total * width), sizeof(float));
    float *by = mem_calloc((size_t)(total * made), sizeof(float));
    double *dy = mem_calloc((size_t)(total * made), sizeof(double));
    double *y = mem_calloc((size_t)(total * made), sizeof(double));
    double *dx = mem_calloc((size_t)(total * width), sizeof(double));
    struct rng r;
    rng_init(&r, 7, 0, 0, 0);
    rng_fill_uniform(&r, -1, 1, x, (size_t)(total * width));
    rng_fill_uniform(&r, -1, 1, by, (size_t)(total * made));
    for (int64_t i = 0; i < total * made; i++)
        dy[i] = (double)by[i];
    for (int64_t d = 0; d < near; d++) {
        bias[d] = (float)cos((double)d);
        bias_slopes[d] = 0;
    }
    int64_t at = 0;
    for (int b = 0; b < ROWS; at += lengths[b++])
        for (int64_t p = 0; p < lengths[b]; p++)
            for (int64_t k = 0; k < c->heads; k++)
                plain(c, x + at * width, lengths[b], candidates[b], p, k, dy + at * made,
                      y + at * made, dx + at * width);
    struct pool *pool;
    CHECK(pool_create(3, &pool, NULL) == RC_OK);
    struct run one = attend(c, NULL, x, by, total), many = attend(c, pool, x, by, total);
    double worst = 0;
    for (int64_t i = 0; i < total * made; i++)
        worst = fmax(worst, fabs((double)one.out[i] - y[i]));
    for (int64_t i = 0; i < total * width; i++)
        worst = fmax(worst, fabs((double)one.grad[i] - dx[i]));
    CHECK_NEAR(worst, 0, 2e-4);
    CHECK(memcmp(one.out, many.out, (size_t)(total * made) * sizeof(float)) == 0);
    CHECK(memcmp(one.grad, many.grad, (size_t)(total * width) * sizeof(float)) == 0);
    for (int64_t d = 0; d < near; d++)
        CHECK_NEAR(one.slopes[d], bias_slopes[d], 1e-3 * (1 + fabs(bias_slopes[d])));
    CHECK(memcmp(one.slopes, many.slopes, (size_t)near * sizeof(float)) == 0);
    pool_destroy(pool);
    mem_free(one.out);
    mem_free(one.grad);
    mem_free(many.out);
    mem_free(many.grad);
    mem_free(x);
    mem_free(by);
    mem_free(dy);
    mem_free(y);
    mem_free(dx);
}

static void attention_is_the_plain_sum(void)
{
    static const struct nn_stu_conf confs[] = {
        {.heads = 1, .hidden = 8, .attention = 8},
        {.heads = 2, .hidden = 5, .attention = 7, .contextual = 1},
        {.heads = 1, .hidden = 16, .attention = 150, .contextual = 6},
        {.heads = 1, .hidden = 3, .attention = 4, .contextual = 4, .window = 10},
        {.heads = 1, .hidden = 3, .attention = 4, .window = 70},
        {.heads = 1,
         .hidden = 3,
         .attention = 4,
         .contextual = 2,
         .window = 9,
         .full = 30},
        {.heads = 1,
         .hidden = 3,
         .attention = 4,
         .contextual = 3,
         .local = 20,
         .global = 7},
        {.heads = 1, .hidden = 3, .attention = 4, .contextual = 5, .local = 66},
        {.heads = 1, .hidden = 3, .attention = 4, .global = 70},
    };
    for (size_t i = 0; i < ARRAY_LEN(confs); i++) {
        struct nn_stu_conf c = confs[i];
        c.alpha = 0.5f;
        c.scale = 0.1f;
        for (int k = 0; k < 3; k++) { /* biases of no, few and nearly all distances */
            near = k == 0 ? 0 : k == 1 ? 5 : NEAR_MAX;
            compare(&c);
        }
    }
    near = 0;
}

static struct nn_val *build_tail(struct graph *g, struct nn_val *const *x, int axis)
{
    struct nn_axis_part part = {.axis = axis, .times = 1, .most = 2};
    struct nn_val *both = nn_seq_join(g, "both", x, 2, 3, AXIS_BATCH);
    int shorter = graph_axis_sum(g, "shorter", 2, &part, 1);
    return nn_seq_reverse(g, nn_seq_keep(g, both, 2, shorter));
}

static struct nn_val *build_products(struct graph *g, struct nn_val *const *x, int axis)
{
    struct nn_init small = {INIT_UNIFORM, -0.7, 0.7};
    struct param *w = nn_param(g, "w", (const int64_t[]){2, 3, 4}, 3, small, true);
    struct param *b = nn_param(g, "b", (const int64_t[]){2, 1, 4}, 3, small, true);
    struct param *row = nn_param(g, "row", (const int64_t[]){1, 2}, 2, small, true);
    struct nn_val *y = nn_seq_times(g, x[1], x[2], nn_field_times(g, w, b, x[0]));
    struct nn_val *parts[] = {y, nn_learned_row(g, row, y)};
    return nn_concat(g, parts, 2);
}

static struct nn_val *build_positions(struct graph *g, struct nn_val *const *x, int axis)
{
    struct nn_init small = {INIT_UNIFORM, -0.7, 0.7};
    struct param *p = nn_param(g, "p", (const int64_t[]){4, 3}, 2, small, true);
    struct param *t = nn_param(g, "t", (const int64_t[]){6, 3}, 2, small, true);
    struct nn_positions_conf c = {.scale = 1.5f, .increments = 0.01f};
    struct nn_val *time = nn_scale(g, nn_slice(g, x[0], 0, 1), 0, 0);
    struct nn_val *both = nn_add_positions(g, x[0], time, NULL, p, t, &c);
    return nn_add_positions(g, both, NULL, NULL, p, NULL, &c);
}

static struct nn_val *build_wide(struct graph *g, struct nn_val *const *x, int axis)
{
    return nn_seq_times(g, x[0], x[1], x[2]);
}

static void slopes_of_tokens(void)
{
    gradcheck(&(struct gradcheck){
        "tail", build_tail, 2, {{0, 1, {6}}, {1, 1, {3}}}, 7, .eval = false});
    gradcheck(&(struct gradcheck){"products",
                                  build_products,
                                  3,
                                  {{0, 1, {6}}, {1, 1, {5}}, {0, 1, {40}}},
                                  6,
                                  .eval = false});
    gradcheck(&(struct gradcheck){"wide products",
                                  build_wide,
                                  3,
                                  {{1, 1, {130}}, {0, 1, {130 * 3}}, {0, 1, {3}}},
                                  3,
                                  .eval = false});
    gradcheck(&(struct gradcheck){"positions",
                                  build_positions,
                                  1,
                                  {{1, 1, {3}}},
                                  6,
                                  .tolerance = 5e-2,
                                  .eval = true});
}

/* Bits of the data and of the watch time; positions and times of tokens; waves of a day. */
static void tokens_say_what_and_when(void)
{
    struct graph *g = graph_create(&(struct graph_options){.seed = 3});
    struct nn_shape one = {AXIS_BATCH, 1, {1}};
    struct nn_val *action = nn_input(g, "action", &one, false);
    struct nn_val *watch = nn_input(g, "watch", &one, false);
    struct nn_init ones = {INIT_ONES, 0, 0};
    struct param *table = nn_param(g, "t", (const int64_t[]){3, 2}, 2, ones, true);
    struct nn_action_conf conf = {
        .types = 3, .thresholds = 1, .bits = {1, 6, 8}, .threshold = {10}};
    struct nn_val *y = nn_action_embed(g, action, watch, table, &conf);
    struct nn_val *wave =
        nn_time_waves(g, action, (const uint32_t[]){2}, (const uint32_t[]){4}, 1);
    nn_output(g, "y", y);
    nn_output(g, "wave", wave);
    CHECK(graph_finish(g, NULL) == RC_OK);
    struct nn_batch_rows rows = {.n = {4}};
    CHECK(graph_rows(g, &rows, NULL) == RC_OK);
    graph_set(g, action, (const float[]){0, 3, 4, 9});
    graph_set(g, watch, (const float[]){9.5f, 10, 0, 0});
    graph_forward(g, 0);
    float got[4][6], waves[4][2];
    graph_get(g, y, got[0]);
    graph_get(g, wave, waves[0]);
    static const float want[4][3] = {{0, 0, 0}, {1, 1, 1}, {0, 1, 0}, {1, 0, 1}};
    for (int r = 0; r < 4; r++)
        for (int i = 0; i < 6; i++)
            CHECK_NEAR(got[r][i], want[r][i / 2], 0);
    CHECK_NEAR(waves[1][0], cos(3.14 / 2), 1e-6); /* one of four units */
    CHECK_NEAR(waves[2][1], sin(3.14), 1e-6);
    CHECK_NEAR(waves[3][0], 1, 1e-6); /* the fifth unit is the first again */
    graph_destroy(g);
}

static void wrong_sizes_are_refused(void)
{
    struct err err = {0};
    struct graph *g = graph_create(&(struct graph_options){.seed = 3});
    struct nn_shape shape = {graph_axis(g, "s"), 1, {5}};
    struct nn_stu_conf c = {.heads = 1, .hidden = 1, .attention = 1};
    nn_stu_attention(g, nn_input(g, "x", &shape, false), NULL, &c);
    CHECK(graph_finish(g, &err) == RC_INVAL);
    CHECK_STR(err.msg,
              "stu attention: takes gates, values, queries and keys of positions: "
              "4 floats, not 5");
    graph_destroy(g);
    g = graph_create(&(struct graph_options){.seed = 3});
    CHECK(graph_axis_sum(g, "none", 1, &(struct nn_axis_part){.axis = 3, .times = 1}, 1) <
          0);
    CHECK(graph_finish(g, &err) == RC_INVAL);
    CHECK_STR(err.msg, "axis 'none' does not follow from 1 others");
    graph_destroy(g);
}

static const struct tap_case cases[] = {
    TAP(slopes_of_attention),      TAP(attention_is_the_plain_sum), TAP(slopes_of_tokens),
    TAP(tokens_say_what_and_when), TAP(wrong_sizes_are_refused),
};
TAP_MAIN(cases)
