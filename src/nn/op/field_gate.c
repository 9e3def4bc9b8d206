/* SPDX-License-Identifier: Apache-2.0 */
/* Sums over fields and over what a field holds, fields times a number each, and a learnt
 * number added to each value.
 */
#include "nn/op/field_gate.h"
#include "nn/graph_private.h"
#include "nn/onnx.h"
#include "nn/ops.h"

static enum rc sum_infer(const void *conf, const struct nn_shape *in, int n_in,
                         struct nn_shape *out, int64_t *keep_width, struct err *err)
{
    const struct op_gate_conf *c = conf;
    *keep_width = 0;
    out[0] = (struct nn_shape){
        .axis = in[0].axis, .n_dims = 1, .dims = {in[0].dims[c->over_fields ? 1 : 0]}};
    if (in[0].n_dims != 2)
        return err_set(err, RC_INVAL, "takes rows of fields [n, d]");
    return RC_OK;
}

static void sum_onnx(struct onnx *o, const struct onnx_op *op)
{
    const struct op_gate_conf *c = op->conf;
    onnx_sum(o, op->y[0], op->x[0], c->over_fields ? -2 : -1, false);
}

const struct op op_field_sum = {
    .name = "sum of fields",
    .infer = sum_infer,
    .onnx = sum_onnx,
};

static struct nn_val *sum(struct graph *g, struct nn_val *x, bool over_fields)
{
    if (!x)
        return NULL;
    struct op_gate_conf conf = {
        .n = x->shape.dims[0], .d = x->shape.dims[1], .over_fields = over_fields};
    return nn_op(g, &op_field_sum, &x, 1, NULL, 0, &conf, sizeof(conf));
}

struct nn_val *nn_sum_fields(struct graph *g, struct nn_val *x)
{
    return sum(g, x, true);
}

struct nn_val *nn_sum_within(struct graph *g, struct nn_val *x)
{
    return sum(g, x, false);
}

/* Inputs: gates [n], fields [n, d]. */
static enum rc gate_infer(const void *conf, const struct nn_shape *in, int n_in,
                          struct nn_shape *out, int64_t *keep_width, struct err *err)
{
    *keep_width = 0;
    out[0] = in[1];
    if (in[1].n_dims != 2 || in[0].axis != in[1].axis ||
        nn_shape_width(&in[0]) != in[1].dims[0])
        return err_set(err, RC_INVAL, "%jd gates for %jd fields",
                       (intmax_t)nn_shape_width(&in[0]), (intmax_t)in[1].dims[0]);
    return RC_OK;
}

static void gate_onnx(struct onnx *o, const struct onnx_op *op)
{
    int64_t last = -1;
    const char *gate = onnx_binary(
        o, "Unsqueeze", NULL, onnx_flat(o, op->x[0], &op->in[0]), onnx_ints(o, &last, 1));
    onnx_binary(o, "Mul", op->y[0], gate, op->x[1]);
}

const struct op op_field_gate = {
    .name = "gates of fields",
    .flags = OP_NEEDS_IN,
    .infer = gate_infer,
    .onnx = gate_onnx,
};

struct nn_val *nn_gate_fields(struct graph *g, struct nn_val *gates, struct nn_val *x)
{
    if (!gates || !x)
        return NULL;
    struct op_gate_conf conf = {.n = x->shape.dims[0], .d = x->shape.dims[1]};
    struct nn_val *in[] = {gates, x};
    return nn_op(g, &op_field_gate, in, 2, NULL, 0, &conf, sizeof(conf));
}

static enum rc bias_infer(const void *conf, const struct nn_shape *in, int n_in,
                          struct nn_shape *out, int64_t *keep_width, struct err *err)
{
    *keep_width = 0;
    out[0] = in[0];
    return RC_OK;
}

static void bias_onnx(struct onnx *o, const struct onnx_op *op)
{
    onnx_binary(o, "Add", op->y[0], op->x[0], onnx_param(o, op->params[0]));
}

const struct op op_bias = {
    .name = "bias",
    .infer = bias_infer,
    .onnx = bias_onnx,
};

struct nn_val *nn_bias(struct graph *g, const char *name, struct nn_val *x)
{
    if (!x)
        return NULL;
    struct param *b = nn_param(g, name, x->shape.dims, x->shape.n_dims,
                               (struct nn_init){INIT_ZEROS, 0, 0}, true);
    return nn_op(g, &op_bias, &x, 1, &b, 1, NULL, 0);
}
