/* SPDX-License-Identifier: Apache-2.0 */
/* The first layer of an attention over a sequence, which reads a query q beside each key
 * k as [q, k, q - k, q * k] (or without the difference). Nothing of that is laid out:
 *
 *     W [q, k, q - k, q * k] = (Wq + Wd) q + (Wk - Wd) k + Wp (q * k)
 *
 * The first term is one product per row of the batch (op `query part`), and its result
 * the bias with which the positions of that row are multiplied (op `key part`): k and
 * q * k, laid out a few positions at a time, by [Wk - Wd, Wp]; or in floats k alone, by a
 * matrix of the row, Wk - Wd + Wp diag(q), which is half of that again. Exact but for
 * rounding.
 *
 * The gradient of the weights is added up in PIECES of the batch whose sizes follow from
 * the batch alone, one after the other in the end: threads do not change it.
 */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "nn/graph_private.h"
#include "nn/onnx.h"
#include "nn/ops.h"
#include "tensor/gemm_mix.h"
#include "tensor/kernel.h"

#define PIECES 32
#define ROOM_FLOATS 24576 /* of the operands of a block of positions */
#define ROOM_ROWS 256

/* Columns of the weight where a part begins; diff < 0: there is none. */
struct pair_conf {
    enum gemm_precision precision;
    enum gemm_act act;
    bool bias, mixed;
    int64_t d, out;
    int64_t query, key, diff, product;
};

struct pair_state {
    struct gemm_weight *w;
    struct gemm_mix *mix; /* in place of w; NULL: none */
    int64_t in;           /* columns of w */
    float *joined;        /* [out][in]: what was packed */
    float *grads;         /* [pieces][out][in]; NULL outside of training */
};

static void pair_teardown(void *state)
{
    struct pair_state *s = state;
    if (!s)
        return;
    gemm_weight_destroy(s->w);
    gemm_mix_destroy(s->mix);
    mem_free(s->joined);
    mem_free(s->grads);
    mem_free(s);
}

static enum rc pair_state(const struct pair_conf *c, int64_t in, int64_t pieces,
                          bool training, void **state, struct err *err)
{
    struct pair_state *s = mem_calloc(1, sizeof(*s));
    size_t n = (size_t)(c->out * in);
    s->in = in;
    s->joined = mem_try_calloc(n, sizeof(float));
    s->grads = training ? mem_try_calloc((size_t)pieces * n, sizeof(float)) : NULL;
    enum rc rc =
        s->joined && (s->grads || !training)
            ? RC_OK
            : err_set(err, RC_NOMEM, "no memory for the gradient of %zu weights", n);
    if (!rc && c->mixed && c->precision == GEMM_F32)
        rc = gemm_mix_create(c->out, c->d, training, &s->mix, err);
    if (!rc && !s->mix)
        rc = gemm_weight_create(c->out, in, c->precision, training, &s->w, err);
    if (rc)
        pair_teardown(s);
    else
        *state = s;
    return rc;
}

static const float *weight_row(const struct op_run *r, int64_t unit)
{
    return r->params[0]->value + unit * r->params[0]->dims[1];
}

static float *grad_row(const struct op_run *r, int64_t unit)
{
    return r->params[0]->grad + unit * r->params[0]->dims[1];
}

static enum rc query_infer(const void *conf, const struct shape *in, int n_in,
                           struct shape *out, int64_t *keep_width, struct err *err)
{
    const struct pair_conf *c = conf;
    out[0] = (struct shape){.axis = in[0].axis, .n_dims = 1, .dims = {c->out}};
    *keep_width = 0;
    if (shape_width(&in[0]) != c->d)
        return err_set(err, RC_INVAL, "a query of %jd values for keys of %jd",
                       (intmax_t)shape_width(&in[0]), (intmax_t)c->d);
    return RC_OK;
}

static enum rc query_setup(const void *conf, const struct shape *in,
                           const struct shape *out, bool training, void **state,
                           struct err *err)
{
    const struct pair_conf *c = conf;
    return pair_state(c, c->d, 1, training, state, err);
}

static void query_begin(const struct op_run *r)
{
    const struct pair_conf *c = r->conf;
    const struct pair_state *s = r->state;
    for (int64_t u = 0; u < c->out; u++) {
        const float *w = weight_row(r, u);
        memcpy(s->joined + u * c->d, w + c->query, (size_t)c->d * sizeof(float));
        if (c->diff >= 0)
            kernels()->add(s->joined + u * c->d, w + c->diff, c->d);
    }
    gemm_pack(s->w, s->joined);
}

static void query_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct pair_conf *c = r->conf;
    const struct pair_state *s = r->state;
    gemm_forward(s->w, view_rows(&r->in[0], begin, end),
                 c->bias ? r->params[1]->value : NULL, GEMM_ACT_NONE,
                 view_rows(&r->out[0], begin, end));
}

static void query_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct pair_state *s = r->state;
    if (r->d_in[0].data)
        gemm_backward(s->w, view_rows(&r->d_out[0], begin, end), !r->d_in_fresh[0],
                      view_rows(&r->d_in[0], begin, end));
}

static void query_grads(const struct op_run *r)
{
    const struct pair_conf *c = r->conf;
    const struct pair_state *s = r->state;
    if (!r->params[0]->grad)
        return;
    memset(s->grads, 0, (size_t)(c->out * c->d) * sizeof(float));
    gemm_gradient(s->w, r->d_out[0], r->in[0], s->grads,
                  c->bias ? r->params[1]->grad : NULL, r->env->pool);
    for (int64_t u = 0; u < c->out; u++) {
        kernels()->add(grad_row(r, u) + c->query, s->grads + u * c->d, c->d);
        if (c->diff >= 0)
            kernels()->add(grad_row(r, u) + c->diff, s->grads + u * c->d, c->d);
    }
}

/* Columns [from, from + d) of the weight, turned round. */
static const char *put_part(struct onnx *o, const struct onnx_op *op, int64_t from)
{
    const struct pair_conf *c = op->conf;
    int64_t to = from + c->d, axis = 1;
    const char *in[] = {onnx_param(o, op->params[0]), onnx_ints(o, &from, 1),
                        onnx_ints(o, &to, 1), onnx_ints(o, &axis, 1)};
    return onnx_unary(
        o, "Transpose", NULL,
        onnx_node(o, &(struct onnx_node){.type = "Slice", .in = in, .n_in = 4}));
}

static void query_onnx(struct onnx *o, const struct onnx_op *op)
{
    const struct pair_conf *c = op->conf;
    const char *w = put_part(o, op, c->query);
    if (c->diff >= 0)
        w = onnx_binary(o, "Add", NULL, w, put_part(o, op, c->diff));
    const char *y = onnx_binary(o, "MatMul", c->bias ? NULL : op->y[0], op->x[0], w);
    if (c->bias)
        onnx_binary(o, "Add", op->y[0], y, onnx_param(o, op->params[1]));
}

static const struct op_ops op_query_part = {
    .name = "query part",
    .flags = OP_NEEDS_IN | OP_WRITES | OP_STRIDED,
    .infer = query_infer,
    .setup = query_setup,
    .teardown = pair_teardown,
    .begin = query_begin,
    .forward = query_forward,
    .backward = query_backward,
    .grads = query_grads,
    .onnx = query_onnx,
};

enum key_input { IN_START, IN_QUERY, IN_KEY };

static enum rc key_infer(const void *conf, const struct shape *in, int n_in,
                         struct shape *out, int64_t *keep_width, struct err *err)
{
    const struct pair_conf *c = conf;
    out[0] = (struct shape){.axis = in[IN_KEY].axis, .n_dims = 1, .dims = {c->out}};
    *keep_width = 0;
    if (in[IN_KEY].axis == AXIS_BATCH || in[IN_QUERY].axis != AXIS_BATCH)
        return err_set(err, RC_INVAL, "takes a query per row and keys of positions");
    return RC_OK;
}

static enum rc key_setup(const void *conf, const struct shape *in,
                         const struct shape *out, bool training, void **state,
                         struct err *err)
{
    const struct pair_conf *c = conf;
    return pair_state(c, 2 * c->d, PIECES, training, state, err);
}

static void key_begin(const struct op_run *r)
{
    const struct pair_conf *c = r->conf;
    const struct pair_state *s = r->state;
    for (int64_t u = 0; u < c->out; u++) {
        const float *w = weight_row(r, u);
        float *to = s->joined + u * s->in;
        memcpy(to, w + c->key, (size_t)c->d * sizeof(float));
        memcpy(to + c->d, w + c->product, (size_t)c->d * sizeof(float));
        if (c->diff >= 0)
            kernels()->axpy(to, -1.0f, w + c->diff, c->d);
    }
    if (s->mix)
        gemm_mix_pack(s->mix, s->joined);
    else
        gemm_pack(s->w, s->joined);
}

static int64_t block_rows(const struct pair_conf *c)
{
    int64_t rows = ROOM_FLOATS / (2 * c->d);
    return rows < ROOM_ROWS ? rows : ROOM_ROWS;
}

/* k and q * k of positions [from, to), which belong to the batch row that `row` walks. */
static struct view pair_block(const struct op_run *r, int64_t from, int64_t to,
                              int64_t row, float *room)
{
    const struct pair_conf *c = r->conf;
    const int64_t *at = r->env->rows.offsets[r->in_axis[IN_KEY]];
    struct view v = {.data = room, .rows = to - from, .width = 2 * c->d, .ld = 2 * c->d};
    for (int64_t k = from; k < to; k++) {
        float *x = view_row(&v, k - from);
        while (at[row + 1] <= k)
            row++;
        memcpy(x, view_row(&r->in[IN_KEY], k), (size_t)c->d * sizeof(float));
        kernels()->mul(x + c->d, view_row(&r->in[IN_QUERY], row), x, c->d);
    }
    return v;
}

/* Rows [begin, end) by a matrix each. */
static void mixed_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct pair_conf *c = r->conf;
    const struct pair_state *s = r->state;
    const int64_t *at = r->env->rows.offsets[r->in_axis[IN_KEY]];
    for (int64_t b = begin; b < end; b++)
        if (at[b] < at[b + 1])
            gemm_mix_forward(s->mix, view_row(&r->in[IN_QUERY], b),
                             view_rows(&r->in[IN_KEY], at[b], at[b + 1]),
                             view_row(&r->in[IN_START], b), c->act,
                             view_rows(&r->out[0], at[b], at[b + 1]));
}

static void key_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct pair_conf *c = r->conf;
    const struct pair_state *s = r->state;
    const int64_t *at = r->env->rows.offsets[r->in_axis[IN_KEY]];
    int64_t rows = block_rows(c);
    float room[ROOM_FLOATS];
    if (s->mix) {
        mixed_forward(r, begin, end);
        return;
    }
    for (int64_t b = begin; b < end; b++)
        for (int64_t k = at[b]; k < at[b + 1]; k += rows) {
            int64_t to = k + rows < at[b + 1] ? k + rows : at[b + 1];
            gemm_forward(s->w, pair_block(r, k, to, b, room),
                         view_row(&r->in[IN_START], b), c->act,
                         view_rows(&r->out[0], k, to));
        }
}

static void through_act(const struct pair_conf *c, struct view y, struct view dy)
{
    for (int64_t i = 0; i < y.rows && c->act != GEMM_ACT_NONE; i++)
        kernels()->act_grad_from_out[c->act](view_row(&y, i), view_row(&dy, i), y.width);
}

/* Adds the gradient of one position to its key, its query and the query's start. */
static void spread_position(const struct op_run *r, int64_t k, int64_t row,
                            const float *dx)
{
    const struct pair_conf *c = r->conf;
    const struct view *d = r->d_in;
    if (d[IN_START].data)
        kernels()->add(view_row(&d[IN_START], row), view_row(&r->d_out[0], k), c->out);
    if (d[IN_QUERY].data)
        kernels()->mul_add(view_row(&d[IN_QUERY], row), dx + c->d,
                           view_row(&r->in[IN_KEY], k), c->d);
    if (!d[IN_KEY].data)
        return;
    if (r->d_in_fresh[IN_KEY])
        memcpy(view_row(&d[IN_KEY], k), dx, (size_t)c->d * sizeof(float));
    else
        kernels()->add(view_row(&d[IN_KEY], k), dx, c->d);
    kernels()->mul_add(view_row(&d[IN_KEY], k), dx + c->d,
                       view_row(&r->in[IN_QUERY], row), c->d);
}

/* Rows of the batch that nobody has written before start from nothing. */
static void clear_fresh(const struct op_run *r, int64_t begin, int64_t end)
{
    for (int i = IN_START; i <= IN_QUERY; i++)
        for (int64_t b = begin; r->d_in[i].data && r->d_in_fresh[i] && b < end; b++)
            memset(view_row(&r->d_in[i], b), 0, (size_t)r->d_in[i].width * sizeof(float));
}

/* The gradients of one row of the batch by its matrix. */
static void mixed_backward(const struct op_run *r, int64_t b, float *grads)
{
    const struct pair_state *s = r->state;
    const int64_t *at = r->env->rows.offsets[r->in_axis[IN_KEY]];
    const struct view *d = r->d_in;
    const float *q = view_row(&r->in[IN_QUERY], b);
    struct view dy = view_rows(&r->d_out[0], at[b], at[b + 1]);
    if (dy.rows == 0)
        return;
    through_act(r->conf, view_rows(&r->out[0], at[b], at[b + 1]), dy);
    for (int64_t i = 0; i < dy.rows && d[IN_START].data; i++)
        kernels()->add(view_row(&d[IN_START], b), view_row(&dy, i), dy.width);
    gemm_mix_gradient(s->mix, q, dy, view_rows(&r->in[IN_KEY], at[b], at[b + 1]), grads,
                      d[IN_QUERY].data ? view_row(&d[IN_QUERY], b) : NULL);
    if (d[IN_KEY].data)
        gemm_mix_backward(s->mix, q, dy, !r->d_in_fresh[IN_KEY],
                          view_rows(&d[IN_KEY], at[b], at[b + 1]));
}

/* The same for positions [from, to), the first of which belongs to row `row`. */
static void block_backward(const struct op_run *r, int64_t from, int64_t to, int64_t row,
                           float *grads)
{
    const struct pair_conf *c = r->conf;
    const struct pair_state *s = r->state;
    const int64_t *at = r->env->rows.offsets[r->in_axis[IN_KEY]];
    float room[ROOM_FLOATS], d_room[ROOM_FLOATS];
    struct view dy = view_rows(&r->d_out[0], from, to);
    struct view dx = {.data = d_room, .rows = to - from, .width = s->in, .ld = s->in};
    through_act(c, view_rows(&r->out[0], from, to), dy);
    gemm_backward(s->w, dy, false, dx);
    if (r->params[0]->grad)
        gemm_gradient(s->w, dy, pair_block(r, from, to, row, room), grads, NULL, NULL);
    for (int64_t i = from; i < to; i++) {
        while (at[row + 1] <= i)
            row++;
        spread_position(r, i, row, view_row(&dx, i - from));
    }
}

static void key_piece(void *arg, int64_t begin, int64_t end, int64_t chunk)
{
    const struct op_run *r = arg;
    const struct pair_conf *c = r->conf;
    const struct pair_state *s = r->state;
    const int64_t *at = r->env->rows.offsets[r->in_axis[IN_KEY]];
    float *grads = s->grads + chunk * c->out * s->in;
    int64_t rows = block_rows(c), row = begin;
    clear_fresh(r, begin, end);
    memset(grads, 0, (size_t)(c->out * s->in) * sizeof(float));
    for (int64_t b = begin; s->mix && b < end; b++)
        mixed_backward(r, b, grads);
    for (int64_t k = at[begin]; !s->mix && k < at[end]; k += rows) {
        while (at[row + 1] <= k)
            row++;
        block_backward(r, k, k + rows < at[end] ? k + rows : at[end], row, grads);
    }
}

static int64_t piece_rows(const struct op_run *r)
{
    int64_t n = r->env->rows.n[AXIS_BATCH];
    return n > PIECES ? (n + PIECES - 1) / PIECES : 1;
}

static void key_sync_backward(const struct op_run *r)
{
    pool_for(r->env->pool, r->env->rows.n[AXIS_BATCH], piece_rows(r), key_piece,
             (void *)r);
}

static void add_units(void *arg, int64_t begin, int64_t end, int64_t chunk)
{
    const struct op_run *r = arg;
    const struct pair_conf *c = r->conf;
    const struct pair_state *s = r->state;
    int64_t pieces = pool_chunks(r->env->rows.n[AXIS_BATCH], piece_rows(r));
    for (int64_t u = begin; u < end; u++)
        for (int64_t p = 0; p < pieces; p++) {
            const float *g = s->grads + (p * c->out + u) * s->in;
            kernels()->add(grad_row(r, u) + c->key, g, c->d);
            kernels()->add(grad_row(r, u) + c->product, g + c->d, c->d);
            if (c->diff >= 0)
                kernels()->axpy(grad_row(r, u) + c->diff, -1.0f, g, c->d);
        }
}

static void key_grads(const struct op_run *r)
{
    enum { UNITS = 16 };
    const struct pair_conf *c = r->conf;
    if (r->params[0]->grad)
        pool_for(r->env->pool, c->out, UNITS, add_units, (void *)r);
}

static void key_onnx(struct onnx *o, const struct onnx_op *op)
{
    static const char *const acts[] = {[GEMM_ACT_RELU] = "Relu",
                                       [GEMM_ACT_SIGMOID] = "Sigmoid",
                                       [GEMM_ACT_TANH] = "Tanh"};
    const struct pair_conf *c = op->conf;
    bool act = c->act != GEMM_ACT_NONE;
    int64_t one = 1;
    const char *k = op->x[IN_KEY], *axis = onnx_ints(o, &one, 1);
    const char *q = onnx_binary(o, "Unsqueeze", NULL, op->x[IN_QUERY], axis);
    const char *start = onnx_binary(o, "Unsqueeze", NULL, op->x[IN_START], axis);
    const char *w = put_part(o, op, c->key);
    if (c->diff >= 0)
        w = onnx_binary(o, "Sub", NULL, w, put_part(o, op, c->diff));
    const char *y = onnx_binary(o, "MatMul", NULL, k, w);
    const char *product =
        onnx_binary(o, "MatMul", NULL, onnx_binary(o, "Mul", NULL, q, k),
                    put_part(o, op, c->product));
    y = onnx_binary(o, "Add", NULL, y, product);
    y = onnx_binary(o, "Add", act ? NULL : op->y[0], y, start);
    if (act)
        onnx_unary(o, acts[c->act], op->y[0], y);
}

static const struct op_ops op_key_part = {
    .name = "key part",
    .flags = OP_NEEDS_IN | OP_NEEDS_OUT | OP_WRITES | OP_STRIDED,
    .infer = key_infer,
    .setup = key_setup,
    .teardown = pair_teardown,
    .begin = key_begin,
    .forward = key_forward,
    .sync_backward = key_sync_backward,
    .grads = key_grads,
    .onnx = key_onnx,
};

bool nn_pairs_fit(const struct val *query, const struct val *keys)
{
    return query && keys && shape_width(&query->shape) == shape_width(&keys->shape) &&
           shape_width(&keys->shape) * 8 <= ROOM_FLOATS;
}

struct val *nn_pair_linear(struct graph *g, const char *name, struct val *query,
                           struct val *keys, bool differences, int64_t out, bool bias,
                           enum act act)
{
    if (!query || !keys)
        return NULL;
    int64_t d = shape_width(&keys->shape), in = (differences ? 4 : 3) * d;
    double bound = 1.0 / sqrt((double)in);
    struct init init = {INIT_UNIFORM, -bound, bound};
    struct pair_conf conf = {.precision = g->options.precision,
                             .bias = bias,
                             .d = d,
                             .out = out,
                             .query = differences ? 0 : 2 * d,
                             .key = differences ? d : 0,
                             .diff = differences ? 2 * d : -1,
                             .product = differences ? 3 * d : d};
    struct param *params[2] = {0};
    graph_push(g, name);
    params[0] = nn_param(g, "weight", (const int64_t[]){out, in}, 2, init, true);
    if (bias)
        params[1] = nn_param(g, "bias", &out, 1, init, true);
    graph_pop(g);
    struct val *start =
        nn_op(g, &op_query_part, &query, 1, params, bias ? 2 : 1, &conf, sizeof(conf));
    bool whole = nn_fused_act(act, &conf.act);
    conf.mixed = true;
    struct val *in_vals[] = {start, query, keys};
    struct val *y = nn_op(g, &op_key_part, in_vals, 3, params, 1, &conf, sizeof(conf));
    return whole ? y : nn_act(g, y, act, act == ACT_LEAKY_RELU ? 0.01f : 1.0f);
}
