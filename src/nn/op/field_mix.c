/* SPDX-License-Identifier: Apache-2.0 */
#include "nn/op/field_mix.h"
#include "nn/graph_private.h"
#include "nn/onnx.h"
#include "nn/ops.h"

static enum rc mix_infer(const void *conf, const struct nn_shape *in, int n_in,
                         struct nn_shape *out, int64_t *keep_width, struct err *err)
{
    const struct op_mix_conf *c = conf;
    *keep_width = 0;
    out[0] = (struct nn_shape){.axis = in[0].axis, .n_dims = 2, .dims = {c->out, c->d}};
    return RC_OK;
}

static void mix_onnx(struct onnx *o, const struct onnx_op *op)
{
    const char *w = onnx_unary(o, "Transpose", NULL, onnx_param(o, op->params[0]));
    onnx_binary(o, "MatMul", op->y[0], w, op->x[0]);
}

const struct op op_field_mix = {
    .name = "mixed fields",
    .flags = OP_NEEDS_IN,
    .infer = mix_infer,
    .onnx = mix_onnx,
};

struct nn_val *nn_mix_fields(struct graph *g, struct param *w, struct nn_val *x)
{
    if (!w || !x)
        return NULL;
    struct op_mix_conf conf = {
        .n = x->shape.dims[0], .d = x->shape.dims[1], .out = w->dims[1]};
    if (x->shape.n_dims != 2 || w->dims[0] != conf.n)
        return graph_fail(g, "parameter '%s' mixes %jd fields, not %jd", w->name,
                          (intmax_t)w->dims[0], (intmax_t)conf.n);
    return nn_op(g, &op_field_mix, &x, 1, &w, 1, &conf, sizeof(conf));
}
