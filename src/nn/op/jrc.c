/* SPDX-License-Identifier: Apache-2.0 */
#include "nn/op/jrc.h"
#include "nn/onnx.h"
#include "nn/ops.h"

static enum rc jrc_infer(const void *conf, const struct nn_shape *in, int n_in,
                         struct nn_shape *out, int64_t *keep_width, struct err *err)
{
    *keep_width = KEEP_WIDTH;
    out[0] = (struct nn_shape){.axis = in[IN_LOGITS].axis, .n_dims = 1, .dims = {1}};
    if (nn_shape_width(&in[IN_LOGITS]) != 2)
        return err_set(err, RC_INVAL, "takes two predictions per row, not %jd",
                       (intmax_t)nn_shape_width(&in[IN_LOGITS]));
    for (int i = 1; i < n_in; i++)
        if (in[i].axis != in[0].axis || nn_shape_width(&in[i]) != 1)
            return err_set(err, RC_INVAL, "takes one label, session and weight per row");
    return RC_OK;
}

const struct op op_jrc_loss = {
    .name = "jrc loss",
    .flags = OP_NEEDS_IN,
    .infer = jrc_infer,
    .onnx = onnx_nothing,
};

struct nn_val *nn_jrc_loss(struct graph *g, struct nn_val *logits, struct nn_val *labels,
                           struct nn_val *sessions, struct nn_val *weights, float alpha)
{
    struct op_jrc_conf conf = {.alpha = alpha};
    struct nn_val *in[] = {logits, labels, sessions, weights};
    return nn_op(g, &op_jrc_loss, in, weights ? 4 : 3, NULL, 0, &conf, sizeof(conf));
}
