/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax over the last dimension, and over the positions of a sequence; L2
 * normalisation. */
#include <math.h>

#include "nn/graph_private.h"
#include "nn/onnx.h"
#include "nn/ops.h"

struct softmax_conf {
    int64_t n; /* of the last dimension; 0: over the positions */
};

static enum rc same_infer(const void *conf, const struct shape *in, int n_in,
                          struct shape *out, int64_t *keep_width, struct err *err)
{
    out[0] = in[0];
    *keep_width = 0;
    return RC_OK;
}

/* n values, `step` floats apart. */
static void softmax_values(const float *x, float *y, int64_t n, int64_t x_step,
                           int64_t y_step)
{
    float max = -INFINITY;
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        max = x[i * x_step] > max ? x[i * x_step] : max;
    for (int64_t i = 0; i < n; i++) {
        y[i * y_step] = expf(x[i * x_step] - max);
        sum += (double)y[i * y_step];
    }
    float scale = (float)(1.0 / sum);
    for (int64_t i = 0; i < n; i++)
        y[i * y_step] *= scale;
}

static void softmax_slopes(const float *y, const float *dy, float *dx, int64_t n,
                           int64_t y_step, int64_t d_step, int64_t x_step)
{
    double dot = 0;
    for (int64_t i = 0; i < n; i++)
        dot += (double)y[i * y_step] * (double)dy[i * d_step];
    for (int64_t i = 0; i < n; i++)
        dx[i * x_step] += y[i * y_step] * (dy[i * d_step] - (float)dot);
}

static void softmax_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct softmax_conf *c = r->conf;
    int64_t from, to;
    op_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t k = from; k < to; k++)
        for (int64_t at = 0; at < r->in[0].width; at += c->n)
            softmax_values(view_row(&r->in[0], k) + at, view_row(&r->out[0], k) + at,
                           c->n, 1, 1);
}

static void softmax_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct softmax_conf *c = r->conf;
    int64_t from, to;
    if (!r->d_in[0].data)
        return;
    op_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t k = from; k < to; k++)
        for (int64_t at = 0; at < r->in[0].width; at += c->n)
            softmax_slopes(view_row(&r->out[0], k) + at, view_row(&r->d_out[0], k) + at,
                           view_row(&r->d_in[0], k) + at, c->n, 1, 1, 1);
}

static void softmax_onnx(struct onnx *o, const struct onnx_op *op)
{
    onnx_node(o, &(struct onnx_node){.type = "Softmax",
                                     .in = op->x,
                                     .n_in = 1,
                                     .out = op->y[0],
                                     .attrs = {ONNX_INT("axis", -1)}});
}

static const struct op_ops op_softmax = {.name = "softmax",
                                         .flags = OP_NEEDS_OUT | OP_STRIDED,
                                         .infer = same_infer,
                                         .forward = softmax_forward,
                                         .backward = softmax_backward,
                                         .onnx = softmax_onnx};

struct val *nn_softmax(struct graph *g, struct val *x)
{
    if (!x)
        return NULL;
    struct softmax_conf conf = {.n = x->shape.dims[x->shape.n_dims - 1]};
    return nn_op(g, &op_softmax, &x, 1, NULL, 0, &conf, sizeof(conf));
}

struct seq_conf {
    bool but_last;
};

static enum rc seq_infer(const void *conf, const struct shape *in, int n_in,
                         struct shape *out, int64_t *keep_width, struct err *err)
{
    out[0] = in[0];
    *keep_width = 0;
    if (in[0].axis == AXIS_BATCH || shape_width(&in[0]) != 1)
        return err_set(err, RC_INVAL, "takes one score per position");
    return RC_OK;
}

/* Positions of a row that take part; the last does not where conf says so. */
static int64_t taking_part(const struct op_run *r, int64_t b)
{
    const int64_t *at = r->env->rows.offsets[r->out_axis[0]];
    const struct seq_conf *c = r->conf;
    int64_t n = at[b + 1] - at[b] - (c->but_last ? 1 : 0);
    return n > 0 ? n : 0;
}

static void seq_softmax_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    const int64_t *at = r->env->rows.offsets[r->out_axis[0]];
    for (int64_t b = begin; b < end; b++) {
        int64_t n = taking_part(r, b);
        if (n > 0)
            softmax_values(view_row(&r->in[0], at[b]), view_row(&r->out[0], at[b]), n,
                           r->in[0].ld, r->out[0].ld);
        for (int64_t k = at[b] + n; k < at[b + 1]; k++)
            *view_row(&r->out[0], k) = 0.0f;
    }
}

static void seq_softmax_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    const int64_t *at = r->env->rows.offsets[r->out_axis[0]];
    for (int64_t b = begin; r->d_in[0].data && b < end; b++)
        softmax_slopes(view_row(&r->out[0], at[b]), view_row(&r->d_out[0], at[b]),
                       view_row(&r->d_in[0], at[b]), taking_part(r, b), r->out[0].ld,
                       r->d_out[0].ld, r->d_in[0].ld);
}

/* Padding gets a score far below all others; a row without positions is all zeros. */
static void seq_softmax_onnx(struct onnx *o, const struct onnx_op *op)
{
    const char *mask = onnx_mask_column(o, op->in[0].axis);
    const char *far =
        onnx_with(o, "Mul", NULL, onnx_with(o, "Sub", NULL, mask, 1), 1e30f);
    struct shape one = {.axis = op->in[0].axis, .n_dims = 1, .dims = {1}};
    const char *scores = onnx_binary(
        o, "Add", NULL,
        onnx_binary(o, "Mul", NULL, onnx_flat(o, op->x[0], &op->in[0]), mask), far);
    const char *y = onnx_node(o, &(struct onnx_node){.type = "Softmax",
                                                     .in = &scores,
                                                     .n_in = 1,
                                                     .attrs = {ONNX_INT("axis", 1)}});
    onnx_reshape(o, op->y[0], onnx_binary(o, "Mul", NULL, y, mask), &one, &op->out[0]);
}

static const struct op_ops op_seq_softmax = {.name = "sequence softmax",
                                             .flags = OP_NEEDS_OUT | OP_STRIDED,
                                             .infer = seq_infer,
                                             .forward = seq_softmax_forward,
                                             .backward = seq_softmax_backward,
                                             .onnx = seq_softmax_onnx};

static const struct op_ops op_seq_softmax_before = {.name = "softmax before the last",
                                                    .flags = OP_NEEDS_OUT | OP_STRIDED,
                                                    .infer = seq_infer,
                                                    .forward = seq_softmax_forward,
                                                    .backward = seq_softmax_backward,
                                                    .onnx = onnx_nothing};

struct val *nn_seq_softmax(struct graph *g, struct val *scores)
{
    struct seq_conf conf = {.but_last = false};
    return nn_op(g, &op_seq_softmax, &scores, 1, NULL, 0, &conf, sizeof(conf));
}

struct val *nn_seq_softmax_before(struct graph *g, struct val *scores)
{
    struct seq_conf conf = {.but_last = true};
    return nn_op(g, &op_seq_softmax_before, &scores, 1, NULL, 0, &conf, sizeof(conf));
}

struct l2_conf {
    float eps;
};

static enum rc l2_infer(const void *conf, const struct shape *in, int n_in,
                        struct shape *out, int64_t *keep_width, struct err *err)
{
    out[0] = in[0];
    *keep_width = 1;
    return RC_OK;
}

static void l2_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct l2_conf *c = r->conf;
    int64_t from, to;
    op_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t k = from; k < to; k++) {
        const float *x = view_row(&r->in[0], k);
        float *y = view_row(&r->out[0], k);
        double sum = 0;
        for (int64_t i = 0; i < r->in[0].width; i++)
            sum += (double)x[i] * (double)x[i];
        double length = sqrt(sum) > (double)c->eps ? sqrt(sum) : (double)c->eps;
        *view_row(&r->keep, k) = (float)(1.0 / length);
        for (int64_t i = 0; i < r->in[0].width; i++)
            y[i] = (float)((double)x[i] / length);
    }
}

static void l2_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct l2_conf *c = r->conf;
    int64_t from, to;
    if (!r->d_in[0].data)
        return;
    op_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t k = from; k < to; k++) {
        const float *y = view_row(&r->out[0], k), *dy = view_row(&r->d_out[0], k);
        float *dx = view_row(&r->d_in[0], k), inv = *view_row(&r->keep, k);
        double dot = 0;
        for (int64_t i = 0; i < r->in[0].width; i++)
            dot += (double)y[i] * (double)dy[i];
        if (inv >= 1.0f / c->eps)
            dot = 0; /* a row shorter than eps is only scaled */
        for (int64_t i = 0; i < r->in[0].width; i++)
            dx[i] += (dy[i] - y[i] * (float)dot) * inv;
    }
}

static void l2_onnx(struct onnx *o, const struct onnx_op *op)
{
    const struct l2_conf *c = op->conf;
    const char *x = onnx_flat(o, op->x[0], &op->in[0]);
    struct shape flat = {
        .axis = op->in[0].axis, .n_dims = 1, .dims = {shape_width(&op->in[0])}};
    const char *length = onnx_unary(
        o, "Sqrt", NULL, onnx_sum(o, NULL, onnx_binary(o, "Mul", NULL, x, x), -1, true));
    length = onnx_with(o, "Max", NULL, length, c->eps);
    onnx_reshape(o, op->y[0], onnx_binary(o, "Div", NULL, x, length), &flat, &op->out[0]);
}

static const struct op_ops op_l2 = {.name = "l2 normalise",
                                    .flags = OP_NEEDS_OUT | OP_STRIDED,
                                    .infer = l2_infer,
                                    .forward = l2_forward,
                                    .backward = l2_backward,
                                    .onnx = l2_onnx};

struct val *nn_l2_normalise(struct graph *g, struct val *x, float eps)
{
    struct l2_conf conf = {.eps = eps};
    return nn_op(g, &op_l2, &x, 1, NULL, 0, &conf, sizeof(conf));
}
