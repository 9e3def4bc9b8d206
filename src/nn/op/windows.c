/* SPDX-License-Identifier: Apache-2.0 */
/* Weighted means over consecutive windows of a sequence. */
#include "nn/op/windows.h"
#include "nn/onnx.h"
#include "nn/ops.h"

static enum rc windows_infer(const void *conf, const struct nn_shape *in, int n_in,
                             struct nn_shape *out, int64_t *keep_width, struct err *err)
{
    const struct op_windows_conf *c = conf;
    *keep_width = 0;
    if (in[0].axis == AXIS_BATCH || in[1].axis != in[0].axis ||
        nn_shape_width(&in[1]) != 1)
        return err_set(err, RC_INVAL, "takes values and one weight per position");
    out[0] = (struct nn_shape){
        .axis = AXIS_BATCH, .n_dims = 2, .dims = {c->n, nn_shape_width(&in[0])}};
    return RC_OK;
}

static const char *put_window(struct onnx *o, const struct op_windows_conf *c, int64_t w,
                              const char *x)
{
    int64_t axis = 1;
    const char *in[] = {x, onnx_ints(o, &c->start[w], 1),
                        onnx_ints(o, &c->start[w + 1], 1), onnx_ints(o, &axis, 1)};
    const char *part =
        onnx_node(o, &(struct onnx_node){.type = "Slice", .in = in, .n_in = 4});
    return onnx_sum(o, NULL, part, 1, true);
}

static void windows_onnx(struct onnx *o, const struct onnx_op *op)
{
    const struct op_windows_conf *c = op->conf;
    const char *means[NN_WINDOWS_MAX], *mask = onnx_mask_column(o, op->in[0].axis);
    const char *weights =
        onnx_binary(o, "Mul", NULL, mask, onnx_flat(o, op->x[1], &op->in[1]));
    const char *x =
        onnx_binary(o, "Mul", NULL, onnx_flat(o, op->x[0], &op->in[0]), weights);
    for (int64_t w = 0; w < c->n; w++) {
        const char *count = onnx_with(o, "Max", NULL, put_window(o, c, w, mask), 1);
        means[w] = onnx_binary(o, "Div", NULL, put_window(o, c, w, x), count);
    }
    onnx_node(o, &(struct onnx_node){.type = "Concat",
                                     .in = means,
                                     .n_in = (int)c->n,
                                     .out = op->y[0],
                                     .attrs = {ONNX_INT("axis", 1)}});
}

const struct op op_seq_windows = {
    .name = "window means",
    .flags = OP_NEEDS_IN,
    .infer = windows_infer,
    .onnx = windows_onnx,
};

struct nn_val *nn_seq_windows(struct graph *g, struct nn_val *weights,
                              struct nn_val *values, const uint32_t *lengths, int64_t n)
{
    struct op_windows_conf conf = {.n = n};
    struct nn_val *in[] = {values, weights};
    if (n < 1 || n > NN_WINDOWS_MAX)
        return graph_fail(g, "%jd windows: there can be 1 to %d", (intmax_t)n,
                          NN_WINDOWS_MAX);
    for (int64_t i = 0; i < n; i++) {
        if (lengths[i] == 0)
            return graph_fail(g, "window %jd has no positions", (intmax_t)i);
        conf.start[i + 1] = conf.start[i] + lengths[i];
    }
    return nn_op(g, &op_seq_windows, in, 2, NULL, 0, &conf, sizeof(conf));
}
