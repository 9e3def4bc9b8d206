/* SPDX-License-Identifier: Apache-2.0 */
#include "nn/op/times.h"
#include "nn/graph_private.h"
#include "nn/onnx.h"
#include "nn/ops.h"

static enum rc times_infer(const void *conf, const struct nn_shape *in, int n_in,
                           struct nn_shape *out, int64_t *keep_width, struct err *err)
{
    const struct op_times_conf *c = conf;
    *keep_width = 0;
    out[0] = in[0];
    out[0].dims[in[0].n_dims - 1] = c->out;
    if (in[0].dims[in[0].n_dims - 1] != c->in)
        return err_set(err, RC_INVAL, "takes %jd values, not %jd", (intmax_t)c->in,
                       (intmax_t)in[0].dims[in[0].n_dims - 1]);
    return RC_OK;
}

static void times_onnx(struct onnx *o, const struct onnx_op *op)
{
    onnx_binary(o, "MatMul", op->y[0], op->x[0], onnx_param(o, op->params[0]));
}

const struct op op_times = {
    .name = "times",
    .flags = OP_NEEDS_IN,
    .infer = times_infer,
    .onnx = times_onnx,
};

struct nn_val *nn_times(struct graph *g, struct param *w, struct nn_val *x)
{
    if (!w || !x)
        return NULL;
    struct op_times_conf conf = {
        .precision = g->options.precision, .in = w->dims[0], .out = w->dims[1]};
    return nn_op(g, &op_times, &x, 1, &w, 1, &conf, sizeof(conf));
}

static void times_bias_onnx(struct onnx *o, const struct onnx_op *op)
{
    const char *x =
        onnx_binary(o, "MatMul", NULL, op->x[0], onnx_param(o, op->params[0]));
    onnx_binary(o, "Add", op->y[0], x, onnx_param(o, op->params[1]));
}

const struct op op_times_bias = {
    .name = "times and bias",
    .flags = OP_NEEDS_IN,
    .infer = times_infer,
    .onnx = times_bias_onnx,
};

struct nn_val *nn_times_bias(struct graph *g, struct param *w, struct param *bias,
                             struct nn_val *x)
{
    if (!w || !x || !bias)
        return NULL;
    struct op_times_conf conf = {
        .precision = g->options.precision, .in = w->dims[0], .out = w->dims[1]};
    struct param *params[] = {w, bias};
    if (bias->n != conf.out)
        return graph_fail(g, "times: a bias of %jd values for %jd", (intmax_t)bias->n,
                          (intmax_t)conf.out);
    return nn_op(g, &op_times_bias, &x, 1, params, 2, &conf, sizeof(conf));
}
