/* SPDX-License-Identifier: Apache-2.0 */
/* What models of several heads need beside layers: the logit of two events together, one
 * of several values by a number of the row, and means and roots over the batch.
 */
#include "nn/op/tasks.h"
#include "nn/onnx.h"
#include "nn/ops.h"

/* Rows of one value each. */
static enum rc ones_infer(const void *conf, const struct nn_shape *in, int n_in,
                          struct nn_shape *out, int64_t *keep_width, struct err *err)
{
    *keep_width = 0;
    out[0] = in[0];
    for (int i = 0; i < n_in; i++)
        if (in[i].axis != in[0].axis || nn_shape_width(&in[i]) != 1)
            return err_set(err, RC_INVAL, "takes one value per row");
    return RC_OK;
}

static void both_onnx(struct onnx *o, const struct onnx_op *op)
{
    const char *a = onnx_unary(o, "Neg", NULL, op->x[0]);
    const char *b = onnx_unary(o, "Neg", NULL, op->x[1]);
    const char *in[] = {a, b, onnx_binary(o, "Add", NULL, a, b)};
    const char *terms = onnx_node(
        o, &(struct onnx_node){
               .type = "Concat", .in = in, .n_in = 3, .attrs = {ONNX_INT("axis", -1)}});
    struct onnx_attr axes = {
        .name = "axes", .kind = ONNX_ATTR_INTS, .ints = {-1}, .n_ints = 1};
    const char *sum =
        onnx_node(o, &(struct onnx_node){.type = "ReduceLogSumExp",
                                         .in = &terms,
                                         .n_in = 1,
                                         .attrs = {axes, ONNX_INT("keepdims", 1)}});
    onnx_unary(o, "Neg", op->y[0], sum);
}

const struct op op_both_logit = {
    .name = "both",
    .flags = OP_NEEDS_IN,
    .infer = ones_infer,
    .onnx = both_onnx,
};

struct nn_val *nn_both_logit(struct graph *g, struct nn_val *a, struct nn_val *b)
{
    struct nn_val *in[] = {a, b};
    return nn_op(g, &op_both_logit, in, 2, NULL, 0, NULL, 0);
}

/* x [n] and a number of the row -> x[number]. */
static enum rc pick_infer(const void *conf, const struct nn_shape *in, int n_in,
                          struct nn_shape *out, int64_t *keep_width, struct err *err)
{
    *keep_width = 0;
    out[0] = (struct nn_shape){.axis = in[0].axis, .n_dims = 1, .dims = {1}};
    if (in[0].axis != in[1].axis || nn_shape_width(&in[1]) != 1)
        return err_set(err, RC_INVAL, "takes one number per row");
    return RC_OK;
}

#define ONNX_INT64 7 /* TensorProto.DataType */

static void pick_onnx(struct onnx *o, const struct onnx_op *op)
{
    const char *at =
        onnx_node(o, &(struct onnx_node){.type = "Cast",
                                         .in = &op->x[1],
                                         .n_in = 1,
                                         .attrs = {ONNX_INT("to", ONNX_INT64)}});
    const char *in[] = {onnx_flat(o, op->x[0], &op->in[0]), at};
    onnx_node(o, &(struct onnx_node){.type = "GatherElements",
                                     .in = in,
                                     .n_in = 2,
                                     .out = op->y[0],
                                     .attrs = {ONNX_INT("axis", -1)}});
}

const struct op op_pick = {
    .name = "pick",
    .flags = OP_NEEDS_IN,
    .infer = pick_infer,
    .onnx = pick_onnx,
};

struct nn_val *nn_pick(struct graph *g, struct nn_val *x, struct nn_val *number)
{
    struct nn_val *in[] = {x, number};
    return nn_op(g, &op_pick, in, 2, NULL, 0, NULL, 0);
}

const struct op op_batch_share = {
    .name = "share of the mean",
    .infer = ones_infer,
    .onnx = onnx_nothing,
};

struct nn_val *nn_mean_share(struct graph *g, struct nn_val *x)
{
    struct op_share_conf conf = {.times = false};
    return nn_op(g, &op_batch_share, &x, 1, NULL, 0, &conf, sizeof(conf));
}

struct nn_val *nn_batch_times(struct graph *g, struct nn_val *x)
{
    struct op_share_conf conf = {.times = true};
    return nn_op(g, &op_batch_share, &x, 1, NULL, 0, &conf, sizeof(conf));
}

const struct op op_root_share = {
    .name = "share of the root",
    .flags = OP_NEEDS_IN,
    .infer = ones_infer,
    .onnx = onnx_nothing,
};

struct nn_val *nn_root_share(struct graph *g, struct nn_val *x)
{
    return nn_op(g, &op_root_share, &x, 1, NULL, 0, NULL, 0);
}
