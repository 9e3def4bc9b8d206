/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "nn/graph_private.h"
#include "nn/onnx.h"
#include "nn/op/linear.h"
#include "nn/ops.h"
#include "tensor/gemm.h"

static enum rc linear_infer(const void *conf, const struct nn_shape *in, int n_in,
                            struct nn_shape *out, int64_t *keep_width, struct err *err)
{
    const struct op_linear_conf *c = conf;
    out[0] = in[0];
    out[0].dims[out[0].n_dims - 1] = c->out;
    *keep_width = 0;
    return RC_OK;
}

/* Rows [from, from + out) of a parameter. */
static const char *put_rows(struct onnx *o, const struct op_linear_conf *c,
                            const struct param *p)
{
    int64_t to = c->from + c->out, axis = 0;
    const char *w = onnx_param(o, p);
    if (c->from == 0 && c->out == p->dims[0])
        return w;
    const char *in[] = {w, onnx_ints(o, &c->from, 1), onnx_ints(o, &to, 1),
                        onnx_ints(o, &axis, 1)};
    return onnx_node(o, &(struct onnx_node){.type = "Slice", .in = in, .n_in = 4});
}

static void linear_onnx(struct onnx *o, const struct onnx_op *op)
{
    const struct op_linear_conf *c = op->conf;
    const char *w = onnx_unary(o, "Transpose", NULL, put_rows(o, c, op->params[0]));
    const char *bias = c->bias ? put_rows(o, c, op->params[1]) : NULL;
    onnx_layer(o, op->y[0], op->x[0], w, bias, c->act);
}

const struct op op_linear = {
    .name = "linear",
    .flags = OP_NEEDS_IN | OP_NEEDS_OUT,
    .infer = linear_infer,
    .onnx = linear_onnx,
};

bool nn_fused_act(enum nn_act act, enum gemm_act *out)
{
    switch (act) {
    case ACT_NONE:
        *out = GEMM_ACT_NONE;
        return true;
    case ACT_RELU:
        *out = GEMM_ACT_RELU;
        return true;
    case ACT_SIGMOID:
        *out = GEMM_ACT_SIGMOID;
        return true;
    case ACT_TANH:
        *out = GEMM_ACT_TANH;
        return true;
    default:
        *out = GEMM_ACT_NONE;
        return false;
    }
}

struct nn_val *nn_linear(struct graph *g, const char *name, struct nn_val *x, int64_t out,
                         bool bias, enum nn_act act)
{
    if (!x)
        return NULL;
    int64_t in = x->shape.dims[x->shape.n_dims - 1];
    double bound = 1.0 / sqrt((double)in);
    struct nn_init init = {INIT_UNIFORM, -bound, bound};
    struct param *params[2] = {0};
    graph_push(g, name);
    params[0] = nn_param(g, "weight", (const int64_t[]){out, in}, 2, init, true);
    if (bias)
        params[1] = nn_param(g, "bias", &out, 1, init, true);
    graph_pop(g);
    struct op_linear_conf conf = {
        .precision = g->options.precision, .bias = bias, .whole = true, .out = out};
    bool fused = nn_fused_act(act, &conf.act);
    struct nn_val *y =
        nn_op(g, &op_linear, &x, 1, params, bias ? 2 : 1, &conf, sizeof(conf));
    return fused ? y : nn_act_preset(g, y, act);
}

struct nn_val *nn_linear_rows(struct graph *g, struct param *w, struct param *b,
                              int64_t from, int64_t out, struct nn_val *x)
{
    if (!x || !w)
        return NULL;
    if (w->dims[1] != x->shape.dims[x->shape.n_dims - 1] || from < 0 || out < 1 ||
        from + out > w->dims[0])
        return graph_fail(g,
                          "parameter '%s' of %jd x %jd has no rows %jd to %jd for %jd "
                          "values",
                          w->name, (intmax_t)w->dims[0], (intmax_t)w->dims[1],
                          (intmax_t)from, (intmax_t)(from + out),
                          (intmax_t)x->shape.dims[x->shape.n_dims - 1]);
    struct param *params[2] = {w, b};
    struct op_linear_conf conf = {.precision = g->options.precision,
                                  .act = GEMM_ACT_NONE,
                                  .bias = b != NULL,
                                  .from = from,
                                  .out = out};
    return nn_op(g, &op_linear, &x, 1, params, b ? 2 : 1, &conf, sizeof(conf));
}
