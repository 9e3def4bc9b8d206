/* SPDX-License-Identifier: Apache-2.0 */
/* Between rows of the batch and positions of their sequences. Nothing is padded: a row's
 * positions are those between its offsets.
 */
#include "nn/op/sequence.h"
#include "nn/graph_private.h"
#include "nn/onnx.h"
#include "nn/ops.h"

struct expand_conf {
    int axis;
};

static enum rc expand_infer(const void *conf, const struct nn_shape *in, int n_in,
                            struct nn_shape *out, int64_t *keep_width, struct err *err)
{
    const struct expand_conf *c = conf;
    *keep_width = 0;
    out[0] = in[0];
    out[0].axis = c->axis;
    if (in[0].axis != AXIS_BATCH || c->axis == AXIS_BATCH)
        return err_set(err, RC_INVAL, "goes from rows of the batch to positions");
    return RC_OK;
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

const struct op op_expand = {
    .name = "expand",
    .infer = expand_infer,
    .onnx = expand_onnx,
};

struct nn_val *nn_expand(struct graph *g, struct nn_val *x, int axis)
{
    struct expand_conf conf = {.axis = axis};
    return nn_op(g, &op_expand, &x, 1, NULL, 0, &conf, sizeof(conf));
}

/* in[0]: a row of the batch; in[1]: the positions that come behind it, on a longer axis.
 */
static enum rc front_infer(const void *conf, const struct nn_shape *in, int n_in,
                           struct nn_shape *out, int64_t *keep_width, struct err *err)
{
    const struct expand_conf *c = conf;
    *keep_width = 0;
    out[0] = in[1];
    out[0].axis = c->axis;
    if (in[0].axis != AXIS_BATCH || in[1].axis == AXIS_BATCH)
        return err_set(err, RC_INVAL, "takes a row of the batch and positions");
    if (nn_shape_width(&in[0]) != nn_shape_width(&in[1]))
        return err_set(err, RC_INVAL, "a row of %jd values before positions of %jd",
                       (intmax_t)nn_shape_width(&in[0]),
                       (intmax_t)nn_shape_width(&in[1]));
    return RC_OK;
}

static void front_onnx(struct onnx *o, const struct onnx_op *op)
{
    int64_t one = 1;
    struct nn_shape row = op->in[1];
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

const struct op op_seq_prepend = {
    .name = "prepend",
    .infer = front_infer,
    .onnx = front_onnx,
};

struct nn_val *nn_seq_prepend(struct graph *g, struct nn_val *x, struct nn_val *values)
{
    if (!x || !values)
        return NULL;
    struct expand_conf conf = {.axis = graph_axis_longer(g, values->shape.axis)};
    struct nn_val *in[] = {x, values};
    return conf.axis < 0 ? NULL
                         : nn_op(g, &op_seq_prepend, in, 2, NULL, 0, &conf, sizeof(conf));
}

static enum rc pool_infer(const void *conf, const struct nn_shape *in, int n_in,
                          struct nn_shape *out, int64_t *keep_width, struct err *err)
{
    *keep_width = 0;
    out[0] = in[0];
    out[0].axis = AXIS_BATCH;
    if (in[0].axis == AXIS_BATCH)
        return err_set(err, RC_INVAL, "takes values of positions");
    if (n_in == 2 && (in[1].axis != in[0].axis || nn_shape_width(&in[1]) != 1))
        return err_set(err, RC_INVAL, "takes one weight per position");
    return RC_OK;
}

/* Padded positions weigh nothing. */
static void pool_onnx(struct onnx *o, const struct onnx_op *op)
{
    const struct op_pool_conf *c = op->conf;
    struct nn_shape flat = {
        .axis = AXIS_BATCH, .n_dims = 1, .dims = {nn_shape_width(&op->in[0])}};
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

const struct op op_seq_sum = {
    .name = "sequence sum",
    .flags = OP_NEEDS_IN,
    .infer = pool_infer,
    .onnx = pool_onnx,
};

struct nn_val *nn_seq_sum(struct graph *g, struct nn_val *weights, struct nn_val *values)
{
    struct op_pool_conf conf = {.mean = false};
    struct nn_val *in[] = {values, weights};
    return nn_op(g, &op_seq_sum, in, weights ? 2 : 1, NULL, 0, &conf, sizeof(conf));
}

struct nn_val *nn_seq_mean(struct graph *g, struct nn_val *values)
{
    struct op_pool_conf conf = {.mean = true};
    return nn_op(g, &op_seq_sum, &values, 1, NULL, 0, &conf, sizeof(conf));
}
