/* SPDX-License-Identifier: Apache-2.0 */
#include "nn/op/dropout.h"
#include "nn/onnx.h"
#include "nn/ops.h"

static enum rc dropout_infer(const void *conf, const struct nn_shape *in, int n_in,
                             struct nn_shape *out, int64_t *keep_width, struct err *err)
{
    out[0] = in[0];
    *keep_width = 0;
    return RC_OK;
}

const struct op op_dropout = {
    .name = "dropout",
    .infer = dropout_infer,
    .onnx = onnx_same,
};

struct nn_val *nn_dropout(struct graph *g, struct nn_val *x, double p)
{
    if (p <= 0)
        return x;
    if (p >= 1)
        return graph_fail(g, "dropout: %g is outside [0, 1)", p);
    struct op_dropout_conf conf = {.below = (uint32_t)(p * 4294967296.0),
                                   .scale = (float)(1.0 / (1.0 - p))};
    return nn_op(g, &op_dropout, &x, 1, NULL, 0, &conf, sizeof(conf));
}
