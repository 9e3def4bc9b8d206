/* SPDX-License-Identifier: Apache-2.0 */
/* Activations that are not fused into a linear layer, each with its derivative. */
#include "nn/op/act.h"
#include "nn/onnx.h"
#include "nn/ops.h"

static enum rc act_infer(const void *conf, const struct nn_shape *in, int n_in,
                         struct nn_shape *out, int64_t *keep_width, struct err *err)
{
    out[0] = in[0];
    *keep_width = 0;
    return RC_OK;
}

static void put_gate(struct onnx *o, const struct onnx_op *op, const char *f)
{
    onnx_binary(o, "Mul", op->y[0], op->x[0], f);
}

static void put_with_alpha(struct onnx *o, const struct onnx_op *op, const char *type)
{
    const struct op_act_conf *c = op->conf;
    onnx_node(o, &(struct onnx_node){.type = type,
                                     .in = op->x,
                                     .n_in = 1,
                                     .out = op->y[0],
                                     .attrs = {ONNX_FLOAT("alpha", c->param)}});
}

static void put_gelu(struct onnx *o, const struct onnx_op *op)
{
    const char *erf =
        onnx_unary(o, "Erf", NULL, onnx_with(o, "Mul", NULL, op->x[0], 0.70710678f));
    put_gate(o, op, onnx_with(o, "Mul", NULL, onnx_with(o, "Add", NULL, erf, 1), 0.5f));
}

static void put_gelu_tanh(struct onnx *o, const struct onnx_op *op)
{
    const char *x = op->x[0], *square = onnx_binary(o, "Mul", NULL, x, x);
    const char *steep = onnx_with(
        o, "Add", NULL, onnx_with(o, "Mul", NULL, square, 0.035677408f), 0.79788456f);
    const char *t = onnx_unary(o, "Tanh", NULL, onnx_binary(o, "Mul", NULL, x, steep));
    put_gate(o, op, onnx_with(o, "Mul", NULL, onnx_with(o, "Add", NULL, t, 1), 0.5f));
}

static void put_relu6(struct onnx *o, const struct onnx_op *op)
{
    const char *in[] = {op->x[0], onnx_number(o, 0), onnx_number(o, 6)};
    onnx_node(o,
              &(struct onnx_node){.type = "Clip", .in = in, .n_in = 3, .out = op->y[0]});
}

static void act_onnx(struct onnx *o, const struct onnx_op *op)
{
    static const char *const plain[] = {
        [ACT_NONE] = "Identity",       [ACT_RELU] = "Relu",
        [ACT_SELU] = "Selu",           [ACT_SIGMOID] = "Sigmoid",
        [ACT_TANH] = "Tanh",           [ACT_SOFTPLUS] = "Softplus",
        [ACT_HARDSWISH] = "HardSwish", [ACT_SOFTSIGN] = "Softsign"};
    const struct op_act_conf *c = op->conf;
    const char *x = op->x[0];
    if (plain[c->act])
        onnx_unary(o, plain[c->act], op->y[0], x);
    else if (c->act == ACT_LEAKY_RELU)
        put_with_alpha(o, op, "LeakyRelu");
    else if (c->act == ACT_ELU)
        put_with_alpha(o, op, "Elu");
    else if (c->act == ACT_GELU)
        put_gelu(o, op);
    else if (c->act == ACT_GELU_TANH)
        put_gelu_tanh(o, op);
    else if (c->act == ACT_SILU)
        put_gate(o, op, onnx_unary(o, "Sigmoid", NULL, x));
    else if (c->act == ACT_MISH)
        put_gate(o, op, onnx_unary(o, "Tanh", NULL, onnx_unary(o, "Softplus", NULL, x)));
    else
        put_relu6(o, op);
}

const struct op op_act = {
    .name = "activation",
    .flags = OP_NEEDS_IN,
    .infer = act_infer,
    .onnx = act_onnx,
};

struct nn_val *nn_act(struct graph *g, struct nn_val *x, enum nn_act act, float param)
{
    if (act == ACT_NONE)
        return x;
    struct op_act_conf conf = {.act = act, .param = param};
    return nn_op(g, &op_act, &x, 1, NULL, 0, &conf, sizeof(conf));
}

struct nn_val *nn_act_preset(struct graph *g, struct nn_val *x, enum nn_act act)
{
    return nn_act(g, x, act, act == ACT_LEAKY_RELU ? 0.01f : 1.0f);
}
