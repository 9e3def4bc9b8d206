/* SPDX-License-Identifier: Apache-2.0 */
#include "nn/op/layer_norm.h"
#include "nn/graph_private.h"
#include "nn/onnx.h"
#include "nn/ops.h"

static enum rc ln_infer(const void *conf, const struct nn_shape *in, int n_in,
                        struct nn_shape *out, int64_t *keep_width, struct err *err)
{
    const struct op_layer_norm_conf *c = conf;
    out[0] = in[0];
    *keep_width = 2 * (nn_shape_width(&in[0]) / c->n);
    return RC_OK;
}

static void ln_onnx(struct onnx *o, const struct onnx_op *op)
{
    const struct op_layer_norm_conf *c = op->conf;
    const char *in[] = {op->x[0], onnx_param(o, op->params[0]),
                        onnx_param(o, op->params[1])};
    for (int i = 0; i < 2; i++)
        if (op->params[i]->n_dims > 1)
            in[i + 1] =
                onnx_binary(o, "Reshape", NULL, in[i + 1], onnx_ints(o, &c->n, 1));
    onnx_node(o, &(struct onnx_node){
                     .type = "LayerNormalization",
                     .in = in,
                     .n_in = 3,
                     .out = op->y[0],
                     .attrs = {ONNX_INT("axis", -1), ONNX_FLOAT("epsilon", c->eps)}});
}

const struct op op_layer_norm = {
    .name = "layer norm",
    .flags = OP_NEEDS_IN,
    .infer = ln_infer,
    .onnx = ln_onnx,
};

struct nn_val *nn_layer_norm(struct graph *g, const char *name, struct nn_val *x)
{
    if (!x)
        return NULL;
    struct op_layer_norm_conf conf = {.n = x->shape.dims[x->shape.n_dims - 1],
                                      .eps = (float)EPS};
    struct param *params[2];
    graph_push(g, name);
    params[0] =
        nn_param(g, "weight", &conf.n, 1, (struct nn_init){INIT_ONES, 0, 0}, true);
    params[1] = nn_param(g, "bias", &conf.n, 1, (struct nn_init){INIT_ZEROS, 0, 0}, true);
    graph_pop(g);
    return nn_op(g, &op_layer_norm, &x, 1, params, 2, &conf, sizeof(conf));
}

struct nn_val *nn_layer_norm_by(struct graph *g, struct param *weight, struct param *bias,
                                double eps, struct nn_val *x)
{
    if (!x || !weight || !bias)
        return NULL;
    struct op_layer_norm_conf conf = {.n = x->shape.dims[x->shape.n_dims - 1],
                                      .eps = (float)eps};
    struct param *params[] = {weight, bias};
    if (weight->n != conf.n || bias->n != conf.n)
        return graph_fail(g, "layer norm: %jd weights for %jd values",
                          (intmax_t)weight->n, (intmax_t)conf.n);
    return nn_op(g, &op_layer_norm, &x, 1, params, 2, &conf, sizeof(conf));
}
