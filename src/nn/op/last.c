/* SPDX-License-Identifier: Apache-2.0 */
/* The last position of each row. */
#include "nn/onnx.h"
#include "nn/ops.h"

static enum rc last_infer(const void *conf, const struct nn_shape *in, int n_in,
                          struct nn_shape *out, int64_t *keep_width, struct err *err)
{
    *keep_width = 0;
    out[0] = in[0];
    out[0].axis = AXIS_BATCH;
    if (in[0].axis == AXIS_BATCH)
        return err_set(err, RC_INVAL, "takes values of positions");
    return RC_OK;
}

/* Positions are ones at the front of the mask: the last is where their running number
 * (the mask's running sum) is how many there are.
 */
static void last_onnx(struct onnx *o, const struct onnx_op *op)
{
    static const int64_t one = 1;
    const char *mask = onnx_mask(o, op->in[0].axis);
    const char *number = onnx_binary(o, "CumSum", NULL, mask, onnx_ints(o, &one, 1));
    const char *count = onnx_sum(o, NULL, mask, 1, true);
    const char *behind = onnx_binary(o, "Sub", NULL, count, number);
    /* 1 where nothing is behind, 0 or less elsewhere; padding has nothing behind, too */
    const char *is_last = onnx_unary(
        o, "Relu", NULL, onnx_binary(o, "Sub", NULL, onnx_number(o, 1), behind));
    const char *weight = onnx_binary(o, "Mul", NULL, is_last, mask);
    weight =
        onnx_binary(o, "Unsqueeze", NULL, weight, onnx_ints(o, (const int64_t[]){2}, 1));
    struct nn_shape flat = {
        .axis = AXIS_BATCH, .n_dims = 1, .dims = {nn_shape_width(&op->in[0])}};
    const char *y = onnx_sum(
        o, NULL, onnx_binary(o, "Mul", NULL, onnx_flat(o, op->x[0], &op->in[0]), weight),
        1, false);
    onnx_reshape(o, op->y[0], y, &flat, &op->out[0]);
}

const struct op op_seq_last = {
    .name = "last position",
    .infer = last_infer,
    .onnx = last_onnx,
};

struct nn_val *nn_seq_last(struct graph *g, struct nn_val *values)
{
    return nn_op(g, &op_seq_last, &values, 1, NULL, 0, NULL, 0);
}
