/* SPDX-License-Identifier: Apache-2.0 */
/* Gated recurrent units (Cho et al. 2014), in the form of PyTorch:
 *
 *     r = sigmoid(a_r + b_r), z = sigmoid(a_z + b_z), n = tanh(a_n + r * b_n),
 *     h' = (1 - z) * n + z * h
 *
 * where a [3 * width] comes from the input and b [3 * width] from the state h, each as r,
 * z, n side by side. nn_gru_cell() does one such step for rows of any axis;
 * nn_seq_gru() runs along the positions of a row, with b = W h + bias of the position
 * before (the first has h = 0).
 *
 * Rows of a tile are taken some at a time, and one position of all of them at once, so
 * that the product with W has more than one row. Their states lie in scattered places:
 * they are gathered on the stack.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "nn/graph_private.h"
#include "nn/onnx.h"
#include "nn/ops.h"
#include "tensor/kernel.h"

#define GRU_ROWS 16 /* that go side by side */

/* What is kept of a position, in units of the width. */
enum { KEEP_R, KEEP_Z, KEEP_N, KEEP_BN, KEEP_H, KEEP_DB, KEEP_ALL = KEEP_DB + 3 };

static void sigmoid(float *y, const float *x, int64_t n)
{
    kernels()->act[KERNEL_SIGMOID].value(y, x, 0, n);
}

static void tanh_of(float *y, const float *x, int64_t n)
{
    kernels()->act[KERNEL_TANH].value(y, x, 0, n);
}

/* How much of h stays where z is: less than z when the update counts for less. */
static inline float stays(float z, float weight)
{
    return 1.0f - weight * (1.0f - z);
}

/* One step of one row; a and b [3 * w], keep [5 * w]. */
static void cell_forward(const float *a, const float *b, const float *h, int64_t w,
                         float weight, float *keep, float *y)
{
    float *r = keep + KEEP_R * w, *n = keep + KEEP_N * w;
    const float *z = keep + KEEP_Z * w;
    memcpy(r, a, (size_t)(2 * w) * sizeof(float)); /* r and z lie side by side */
    kernels()->add(r, b, 2 * w);
    sigmoid(r, r, 2 * w);
    memcpy(keep + KEEP_BN * w, b + 2 * w, (size_t)w * sizeof(float));
    memcpy(n, a + 2 * w, (size_t)w * sizeof(float));
    kernels()->mul_add(n, r, b + 2 * w, w);
    tanh_of(n, n, w);
    memcpy(keep + KEEP_H * w, h, (size_t)w * sizeof(float));
    for (int64_t i = 0; i < w; i++)
        y[i] = n[i] + stays(z[i], weight) * (keep[KEEP_H * w + i] - n[i]);
}

/* dy [w] -> da and db [3 * w] are written, dh [w] too. */
CLONED static void cell_backward(const float *restrict keep, const float *restrict dy,
                                 int64_t w, float weight, float *restrict da,
                                 float *restrict db, float *restrict dh)
{
    const float *r = keep + KEEP_R * w, *z = keep + KEEP_Z * w, *n = keep + KEEP_N * w;
    const float *bn = keep + KEEP_BN * w, *h = keep + KEEP_H * w;
    for (int64_t i = 0; i < w; i++) {
        float keeps = stays(z[i], weight);
        float dz = dy[i] * (h[i] - n[i]) * weight * z[i] * (1 - z[i]);
        float dn = dy[i] * (1 - keeps) * (1 - n[i] * n[i]);
        float dr = dn * bn[i] * r[i] * (1 - r[i]);
        da[i] = db[i] = dr;
        da[w + i] = db[w + i] = dz;
        da[2 * w + i] = dn;
        db[2 * w + i] = dn * r[i];
        dh[i] = dy[i] * keeps;
    }
}

static float weight_slope(const float *keep, const float *dy, int64_t w)
{
    const float *z = keep + KEEP_Z * w, *n = keep + KEEP_N * w, *h = keep + KEEP_H * w;
    float sum = 0;
    for (int64_t i = 0; i < w; i++)
        sum += dy[i] * (h[i] - n[i]) * (z[i] - 1);
    return sum;
}

/* --- one step --- */

enum { CELL_A, CELL_B, CELL_H };

static enum rc cell_infer(const void *conf, const struct shape *in, int n_in,
                          struct shape *out, int64_t *keep_width, struct err *err)
{
    int64_t w = shape_width(&in[CELL_H]);
    out[0] = in[CELL_H];
    *keep_width = (KEEP_H + 1) * w;
    for (int i = 0; i < CELL_H; i++)
        if (shape_width(&in[i]) != 3 * w || in[i].axis != in[CELL_H].axis)
            return err_set(err, RC_INVAL, "a state of %jd values takes %jd, not %jd",
                           (intmax_t)w, (intmax_t)(3 * w), (intmax_t)shape_width(&in[i]));
    if (w > NN_GRU_WIDTH_MAX)
        return err_set(err, RC_INVAL, "a state of %jd values is above %d", (intmax_t)w,
                       NN_GRU_WIDTH_MAX);
    return RC_OK;
}

static void gru_cell_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    int64_t from, to;
    op_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t k = from; k < to; k++)
        cell_forward(view_row(&r->in[CELL_A], k), view_row(&r->in[CELL_B], k),
                     view_row(&r->in[CELL_H], k), r->in[CELL_H].width, 1,
                     view_row(&r->keep, k), view_row(&r->out[0], k));
}

/* Whether slopes go straight to where they are wanted. */
static bool is_written(const struct op_run *r, int i)
{
    return r->d_in[i].data && r->d_in_fresh[i];
}

static void gru_cell_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    float da[3 * NN_GRU_WIDTH_MAX], db[3 * NN_GRU_WIDTH_MAX], dh[NN_GRU_WIDTH_MAX];
    float *const parts[] = {da, db, dh};
    int64_t from, to, w = r->in[CELL_H].width;
    op_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t k = from; k < to; k++) {
        float *into[CELL_H + 1];
        for (int i = CELL_A; i <= CELL_H; i++)
            into[i] = is_written(r, i) ? view_row(&r->d_in[i], k) : parts[i];
        cell_backward(view_row(&r->keep, k), view_row(&r->d_out[0], k), w, 1,
                      into[CELL_A], into[CELL_B], into[CELL_H]);
        for (int i = CELL_A; i <= CELL_H; i++)
            if (r->d_in[i].data && !is_written(r, i))
                kernels()->add(view_row(&r->d_in[i], k), parts[i], r->in[i].width);
    }
}

/* Columns [from, from + n) of the last axis. */
static const char *put_part(struct onnx *o, const char *x, int64_t from, int64_t n)
{
    int64_t to = from + n, axis = -1;
    const char *in[] = {x, onnx_ints(o, &from, 1), onnx_ints(o, &to, 1),
                        onnx_ints(o, &axis, 1)};
    return onnx_node(o, &(struct onnx_node){.type = "Slice", .in = in, .n_in = 4});
}

/* One step from a, b and h of width w; `weight` NULL: the update counts in full. */
static const char *put_cell(struct onnx *o, const char *out, const char *a, const char *b,
                            const char *h, const char *weight, int64_t w)
{
    const char *gates[2];
    for (int i = 0; i < 2; i++) {
        const char *sum = onnx_binary(o, "Add", NULL, put_part(o, a, i * w, w),
                                      put_part(o, b, i * w, w));
        gates[i] = onnx_unary(o, "Sigmoid", NULL, sum);
    }
    const char *bn = onnx_binary(o, "Mul", NULL, gates[0], put_part(o, b, 2 * w, w));
    const char *n = onnx_unary(o, "Tanh", NULL,
                               onnx_binary(o, "Add", NULL, put_part(o, a, 2 * w, w), bn));
    const char *keeps = gates[1];
    if (weight) {
        const char *goes = onnx_binary(o, "Sub", NULL, onnx_number(o, 1), keeps);
        goes = onnx_binary(o, "Mul", NULL, weight, goes);
        keeps = onnx_binary(o, "Sub", NULL, onnx_number(o, 1), goes);
    }
    const char *rest =
        onnx_binary(o, "Mul", NULL, keeps, onnx_binary(o, "Sub", NULL, h, n));
    return onnx_binary(o, "Add", out, n, rest);
}

static void cell_onnx(struct onnx *o, const struct onnx_op *op)
{
    put_cell(o, op->y[0], op->x[CELL_A], op->x[CELL_B], op->x[CELL_H], NULL,
             shape_width(&op->in[CELL_H]));
}

static const struct op_ops op_cell = {.name = "gru cell",
                                      .flags = OP_NEEDS_IN | OP_WRITES,
                                      .infer = cell_infer,
                                      .forward = gru_cell_forward,
                                      .backward = gru_cell_backward,
                                      .onnx = cell_onnx};

struct val *nn_gru_cell(struct graph *g, struct val *a, struct val *b, struct val *h)
{
    struct val *in[] = {a, b, h};
    return nn_op(g, &op_cell, in, 3, NULL, 0, NULL, 0);
}

/* --- along a sequence --- */

struct gru_conf {
    int64_t width;
    enum gemm_precision precision;
};

enum { PARAM_W, PARAM_BIAS };

static enum rc gru_infer(const void *conf, const struct shape *in, int n_in,
                         struct shape *out, int64_t *keep_width, struct err *err)
{
    const struct gru_conf *c = conf;
    out[0] = (struct shape){.axis = in[0].axis, .n_dims = 1, .dims = {c->width}};
    *keep_width = KEEP_ALL * c->width;
    if (in[0].axis == AXIS_BATCH)
        return err_set(err, RC_INVAL, "takes values of positions");
    if (n_in == 2 && (in[1].axis != in[0].axis || shape_width(&in[1]) != 1))
        return err_set(err, RC_INVAL, "takes one weight per position");
    return RC_OK;
}

static enum rc gru_setup(const void *conf, const struct shape *in,
                         const struct shape *out, bool training, void **state,
                         struct err *err)
{
    const struct gru_conf *c = conf;
    struct gemm_weight *w = NULL;
    enum rc rc =
        gemm_weight_create(3 * c->width, c->width, c->precision, training, &w, err);
    *state = w;
    return rc;
}

static void gru_teardown(void *state)
{
    gemm_weight_destroy(state);
}

static void gru_begin(const struct op_run *r)
{
    gemm_pack(r->state, r->params[PARAM_W]->value);
}

/* Rows [begin, end) of the batch that have a position `t`. */
static int64_t rows_at(const int64_t *at, int64_t begin, int64_t end, int64_t t,
                       int64_t *rows)
{
    int64_t n = 0;
    for (int64_t b = begin; b < end; b++)
        if (at[b + 1] - at[b] > t)
            rows[n++] = b;
    return n;
}

static int64_t longest_of(const int64_t *at, int64_t begin, int64_t end)
{
    int64_t longest = 0;
    for (int64_t b = begin; b < end; b++)
        longest = at[b + 1] - at[b] > longest ? at[b + 1] - at[b] : longest;
    return longest;
}

static float weight_at(const struct op_run *r, int64_t position)
{
    return r->n_in == 2 ? *view_row(&r->in[1], position) : 1.0f;
}

static void gru_rows_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    const int64_t *at = r->env->rows.offsets[r->in_axis[0]];
    int64_t w = r->out[0].width, rows[GRU_ROWS];
    int64_t longest = longest_of(at, begin, end);
    float h[GRU_ROWS * NN_GRU_WIDTH_MAX], b[GRU_ROWS * 3 * NN_GRU_WIDTH_MAX];
    for (int64_t t = 0; t < longest; t++) {
        int64_t n = rows_at(at, begin, end, t, rows);
        for (int64_t k = 0; k < n && t == 0; k++)
            memset(h + k * w, 0, (size_t)w * sizeof(float));
        for (int64_t k = 0; k < n && t > 0; k++)
            memcpy(h + k * w, view_row(&r->out[0], at[rows[k]] + t - 1),
                   (size_t)w * sizeof(float));
        gemm_forward(r->state, view_of(h, n, w), r->params[PARAM_BIAS]->value,
                     GEMM_ACT_NONE, view_of(b, n, 3 * w));
        for (int64_t k = 0; k < n; k++) {
            int64_t p = at[rows[k]] + t;
            cell_forward(view_row(&r->in[0], p), b + k * 3 * w, h + k * w, w,
                         weight_at(r, p), view_row(&r->keep, p), view_row(&r->out[0], p));
        }
    }
}

static void gru_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    for (int64_t b = begin; b < end; b += GRU_ROWS)
        gru_rows_forward(r, b, b + GRU_ROWS < end ? b + GRU_ROWS : end);
}

/* Of a position's weight. */
static void add_slope(const struct op_run *r, int64_t p, float slope)
{
    float *to = view_row(&r->d_in[1], p);
    *to = r->d_in_fresh[1] ? slope : *to + slope;
}

/* From the last position to the first: dh[b - begin] is what a row's state owes to the
 * positions behind. The slopes of b stay with the position, for grads.
 */
static void gru_rows_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    const int64_t *at = r->env->rows.offsets[r->in_axis[0]];
    int64_t w = r->out[0].width, rows[GRU_ROWS];
    float dh[GRU_ROWS * NN_GRU_WIDTH_MAX] = {0}, db[GRU_ROWS * 3 * NN_GRU_WIDTH_MAX];
    float own[GRU_ROWS * NN_GRU_WIDTH_MAX], da[3 * NN_GRU_WIDTH_MAX];
    for (int64_t t = longest_of(at, begin, end) - 1; t >= 0; t--) {
        int64_t n = rows_at(at, begin, end, t, rows);
        for (int64_t k = 0; k < n; k++) {
            int64_t p = at[rows[k]] + t;
            float *carry = dh + (rows[k] - begin) * w, *keep = view_row(&r->keep, p);
            kernels()->add(carry, view_row(&r->d_out[0], p), w);
            cell_backward(keep, carry, w, weight_at(r, p),
                          is_written(r, 0) ? view_row(&r->d_in[0], p) : da,
                          db + k * 3 * w, own + k * w);
            if (r->n_in == 2 && r->d_in[1].data)
                add_slope(r, p, weight_slope(keep, carry, w));
            if (r->d_in[0].data && !r->d_in_fresh[0])
                kernels()->add(view_row(&r->d_in[0], p), da, 3 * w);
            memcpy(keep + KEEP_DB * w, db + k * 3 * w, (size_t)(3 * w) * sizeof(float));
        }
        gemm_backward(r->state, view_of(db, n, 3 * w), true, view_of(own, n, w));
        for (int64_t k = 0; k < n; k++)
            memcpy(dh + (rows[k] - begin) * w, own + k * w, (size_t)w * sizeof(float));
    }
}

static void gru_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    for (int64_t b = begin; b < end; b += GRU_ROWS)
        gru_rows_backward(r, b, b + GRU_ROWS < end ? b + GRU_ROWS : end);
}

static void gru_grads(const struct op_run *r)
{
    int64_t w = r->out[0].width;
    if (r->params[PARAM_W]->grad && r->keep.rows > 0)
        gemm_gradient(r->state, view_cols(&r->keep, KEEP_DB * w, 3 * w),
                      view_cols(&r->keep, KEEP_H * w, w), r->params[PARAM_W]->grad,
                      r->params[PARAM_BIAS]->grad, r->env->pool);
}

/* Rows r, z, n of a parameter as z, r, n with an axis of one in front. */
static const char *put_turned(struct onnx *o, const struct param *p, int64_t w)
{
    static const int64_t order[] = {1, 0, 2}, zero = 0;
    const char *parts[3], *x = onnx_param(o, p);
    for (int i = 0; i < 3; i++) {
        int64_t from = order[i] * w, to = from + w;
        const char *in[] = {x, onnx_ints(o, &from, 1), onnx_ints(o, &to, 1),
                            onnx_ints(o, &zero, 1)};
        parts[i] =
            onnx_node(o, &(struct onnx_node){.type = "Slice", .in = in, .n_in = 4});
    }
    const char *joined = onnx_node(
        o, &(struct onnx_node){
               .type = "Concat", .in = parts, .n_in = 3, .attrs = {ONNX_INT("axis", 0)}});
    return onnx_binary(o, "Unsqueeze", NULL, joined, onnx_ints(o, &zero, 1));
}

/* What brings inputs r, z, n into the order z, r, n: a matrix of ones and zeros. */
static const char *put_order(struct onnx *o, int64_t w)
{
    float *m = mem_calloc((size_t)(9 * w * w), sizeof(float));
    for (int64_t i = 0; i < 3 * w; i++)
        m[i * 3 * w + (i < w ? i + w : i < 2 * w ? i - w : i)] = 1;
    const char *name = onnx_floats(o, m, (const int64_t[]){1, 3 * w, 3 * w}, 3);
    mem_free(m);
    return name;
}

static const char *put_swapped(struct onnx *o, const char *out, const char *x)
{
    struct onnx_attr perm = {
        .name = "perm", .kind = ONNX_ATTR_INTS, .ints = {1, 0, 2}, .n_ints = 3};
    return onnx_node(
        o, &(struct onnx_node){
               .type = "Transpose", .in = &x, .n_in = 1, .out = out, .attrs = {perm}});
}

static void gru_onnx(struct onnx *o, const struct onnx_op *op)
{
    const struct gru_conf *c = op->conf;
    int64_t w = c->width, three = 3 * w, one = 1;
    float *zeros = mem_calloc((size_t)three, sizeof(float));
    const char *bias[] = {onnx_floats(o, zeros, (const int64_t[]){1, three}, 2),
                          put_turned(o, op->params[PARAM_BIAS], w)};
    mem_free(zeros);
    const char *both = onnx_node(
        o, &(struct onnx_node){
               .type = "Concat", .in = bias, .n_in = 2, .attrs = {ONNX_INT("axis", 1)}});
    const char *in[] = {put_swapped(o, NULL, op->x[0]), put_order(o, w),
                        put_turned(o, op->params[PARAM_W], w), both};
    const char *y =
        onnx_node(o, &(struct onnx_node){.type = "GRU",
                                         .in = in,
                                         .n_in = 4,
                                         .attrs = {ONNX_INT("hidden_size", w),
                                                   ONNX_INT("linear_before_reset", 1)}});
    y = onnx_binary(o, "Squeeze", NULL, y, onnx_ints(o, &one, 1));
    put_swapped(o, op->y[0], y);
}

/* What a step of the loop reads beside its slices. */
struct scan_params {
    const char *w, *bias; /* [w, 3 * w] and [3 * w] */
    int64_t width;
};

static const char *weighted_step(struct onnx *o, const char *h, const char *const *x,
                                 const void *arg)
{
    const struct scan_params *p = arg;
    const char *b =
        onnx_binary(o, "Add", NULL, onnx_binary(o, "MatMul", NULL, h, p->w), p->bias);
    return put_cell(o, NULL, x[0], b, h, x[1], p->width);
}

/* Zeros [batch, w] for an x [batch, ...]. */
static const char *put_zeros(struct onnx *o, const char *x, int64_t w)
{
    static const int64_t zero = 0, one = 1;
    const char *cut[] = {onnx_unary(o, "Shape", NULL, x), onnx_ints(o, &zero, 1),
                         onnx_ints(o, &one, 1)};
    const char *dims[] = {
        onnx_node(o, &(struct onnx_node){.type = "Slice", .in = cut, .n_in = 3}),
        onnx_ints(o, &w, 1)};
    const char *shape = onnx_node(
        o, &(struct onnx_node){
               .type = "Concat", .in = dims, .n_in = 2, .attrs = {ONNX_INT("axis", 0)}});
    return onnx_unary(o, "ConstantOfShape", NULL, shape);
}

/* ONNX has no recurrent unit whose update counts by a weight: a loop. */
static void weighted_gru_onnx(struct onnx *o, const struct onnx_op *op)
{
    const struct gru_conf *c = op->conf;
    struct scan_params p = {
        .w = onnx_unary(o, "Transpose", NULL, onnx_param(o, op->params[PARAM_W])),
        .bias = onnx_param(o, op->params[PARAM_BIAS]),
        .width = c->width};
    const char *x[] = {put_swapped(o, NULL, op->x[0]), put_swapped(o, NULL, op->x[1])};
    struct onnx_scan scan = {.first = put_zeros(o, op->x[0], c->width),
                             .x = x,
                             .n_x = 2,
                             .body = weighted_step,
                             .arg = &p};
    put_swapped(o, op->y[0], onnx_scan(o, &scan));
}

static const struct op_ops op_gru = {.name = "gru",
                                     .flags = OP_NEEDS_IN | OP_NEEDS_OUT | OP_WRITES,
                                     .infer = gru_infer,
                                     .setup = gru_setup,
                                     .teardown = gru_teardown,
                                     .begin = gru_begin,
                                     .forward = gru_forward,
                                     .backward = gru_backward,
                                     .grads = gru_grads,
                                     .onnx = gru_onnx};

static const struct op_ops op_weighted_gru = {.name = "weighted gru",
                                              .flags = OP_NEEDS_IN | OP_NEEDS_OUT,
                                              .infer = gru_infer,
                                              .setup = gru_setup,
                                              .teardown = gru_teardown,
                                              .begin = gru_begin,
                                              .forward = gru_forward,
                                              .backward = gru_backward,
                                              .grads = gru_grads,
                                              .onnx = weighted_gru_onnx};

/* "weight_ih" and layer 1: "weight_ih_l1". */
static struct param *layer_param(struct graph *g, const char *what, int layer,
                                 const int64_t *dims, int n_dims, struct init init)
{
    char name[32];
    snprintf(name, sizeof(name), "%s_l%d", what, layer);
    return nn_param(g, name, dims, n_dims, init, true);
}

static struct val *seq_gru(struct graph *g, const char *name, int layer, struct val *x,
                           struct val *weights, int64_t width)
{
    if (!x)
        return NULL;
    if (width < 1 || width > NN_GRU_WIDTH_MAX)
        return graph_fail(g, "gru: a width of %jd is outside [1, %d]", (intmax_t)width,
                          NN_GRU_WIDTH_MAX);
    int64_t in = shape_width(&x->shape), three = 3 * width;
    double bound = 1.0 / sqrt((double)width);
    struct init init = {INIT_UNIFORM, -bound, bound};
    graph_push(g, name);
    struct param *w_in =
        layer_param(g, "weight_ih", layer, (const int64_t[]){three, in}, 2, init);
    struct param *w =
        layer_param(g, "weight_hh", layer, (const int64_t[]){three, width}, 2, init);
    struct param *b_in = layer_param(g, "bias_ih", layer, &three, 1, init);
    struct param *b = layer_param(g, "bias_hh", layer, &three, 1, init);
    graph_pop(g);
    struct gru_conf conf = {.width = width, .precision = g->options.precision};
    struct val *a = nn_linear_rows(g, w_in, b_in, 0, three, x);
    struct param *params[] = {[PARAM_W] = w, [PARAM_BIAS] = b};
    struct val *both[] = {a, weights};
    return nn_op(g, weights ? &op_weighted_gru : &op_gru, both, weights ? 2 : 1, params,
                 2, &conf, sizeof(conf));
}

struct val *nn_seq_gru(struct graph *g, const char *name, int layer, struct val *x,
                       int64_t width)
{
    return seq_gru(g, name, layer, x, NULL, width);
}

struct val *nn_seq_weighted_gru(struct graph *g, const char *name, int layer,
                                struct val *x, struct val *weights, int64_t width)
{
    return weights ? seq_gru(g, name, layer, x, weights, width) : NULL;
}
