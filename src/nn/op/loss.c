/* SPDX-License-Identifier: Apache-2.0 */
#include "nn/op/loss.h"
#include "nn/onnx.h"
#include "nn/ops.h"

static enum rc loss_infer(const void *conf, const struct nn_shape *in, int n_in,
                          struct nn_shape *out, int64_t *keep_width, struct err *err)
{
    out[0] = (struct nn_shape){.axis = in[0].axis, .n_dims = 1, .dims = {1}};
    *keep_width = nn_shape_width(&in[0]);
    for (int i = 1; i < n_in; i++)
        if (in[i].axis != in[0].axis || nn_shape_width(&in[i]) != 1)
            return err_set(err, RC_INVAL, "takes one label and one weight per row");
    return RC_OK;
}

static enum rc one_infer(const void *conf, const struct nn_shape *in, int n_in,
                         struct nn_shape *out, int64_t *keep_width, struct err *err)
{
    if (nn_shape_width(&in[0]) != 1)
        return err_set(err, RC_INVAL, "takes one prediction per row, not %jd",
                       (intmax_t)nn_shape_width(&in[0]));
    return loss_infer(conf, in, n_in, out, keep_width, err);
}

const struct op op_bce_loss = {
    .name = "binary cross entropy",
    .infer = one_infer,
    .onnx = onnx_nothing,
};

const struct op op_focal_loss = {
    .name = "focal loss",
    .infer = one_infer,
    .onnx = onnx_nothing,
};

const struct op op_softmax_loss = {
    .name = "softmax cross entropy",
    .infer = loss_infer,
    .onnx = onnx_nothing,
};

const struct op op_hinge_loss = {
    .name = "hinge loss",
    .infer = loss_infer,
    .onnx = onnx_nothing,
};

const struct op op_l2_loss = {
    .name = "squared error",
    .infer = one_infer,
    .onnx = onnx_nothing,
};

static struct nn_val *loss(struct graph *g, const struct op *ops, struct nn_val *x,
                           struct nn_val *labels, struct nn_val *weights,
                           struct op_loss_conf conf)
{
    struct nn_val *in[] = {x, labels, weights};
    return nn_op(g, ops, in, weights ? 3 : 2, NULL, 0, &conf, sizeof(conf));
}

struct nn_val *nn_bce_loss(struct graph *g, struct nn_val *logits, struct nn_val *labels,
                           struct nn_val *weights, float smoothing)
{
    return loss(g, &op_bce_loss, logits, labels, weights,
                (struct op_loss_conf){.smoothing = smoothing});
}

struct nn_val *nn_focal_loss(struct graph *g, struct nn_val *logits,
                             struct nn_val *labels, struct nn_val *weights, float gamma,
                             float alpha)
{
    return loss(g, &op_focal_loss, logits, labels, weights,
                (struct op_loss_conf){.gamma = gamma, .alpha = alpha});
}

struct nn_val *nn_softmax_loss(struct graph *g, struct nn_val *logits,
                               struct nn_val *labels, struct nn_val *weights,
                               float smoothing)
{
    return loss(g, &op_softmax_loss, logits, labels, weights,
                (struct op_loss_conf){.smoothing = smoothing});
}

struct nn_val *nn_hinge_loss(struct graph *g, struct nn_val *scores,
                             struct nn_val *labels, struct nn_val *weights, float margin)
{
    return loss(g, &op_hinge_loss, scores, labels, weights,
                (struct op_loss_conf){.margin = margin});
}

struct nn_val *nn_l2_loss(struct graph *g, struct nn_val *y, struct nn_val *labels,
                          struct nn_val *weights)
{
    return loss(g, &op_l2_loss, y, labels, weights, (struct op_loss_conf){0});
}
