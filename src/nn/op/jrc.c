/* SPDX-License-Identifier: Apache-2.0 */
#include "nn/op/jrc.h"
#include "nn/onnx.h"
#include "nn/ops.h"

static enum rc jrc_infer(const void *conf, const struct shape *in, int n_in,
                         struct shape *out, int64_t *keep_width, struct err *err)
{
    *keep_width = KEEP_WIDTH;
    out[0] = (struct shape){.axis = AXIS_BATCH, .n_dims = 1, .dims = {1}};
    if (in[IN_LOGITS].axis != AXIS_BATCH || shape_width(&in[IN_LOGITS]) != 2)
        return err_set(err, RC_INVAL, "takes two predictions per row, not %jd",
                       (intmax_t)shape_width(&in[IN_LOGITS]));
    for (int i = 1; i < n_in; i++)
        if (in[i].axis != AXIS_BATCH || shape_width(&in[i]) != 1)
            return err_set(err, RC_INVAL, "takes one label, session and weight per row");
    return RC_OK;
}

const struct op op_jrc_loss = {
    .name = "jrc loss",
    .flags = OP_NEEDS_IN,
    .infer = jrc_infer,
    .onnx = onnx_nothing,
};

struct val *nn_jrc_loss(struct graph *g, struct val *logits, struct val *labels,
                        struct val *sessions, struct val *weights, float alpha)
{
    struct jrc_conf conf = {.alpha = alpha};
    struct val *in[] = {logits, labels, sessions, weights};
    return nn_op(g, &op_jrc_loss, in, weights ? 4 : 3, NULL, 0, &conf, sizeof(conf));
}
