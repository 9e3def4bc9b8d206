/* SPDX-License-Identifier: Apache-2.0 */
/* Products of fields with each other: matrices turned round, products of two values per
 * row, and all products of two lists of channels.
 */
#include "nn/op/fields.h"
#include "nn/graph_private.h"
#include "nn/onnx.h"
#include "nn/ops.h"

static enum rc two_dims(const struct nn_shape *s, struct err *err)
{
    return s->n_dims == 2 ? RC_OK
                          : err_set(err, RC_INVAL, "takes rows of two dimensions");
}

static enum rc turn_infer(const void *conf, const struct nn_shape *in, int n_in,
                          struct nn_shape *out, int64_t *keep_width, struct err *err)
{
    *keep_width = 0;
    out[0] = in[0];
    out[0].dims[0] = in[0].dims[1];
    out[0].dims[1] = in[0].dims[0];
    return two_dims(&in[0], err);
}

/* Batch and positions stay where they are, the two last dimensions change places. */
static void turn_onnx(struct onnx *o, const struct onnx_op *op)
{
    bool seq = op->in[0].axis != AXIS_BATCH;
    struct onnx_node n = {.type = "Transpose", .in = op->x, .n_in = 1, .out = op->y[0]};
    n.attrs[0] = (struct onnx_attr){.name = "perm",
                                    .kind = ONNX_ATTR_INTS,
                                    .ints = {0, seq ? 1 : 2, seq ? 3 : 1, 2},
                                    .n_ints = seq ? 4 : 3};
    onnx_node(o, &n);
}

const struct op op_transpose = {
    .name = "transpose",
    .infer = turn_infer,
    .onnx = turn_onnx,
};

struct nn_val *nn_transpose(struct graph *g, struct nn_val *x)
{
    if (!x)
        return NULL;
    struct op_sides conf = {.n = x->shape.dims[0], .d = x->shape.dims[1]};
    return nn_op(g, &op_transpose, &x, 1, NULL, 0, &conf, sizeof(conf));
}

/* a [n, d] times b [d, k]. */
static enum rc product_infer(const void *conf, const struct nn_shape *in, int n_in,
                             struct nn_shape *out, int64_t *keep_width, struct err *err)
{
    *keep_width = 0;
    out[0] = in[0];
    out[0].dims[1] = in[1].dims[1];
    if (two_dims(&in[0], err) || two_dims(&in[1], err))
        return RC_INVAL;
    if (in[0].axis != in[1].axis || in[0].dims[1] != in[1].dims[0])
        return err_set(err, RC_INVAL, "%jd x %jd cannot be multiplied with %jd x %jd",
                       (intmax_t)in[0].dims[0], (intmax_t)in[0].dims[1],
                       (intmax_t)in[1].dims[0], (intmax_t)in[1].dims[1]);
    return RC_OK;
}

static void product_onnx(struct onnx *o, const struct onnx_op *op)
{
    onnx_binary(o, "MatMul", op->y[0], op->x[0], op->x[1]);
}

const struct op op_row_product = {
    .name = "product",
    .flags = OP_NEEDS_IN,
    .infer = product_infer,
    .onnx = product_onnx,
};

struct nn_val *nn_product(struct graph *g, struct nn_val *a, struct nn_val *b)
{
    if (!a || !b)
        return NULL;
    struct op_sides conf = {
        .n = a->shape.dims[0], .d = a->shape.dims[1], .k = b->shape.dims[1]};
    struct nn_val *in[] = {a, b};
    return nn_op(g, &op_row_product, in, 2, NULL, 0, &conf, sizeof(conf));
}

/* a [d, n] and b [d, k] -> [d, n * k]: all products of what stands at the same d. */
static enum rc outer_infer(const void *conf, const struct nn_shape *in, int n_in,
                           struct nn_shape *out, int64_t *keep_width, struct err *err)
{
    *keep_width = 0;
    out[0] = in[0];
    out[0].dims[1] = in[0].dims[1] * in[1].dims[1];
    if (two_dims(&in[0], err) || two_dims(&in[1], err))
        return RC_INVAL;
    if (in[0].axis != in[1].axis || in[0].dims[0] != in[1].dims[0])
        return err_set(err, RC_INVAL, "rows have %jd and %jd channels",
                       (intmax_t)in[0].dims[0], (intmax_t)in[1].dims[0]);
    return RC_OK;
}

/* [.., n, 1] times [.., 1, k], then flat. */
static void outer_onnx(struct onnx *o, const struct onnx_op *op)
{
    struct nn_shape a = op->in[0], b = op->in[1], y = op->out[0];
    a.n_dims = b.n_dims = y.n_dims = 3;
    a.dims[2] = 1;
    b.dims[2] = b.dims[1];
    b.dims[1] = 1;
    y.dims[1] = a.dims[1];
    y.dims[2] = b.dims[2];
    const char *left = onnx_reshape(o, NULL, op->x[0], &op->in[0], &a);
    const char *right = onnx_reshape(o, NULL, op->x[1], &op->in[1], &b);
    onnx_reshape(o, op->y[0], onnx_binary(o, "Mul", NULL, left, right), &y, &op->out[0]);
}

const struct op op_outer = {
    .name = "outer products",
    .flags = OP_NEEDS_IN,
    .infer = outer_infer,
    .onnx = outer_onnx,
};

struct nn_val *nn_outer(struct graph *g, struct nn_val *a, struct nn_val *b)
{
    if (!a || !b)
        return NULL;
    struct op_sides conf = {
        .d = a->shape.dims[0], .n = a->shape.dims[1], .k = b->shape.dims[1]};
    struct nn_val *in[] = {a, b};
    return nn_op(g, &op_outer, in, 2, NULL, 0, &conf, sizeof(conf));
}
