/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax over the last dimension, and over the positions of a sequence; L2
 * normalisation. */
#include "nn/op/softmax.h"
#include "nn/graph_private.h"
#include "nn/onnx.h"
#include "nn/ops.h"

static enum rc same_infer(const void *conf, const struct nn_shape *in, int n_in,
                          struct nn_shape *out, int64_t *keep_width, struct err *err)
{
    out[0] = in[0];
    *keep_width = 0;
    return RC_OK;
}

static void softmax_onnx(struct onnx *o, const struct onnx_op *op)
{
    onnx_node(o, &(struct onnx_node){.type = "Softmax",
                                     .in = op->x,
                                     .n_in = 1,
                                     .out = op->y[0],
                                     .attrs = {ONNX_INT("axis", -1)}});
}

const struct op op_softmax = {
    .name = "softmax",
    .flags = OP_NEEDS_OUT,
    .infer = same_infer,
    .onnx = softmax_onnx,
};

struct nn_val *nn_softmax(struct graph *g, struct nn_val *x)
{
    if (!x)
        return NULL;
    struct op_softmax_conf conf = {.n = x->shape.dims[x->shape.n_dims - 1]};
    return nn_op(g, &op_softmax, &x, 1, NULL, 0, &conf, sizeof(conf));
}

static enum rc seq_infer(const void *conf, const struct nn_shape *in, int n_in,
                         struct nn_shape *out, int64_t *keep_width, struct err *err)
{
    out[0] = in[0];
    *keep_width = 0;
    if (in[0].axis == AXIS_BATCH || nn_shape_width(&in[0]) != 1)
        return err_set(err, RC_INVAL, "takes one score per position");
    return RC_OK;
}

/* Padding gets a score far below all others; a row without positions is all zeros. */
static void seq_softmax_onnx(struct onnx *o, const struct onnx_op *op)
{
    const char *mask = onnx_mask_column(o, op->in[0].axis);
    const char *far =
        onnx_with(o, "Mul", NULL, onnx_with(o, "Sub", NULL, mask, 1), 1e30f);
    struct nn_shape one = {.axis = op->in[0].axis, .n_dims = 1, .dims = {1}};
    const char *scores = onnx_binary(
        o, "Add", NULL,
        onnx_binary(o, "Mul", NULL, onnx_flat(o, op->x[0], &op->in[0]), mask), far);
    const char *y = onnx_node(o, &(struct onnx_node){.type = "Softmax",
                                                     .in = &scores,
                                                     .n_in = 1,
                                                     .attrs = {ONNX_INT("axis", 1)}});
    onnx_reshape(o, op->y[0], onnx_binary(o, "Mul", NULL, y, mask), &one, &op->out[0]);
}

const struct op op_seq_softmax = {
    .name = "sequence softmax",
    .flags = OP_NEEDS_OUT,
    .infer = seq_infer,
    .onnx = seq_softmax_onnx,
};

const struct op op_seq_softmax_before = {
    .name = "softmax before the last",
    .flags = OP_NEEDS_OUT,
    .infer = seq_infer,
    .onnx = onnx_nothing,
};

struct nn_val *nn_seq_softmax(struct graph *g, struct nn_val *scores)
{
    struct op_seq_conf conf = {.but_last = false};
    return nn_op(g, &op_seq_softmax, &scores, 1, NULL, 0, &conf, sizeof(conf));
}

struct nn_val *nn_seq_softmax_before(struct graph *g, struct nn_val *scores)
{
    struct op_seq_conf conf = {.but_last = true};
    return nn_op(g, &op_seq_softmax_before, &scores, 1, NULL, 0, &conf, sizeof(conf));
}

static enum rc l2_infer(const void *conf, const struct nn_shape *in, int n_in,
                        struct nn_shape *out, int64_t *keep_width, struct err *err)
{
    out[0] = in[0];
    *keep_width = 1;
    return RC_OK;
}

static void l2_onnx(struct onnx *o, const struct onnx_op *op)
{
    const struct op_l2_conf *c = op->conf;
    const char *x = onnx_flat(o, op->x[0], &op->in[0]);
    struct nn_shape flat = {
        .axis = op->in[0].axis, .n_dims = 1, .dims = {nn_shape_width(&op->in[0])}};
    const char *length = onnx_unary(
        o, "Sqrt", NULL, onnx_sum(o, NULL, onnx_binary(o, "Mul", NULL, x, x), -1, true));
    length = onnx_with(o, "Max", NULL, length, c->eps);
    onnx_reshape(o, op->y[0], onnx_binary(o, "Div", NULL, x, length), &flat, &op->out[0]);
}

const struct op op_l2_normalise = {
    .name = "l2 normalise",
    .flags = OP_NEEDS_OUT,
    .infer = l2_infer,
    .onnx = l2_onnx,
};

struct nn_val *nn_l2_normalise(struct graph *g, struct nn_val *x, float eps)
{
    struct op_l2_conf conf = {.eps = eps};
    return nn_op(g, &op_l2_normalise, &x, 1, NULL, 0, &conf, sizeof(conf));
}
