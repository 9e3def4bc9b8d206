/* SPDX-License-Identifier: Apache-2.0 */
/* Between rows of the batch and positions of their sequences. Nothing is padded: a row's
 * positions are those between its offsets.
 */
#include <string.h>

#include "nn/graph_private.h"
#include "nn/onnx.h"
#include "nn/ops.h"
#include "tensor/kernel.h"

struct expand_conf {
    int axis;
};

static enum rc expand_infer(const void *conf, const struct shape *in, int n_in,
                            struct shape *out, int64_t *keep_width, struct err *err)
{
    const struct expand_conf *c = conf;
    *keep_width = 0;
    out[0] = in[0];
    out[0].axis = c->axis;
    if (in[0].axis != AXIS_BATCH || c->axis == AXIS_BATCH)
        return err_set(err, RC_INVAL, "goes from rows of the batch to positions");
    return RC_OK;
}

static void expand_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    const int64_t *at = r->env->rows.offsets[r->out_axis[0]];
    for (int64_t b = begin; b < end; b++)
        for (int64_t k = at[b]; k < at[b + 1]; k++)
            memcpy(view_row(&r->out[0], k), view_row(&r->in[0], b),
                   (size_t)r->in[0].width * sizeof(float));
}

static void expand_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    const int64_t *at = r->env->rows.offsets[r->out_axis[0]];
    for (int64_t b = begin; r->d_in[0].data && b < end; b++)
        for (int64_t k = at[b]; k < at[b + 1]; k++)
            kernels()->add(view_row(&r->d_in[0], b), view_row(&r->d_out[0], k),
                           r->in[0].width);
}

/* Repeated along the positions, as many as the mask has. */
static void expand_onnx(struct onnx *o, const struct onnx_op *op)
{
    int64_t one = 1;
    const char *mask = onnx_mask(o, op->out[0].axis);
    const char *x = onnx_binary(o, "Unsqueeze", NULL, op->x[0], onnx_ints(o, &one, 1));
    const char *shape[] = {onnx_unary(o, "Shape", NULL, mask),
                           onnx_ints(o, op->in[0].dims, op->in[0].n_dims)};
    const char *to = onnx_node(
        o, &(struct onnx_node){
               .type = "Concat", .in = shape, .n_in = 2, .attrs = {ONNX_INT("axis", 0)}});
    onnx_binary(o, "Expand", op->y[0], x, to);
}

static const struct op_ops op_expand = {.name = "expand",
                                        .flags = OP_STRIDED,
                                        .infer = expand_infer,
                                        .forward = expand_forward,
                                        .backward = expand_backward,
                                        .onnx = expand_onnx};

struct val *nn_expand(struct graph *g, struct val *x, int axis)
{
    struct expand_conf conf = {.axis = axis};
    return nn_op(g, &op_expand, &x, 1, NULL, 0, &conf, sizeof(conf));
}

/* in[0]: a row of the batch; in[1]: the positions that come behind it, on a longer axis.
 */
static enum rc front_infer(const void *conf, const struct shape *in, int n_in,
                           struct shape *out, int64_t *keep_width, struct err *err)
{
    const struct expand_conf *c = conf;
    *keep_width = 0;
    out[0] = in[1];
    out[0].axis = c->axis;
    if (in[0].axis != AXIS_BATCH || in[1].axis == AXIS_BATCH)
        return err_set(err, RC_INVAL, "takes a row of the batch and positions");
    if (shape_width(&in[0]) != shape_width(&in[1]))
        return err_set(err, RC_INVAL, "a row of %jd values before positions of %jd",
                       (intmax_t)shape_width(&in[0]), (intmax_t)shape_width(&in[1]));
    return RC_OK;
}

static void front_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    const int64_t *at = r->env->rows.offsets[r->in_axis[1]];
    const int64_t *to = r->env->rows.offsets[r->out_axis[0]];
    size_t bytes = (size_t)r->out[0].width * sizeof(float);
    for (int64_t b = begin; b < end; b++) {
        memcpy(view_row(&r->out[0], to[b]), view_row(&r->in[0], b), bytes);
        for (int64_t k = at[b]; k < at[b + 1]; k++)
            memcpy(view_row(&r->out[0], to[b] + 1 + k - at[b]), view_row(&r->in[1], k),
                   bytes);
    }
}

static void front_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    const int64_t *at = r->env->rows.offsets[r->in_axis[1]];
    const int64_t *to = r->env->rows.offsets[r->out_axis[0]];
    int64_t n = r->out[0].width;
    for (int64_t b = begin; b < end; b++) {
        if (r->d_in[0].data)
            kernels()->add(view_row(&r->d_in[0], b), view_row(&r->d_out[0], to[b]), n);
        for (int64_t k = at[b]; r->d_in[1].data && k < at[b + 1]; k++)
            kernels()->add(view_row(&r->d_in[1], k),
                           view_row(&r->d_out[0], to[b] + 1 + k - at[b]), n);
    }
}

static void front_onnx(struct onnx *o, const struct onnx_op *op)
{
    int64_t one = 1;
    struct shape row = op->in[1];
    row.axis = AXIS_BATCH;
    const char *x = onnx_reshape(o, NULL, op->x[0], &op->in[0], &row);
    const char *both[] = {onnx_binary(o, "Unsqueeze", NULL, x, onnx_ints(o, &one, 1)),
                          op->x[1]};
    onnx_node(o, &(struct onnx_node){.type = "Concat",
                                     .in = both,
                                     .n_in = 2,
                                     .out = op->y[0],
                                     .attrs = {ONNX_INT("axis", 1)}});
}

static const struct op_ops op_front = {.name = "prepend",
                                       .flags = OP_STRIDED,
                                       .infer = front_infer,
                                       .forward = front_forward,
                                       .backward = front_backward,
                                       .onnx = front_onnx};

struct val *nn_seq_prepend(struct graph *g, struct val *x, struct val *values)
{
    if (!x || !values)
        return NULL;
    struct expand_conf conf = {.axis = graph_axis_longer(g, values->shape.axis)};
    struct val *in[] = {x, values};
    return conf.axis < 0 ? NULL
                         : nn_op(g, &op_front, in, 2, NULL, 0, &conf, sizeof(conf));
}

/* in[0] values; in[1], when there, one weight per position. */
struct pool_conf {
    bool mean;
};

static enum rc pool_infer(const void *conf, const struct shape *in, int n_in,
                          struct shape *out, int64_t *keep_width, struct err *err)
{
    *keep_width = 0;
    out[0] = in[0];
    out[0].axis = AXIS_BATCH;
    if (in[0].axis == AXIS_BATCH)
        return err_set(err, RC_INVAL, "takes values of positions");
    if (n_in == 2 && (in[1].axis != in[0].axis || shape_width(&in[1]) != 1))
        return err_set(err, RC_INVAL, "takes one weight per position");
    return RC_OK;
}

static float pool_scale(const struct op_run *r, int64_t positions)
{
    const struct pool_conf *c = r->conf;
    return c->mean && positions > 0 ? 1.0f / (float)positions : 1.0f;
}

static void pool_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    const int64_t *at = r->env->rows.offsets[r->in_axis[0]];
    for (int64_t b = begin; b < end; b++) {
        float *y = view_row(&r->out[0], b), scale = pool_scale(r, at[b + 1] - at[b]);
        memset(y, 0, (size_t)r->out[0].width * sizeof(float));
        kernels()->add_rows(y, view_row(&r->in[0], at[b]), r->in[0].ld, at[b + 1] - at[b],
                            r->n_in == 2 ? view_row(&r->in[1], at[b]) : &scale,
                            r->n_in == 2 ? r->in[1].ld : 0, r->out[0].width);
    }
}

/* What the weights of positions [from, to) of one row get: dy times each value. */
static void weights_backward(const struct op_run *r, const float *dy, int64_t from,
                             int64_t to)
{
    enum { SOME = 16 };
    float dots[SOME];
    for (int64_t k = from; k < to; k += SOME) {
        int64_t n = to - k < SOME ? to - k : SOME;
        kernels()->dot_rows(dots, view_row(&r->in[0], k), r->in[0].ld, n, dy,
                            r->out[0].width);
        for (int64_t i = 0; i < n; i++) {
            float *d = view_row(&r->d_in[1], k + i);
            *d = r->d_in_fresh[1] ? dots[i] : *d + dots[i];
        }
    }
}

static void pool_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    const int64_t *at = r->env->rows.offsets[r->in_axis[0]];
    int64_t n = r->out[0].width;
    for (int64_t b = begin; b < end; b++) {
        const float *dy = view_row(&r->d_out[0], b);
        float scale = pool_scale(r, at[b + 1] - at[b]);
        for (int64_t k = at[b]; r->d_in[0].data && k < at[b + 1]; k++) {
            float by = r->n_in == 2 ? *view_row(&r->in[1], k) : scale;
            if (r->d_in_fresh[0])
                kernels()->times(view_row(&r->d_in[0], k), by, dy, n);
            else
                kernels()->axpy(view_row(&r->d_in[0], k), by, dy, n);
        }
        if (r->n_in == 2 && r->d_in[1].data)
            weights_backward(r, dy, at[b], at[b + 1]);
    }
}

/* Padded positions weigh nothing. */
static void pool_onnx(struct onnx *o, const struct onnx_op *op)
{
    const struct pool_conf *c = op->conf;
    struct shape flat = {
        .axis = AXIS_BATCH, .n_dims = 1, .dims = {shape_width(&op->in[0])}};
    const char *mask = onnx_mask_column(o, op->in[0].axis);
    const char *weights = op->n_in == 2 ? onnx_binary(o, "Mul", NULL, mask,
                                                      onnx_flat(o, op->x[1], &op->in[1]))
                                        : mask;
    const char *y = onnx_sum(
        o, NULL, onnx_binary(o, "Mul", NULL, onnx_flat(o, op->x[0], &op->in[0]), weights),
        1, false);
    if (c->mean) {
        const char *count = onnx_sum(o, NULL, mask, 1, false);
        y = onnx_binary(o, "Div", NULL, y, onnx_with(o, "Max", NULL, count, 1));
    }
    onnx_reshape(o, op->y[0], y, &flat, &op->out[0]);
}

static const struct op_ops op_pool = {.name = "sequence sum",
                                      .flags = OP_NEEDS_IN | OP_STRIDED | OP_WRITES,
                                      .infer = pool_infer,
                                      .forward = pool_forward,
                                      .backward = pool_backward,
                                      .onnx = pool_onnx};

struct val *nn_seq_sum(struct graph *g, struct val *weights, struct val *values)
{
    struct pool_conf conf = {.mean = false};
    struct val *in[] = {values, weights};
    return nn_op(g, &op_pool, in, weights ? 2 : 1, NULL, 0, &conf, sizeof(conf));
}

struct val *nn_seq_mean(struct graph *g, struct val *values)
{
    struct pool_conf conf = {.mean = true};
    return nn_op(g, &op_pool, &values, 1, NULL, 0, &conf, sizeof(conf));
}
