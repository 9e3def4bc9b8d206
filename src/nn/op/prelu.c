/* SPDX-License-Identifier: Apache-2.0 */
/* Activations with a learnt slope: PReLU (one for all) and the blend that Dice uses. */
#include "nn/op/prelu.h"
#include "nn/graph_private.h"
#include "nn/onnx.h"
#include "nn/ops.h"

static enum rc slope_infer(const void *conf, const struct nn_shape *in, int n_in,
                           struct nn_shape *out, int64_t *keep_width, struct err *err)
{
    out[0] = in[0];
    *keep_width = 0;
    return RC_OK;
}

static void prelu_onnx(struct onnx *o, const struct onnx_op *op)
{
    onnx_binary(o, "PRelu", op->y[0], op->x[0], onnx_param(o, op->params[0]));
}

const struct op op_prelu = {
    .name = "prelu",
    .flags = OP_NEEDS_IN,
    .infer = slope_infer,
    .onnx = prelu_onnx,
};

struct nn_val *nn_prelu(struct graph *g, const char *name, struct nn_val *x, float first)
{
    struct op_slope_conf conf = {.n = 1};
    graph_push(g, name);
    struct param *slope = nn_param(g, "weight", &conf.n, 1,
                                   (struct nn_init){INIT_CONST, (double)first, 0}, true);
    graph_pop(g);
    return nn_op(g, &op_prelu, &x, 1, &slope, 1, &conf, sizeof(conf));
}

static void dice_onnx(struct onnx *o, const struct onnx_op *op)
{
    const char *alpha = onnx_param(o, op->params[0]);
    const char *rest = onnx_binary(o, "Sub", NULL, onnx_number(o, 1), alpha);
    const char *p = onnx_unary(o, "Sigmoid", NULL, op->x[1]);
    const char *slope =
        onnx_binary(o, "Add", NULL, onnx_binary(o, "Mul", NULL, p, rest), alpha);
    onnx_binary(o, "Mul", op->y[0], op->x[0], slope);
}

const struct op op_dice = {
    .name = "dice",
    .flags = OP_NEEDS_IN,
    .infer = slope_infer,
    .onnx = dice_onnx,
};

struct nn_val *nn_dice_padded(struct graph *g, const char *name, struct nn_val *x,
                              struct nn_val *pad, struct nn_val **pad_out)
{
    if (!x)
        return NULL;
    struct op_slope_conf conf = {.n = x->shape.dims[x->shape.n_dims - 1]};
    struct nn_val *z_pad = NULL;
    graph_push(g, name);
    struct param *alpha =
        nn_param(g, "alpha", &conf.n, 1, (struct nn_init){INIT_ZEROS, 0, 0}, true);
    struct nn_val *z =
        pad ? nn_batch_norm_padded(g, "bn", x, pad, false, pad_out ? &z_pad : NULL)
            : nn_batch_norm(g, "bn", x, false);
    graph_pop(g);
    if (pad && pad_out)
        *pad_out = nn_op(g, &op_dice, (struct nn_val *[]){pad, z_pad}, 2, &alpha, 1,
                         &conf, sizeof(conf));
    return nn_op(g, &op_dice, (struct nn_val *[]){x, z}, 2, &alpha, 1, &conf,
                 sizeof(conf));
}

struct nn_val *nn_dice(struct graph *g, const char *name, struct nn_val *x)
{
    return nn_dice_padded(g, name, x, NULL, NULL);
}
