/* SPDX-License-Identifier: Apache-2.0 */
#include "nn/onnx.h"
#include "nn/ops.h"

static enum rc concat_infer(const void *conf, const struct nn_shape *in, int n_in,
                            struct nn_shape *out, int64_t *keep_width, struct err *err)
{
    int64_t width = 0;
    for (int i = 0; i < n_in; i++) {
        if (in[i].axis != in[0].axis)
            return err_set(err, RC_INVAL,
                           "input %d has rows of another kind than the first", i);
        width += nn_shape_width(&in[i]);
    }
    out[0] = (struct nn_shape){.axis = in[0].axis, .n_dims = 1, .dims = {width}};
    *keep_width = 0;
    return RC_OK;
}

static void concat_onnx(struct onnx *o, const struct onnx_op *op)
{
    const char *in[OP_INPUTS_MAX];
    for (int i = 0; i < op->n_in; i++)
        in[i] = onnx_flat(o, op->x[i], &op->in[i]);
    onnx_node(o, &(struct onnx_node){.type = "Concat",
                                     .in = in,
                                     .n_in = op->n_in,
                                     .out = op->y[0],
                                     .attrs = {ONNX_INT("axis", -1)}});
}

const struct op op_concat = {
    .name = "concat",
    .infer = concat_infer,
    .onnx = concat_onnx,
};

/* More than an op takes: the first of them side by side, then those beside the others. */
static struct nn_val *concat_many(struct graph *g, struct nn_val *const *x, int n)
{
    struct nn_val *parts[OP_INPUTS_MAX];
    int each = (n + OP_INPUTS_MAX - 1) / OP_INPUTS_MAX, k = 0;
    for (int at = 0; at < n; at += each)
        parts[k++] = nn_concat(g, x + at, n - at < each ? n - at : each);
    return nn_concat(g, parts, k);
}

struct nn_val *nn_concat(struct graph *g, struct nn_val *const *x, int n)
{
    if (n == 1)
        return x[0];
    if (n > OP_INPUTS_MAX)
        return concat_many(g, x, n);
    return nn_op(g, &op_concat, x, n, NULL, 0, NULL, 0);
}
