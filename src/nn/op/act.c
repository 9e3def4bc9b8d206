/* SPDX-License-Identifier: Apache-2.0 */
/* Activations that are not fused into a linear layer, each with its derivative. */
#include <math.h>

#include "nn/graph_private.h"
#include "nn/onnx.h"
#include "nn/ops.h"

struct act_conf {
    enum act act;
    float param;
};

#define SELU_ALPHA 1.6732632423543772f
#define SELU_SCALE 1.0507009873554805f

static float sigmoid(float x)
{
    return 1.0f / (1.0f + expf(-x));
}

static float softplus(float x)
{
    return x > 20.0f ? x : log1pf(expf(x));
}

static float normal_cdf(float x)
{
    return 0.5f * (1.0f + erff(x * 0.70710678f));
}

static float act_value(const struct act_conf *c, float x)
{
    switch (c->act) {
    case ACT_NONE:
        return x;
    case ACT_RELU:
        return x > 0 ? x : 0;
    case ACT_LEAKY_RELU:
        return x > 0 ? x : c->param * x;
    case ACT_ELU:
        return x > 0 ? x : c->param * expm1f(x);
    case ACT_SELU:
        return SELU_SCALE * (x > 0 ? x : SELU_ALPHA * expm1f(x));
    case ACT_GELU:
        return x * normal_cdf(x);
    case ACT_SILU:
        return x * sigmoid(x);
    case ACT_SIGMOID:
        return sigmoid(x);
    case ACT_TANH:
        return tanhf(x);
    case ACT_SOFTPLUS:
        return softplus(x);
    case ACT_MISH:
        return x * tanhf(softplus(x));
    case ACT_HARDSWISH:
        return x <= -3 ? 0 : x >= 3 ? x : x * (x + 3) / 6;
    case ACT_RELU6:
        return x < 0 ? 0 : x > 6 ? 6 : x;
    }
    return x;
}

static float mish_slope(float x)
{
    float t = tanhf(softplus(x));
    return t + x * (1 - t * t) * sigmoid(x);
}

static float act_slope(const struct act_conf *c, float x)
{
    float s;
    switch (c->act) {
    case ACT_NONE:
        return 1;
    case ACT_RELU:
        return x > 0 ? 1 : 0;
    case ACT_LEAKY_RELU:
        return x > 0 ? 1 : c->param;
    case ACT_ELU:
        return x > 0 ? 1 : c->param * expf(x);
    case ACT_SELU:
        return SELU_SCALE * (x > 0 ? 1 : SELU_ALPHA * expf(x));
    case ACT_GELU:
        return normal_cdf(x) + x * 0.39894228f * expf(-0.5f * x * x);
    case ACT_SILU:
        s = sigmoid(x);
        return s * (1 + x * (1 - s));
    case ACT_SIGMOID:
        s = sigmoid(x);
        return s * (1 - s);
    case ACT_TANH:
        s = tanhf(x);
        return 1 - s * s;
    case ACT_SOFTPLUS:
        return sigmoid(x);
    case ACT_MISH:
        return mish_slope(x);
    case ACT_HARDSWISH:
        return x <= -3 ? 0 : x >= 3 ? 1 : (2 * x + 3) / 6;
    case ACT_RELU6:
        return x > 0 && x < 6 ? 1 : 0;
    }
    return 1;
}

static enum rc act_infer(const void *conf, const struct shape *in, int n_in,
                         struct shape *out, int64_t *keep_width, struct err *err)
{
    out[0] = in[0];
    *keep_width = 0;
    return RC_OK;
}

static void act_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    int64_t from, to;
    op_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t k = from; k < to; k++) {
        const float *x = view_row(&r->in[0], k);
        float *y = view_row(&r->out[0], k);
        for (int64_t i = 0; i < r->out[0].width; i++)
            y[i] = act_value(r->conf, x[i]);
    }
}

static void act_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    int64_t from, to;
    if (!r->d_in[0].data)
        return;
    op_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t k = from; k < to; k++) {
        const float *x = view_row(&r->in[0], k), *dy = view_row(&r->d_out[0], k);
        float *dx = view_row(&r->d_in[0], k);
        for (int64_t i = 0; i < r->out[0].width; i++)
            dx[i] += dy[i] * act_slope(r->conf, x[i]);
    }
}

/* x * f(x) */
static void put_gate(struct onnx *o, const struct onnx_op *op, const char *f)
{
    onnx_binary(o, "Mul", op->y[0], op->x[0], f);
}

static void put_with_alpha(struct onnx *o, const struct onnx_op *op, const char *type)
{
    const struct act_conf *c = op->conf;
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

static void put_relu6(struct onnx *o, const struct onnx_op *op)
{
    const char *in[] = {op->x[0], onnx_number(o, 0), onnx_number(o, 6)};
    onnx_node(o,
              &(struct onnx_node){.type = "Clip", .in = in, .n_in = 3, .out = op->y[0]});
}

static void act_onnx(struct onnx *o, const struct onnx_op *op)
{
    static const char *const plain[] = {
        [ACT_NONE] = "Identity",       [ACT_RELU] = "Relu", [ACT_SELU] = "Selu",
        [ACT_SIGMOID] = "Sigmoid",     [ACT_TANH] = "Tanh", [ACT_SOFTPLUS] = "Softplus",
        [ACT_HARDSWISH] = "HardSwish", [ACT_RELU6] = NULL};
    const struct act_conf *c = op->conf;
    const char *x = op->x[0];
    if (plain[c->act])
        onnx_unary(o, plain[c->act], op->y[0], x);
    else if (c->act == ACT_LEAKY_RELU)
        put_with_alpha(o, op, "LeakyRelu");
    else if (c->act == ACT_ELU)
        put_with_alpha(o, op, "Elu");
    else if (c->act == ACT_GELU)
        put_gelu(o, op);
    else if (c->act == ACT_SILU)
        put_gate(o, op, onnx_unary(o, "Sigmoid", NULL, x));
    else if (c->act == ACT_MISH)
        put_gate(o, op, onnx_unary(o, "Tanh", NULL, onnx_unary(o, "Softplus", NULL, x)));
    else
        put_relu6(o, op);
}

static const struct op_ops op_act = {
    .name = "activation",
    .flags = OP_NEEDS_IN | OP_STRIDED,
    .infer = act_infer,
    .forward = act_forward,
    .backward = act_backward,
    .onnx = act_onnx,
};

struct val *nn_act(struct graph *g, struct val *x, enum act act, float param)
{
    if (act == ACT_NONE)
        return x;
    struct act_conf conf = {.act = act, .param = param};
    return nn_op(g, &op_act, &x, 1, NULL, 0, &conf, sizeof(conf));
}
