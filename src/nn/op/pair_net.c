/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "nn/onnx.h"
#include "nn/op/pair_net.h"
#include "nn/op/pairs.h"
#include "nn/ops.h"
#include "tensor/gemm.h"

#define HIDDEN_MAX 1024

static enum rc net_infer(const void *conf, const struct nn_shape *in, int n_in,
                         struct nn_shape *out, int64_t *keep_width, struct err *err)
{
    const struct op_net_conf *c = conf;
    out[0] = (struct nn_shape){.axis = in[IN_KEY].axis, .n_dims = 1, .dims = {c->out}};
    *keep_width = 0;
    if (in[IN_KEY].axis == AXIS_BATCH || in[IN_QUERY].axis != AXIS_BATCH)
        return err_set(err, RC_INVAL, "takes a query per row and keys of positions");
    return RC_OK;
}

static void net_onnx(struct onnx *o, const struct onnx_op *op)
{
    const struct op_net_conf *c = op->conf;
    const char *h = op_pair_onnx(o, op, &c->first, NULL);
    const char *w =
        onnx_unary(o, "Transpose", NULL, onnx_param(o, op->params[PARAM_SECOND]));
    const char *bias = c->bias ? onnx_param(o, op->params[PARAM_BIAS]) : NULL;
    onnx_layer(o, op->y[0], h, w, bias, c->act);
}

const struct op op_pair_net = {
    .name = "pair net",
    .flags = OP_NEEDS_IN | OP_NEEDS_OUT,
    .infer = net_infer,
    .onnx = net_onnx,
};

bool nn_pair_net_fits(const struct nn_pair_layer layers[2])
{
    enum gemm_act act;
    return nn_fused_act(layers[0].act, &act) && nn_fused_act(layers[1].act, &act) &&
           layers[0].out <= HIDDEN_MAX;
}

struct nn_val *nn_pair_net(struct graph *g, struct nn_val *query, struct nn_val *keys,
                           bool differences, const struct nn_pair_layer layers[2])
{
    const struct nn_pair_layer *a = &layers[0], *b = &layers[1];
    struct op_net_conf conf = {.bias = b->bias, .out = b->out};
    struct param *params[3] = {0};
    struct nn_val *start = op_pair_start(g, a->name, query, keys, differences, a->out,
                                         a->bias, &conf.first, &params[PARAM_FIRST]);
    if (!start)
        return NULL;
    double bound = 1.0 / sqrt((double)a->out);
    struct nn_init init = {INIT_UNIFORM, -bound, bound};
    graph_push(g, b->name);
    params[PARAM_SECOND] =
        nn_param(g, "weight", (const int64_t[]){b->out, a->out}, 2, init, true);
    if (b->bias)
        params[PARAM_BIAS] = nn_param(g, "bias", &b->out, 1, init, true);
    graph_pop(g);
    nn_fused_act(a->act, &conf.first.act);
    nn_fused_act(b->act, &conf.act);
    struct nn_val *in[] = {start, query, keys};
    return nn_op(g, &op_pair_net, in, 3, params, b->bias ? 3 : 2, &conf, sizeof(conf));
}
