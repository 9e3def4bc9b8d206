/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "nn/graph_private.h"
#include "nn/onnx.h"
#include "nn/op/attention.h"
#include "nn/ops.h"

static enum rc attention_infer(const void *conf, const struct nn_shape *in, int n_in,
                               struct nn_shape *out, int64_t *keep_width, struct err *err)
{
    const struct op_attention_conf *c = conf;
    int64_t width = nn_shape_width(&in[0]);
    for (int i = 0; i < n_in; i++)
        if ((c->fields ? in[i].n_dims != 2 : in[i].axis == AXIS_BATCH) ||
            in[i].axis != in[0].axis || in[i].dims[0] != in[0].dims[0] ||
            nn_shape_width(&in[i]) != width)
            return err_set(err, RC_INVAL, "takes values of %s of one width",
                           c->fields ? "fields" : "positions");
    out[0] = in[0];
    *keep_width = c->heads * (c->fields ? c->fields : 1);
    width /= c->fields ? c->fields : 1;
    if (c->heads < 1 || width % c->heads)
        return err_set(err, RC_INVAL, "%jd heads do not divide a width of %jd",
                       (intmax_t)c->heads, (intmax_t)width);
    return RC_OK;
}

/* A row whose positions are split into heads: [axis, heads, d] or [fields, heads, d]. */
static struct nn_shape split_shape(const struct op_attention_conf *c,
                                   const struct nn_shape *in)
{
    int64_t all = c->heads * (c->fields ? c->fields : 1), d = nn_shape_width(in) / all;
    if (c->fields)
        return (struct nn_shape){
            .axis = in->axis, .n_dims = 3, .dims = {c->fields, c->heads, d}};
    return (struct nn_shape){.axis = in->axis, .n_dims = 2, .dims = {c->heads, d}};
}

/* [batch, axis, heads * d] -> [batch, heads, axis, d], or with the last two turned. */
static const char *put_heads(struct onnx *o, const struct onnx_op *op, int input,
                             bool turned)
{
    struct nn_shape split = split_shape(op->conf, &op->in[input]);
    const char *flat = onnx_flat(o, op->x[input], &op->in[input]);
    struct nn_shape one = {
        .axis = split.axis, .n_dims = 1, .dims = {nn_shape_width(&op->in[input])}};
    const char *x = onnx_reshape(o, NULL, flat, &one, &split);
    struct onnx_attr perm = {
        .name = "perm", .kind = ONNX_ATTR_INTS, .ints = {0, 2, 1, 3}, .n_ints = 4};
    if (turned) {
        perm.ints[2] = 3;
        perm.ints[3] = 1;
    }
    return onnx_node(o, &(struct onnx_node){
                            .type = "Transpose", .in = &x, .n_in = 1, .attrs = {perm}});
}

/* What is added to the scores of padded positions: [batch, 1, 1, axis]. */
static const char *put_bias(struct onnx *o, int axis)
{
    static const int64_t axes[] = {1, 2};
    const char *outside = onnx_with(o, "Sub", NULL, onnx_mask(o, axis), 1.0f);
    const char *bias = onnx_with(o, "Mul", NULL, outside, 1e30f);
    return onnx_binary(o, "Unsqueeze", NULL, bias, onnx_ints(o, axes, 2));
}

static void attention_onnx(struct onnx *o, const struct onnx_op *op)
{
    const struct op_attention_conf *c = op->conf;
    const char *q = put_heads(o, op, ATTENTION_QUERY, false);
    const char *k = put_heads(o, op, ATTENTION_KEY, true);
    const char *v = put_heads(o, op, ATTENTION_VALUE, false);
    const char *scores =
        onnx_with(o, "Mul", NULL, onnx_binary(o, "MatMul", NULL, q, k), c->scale);
    if (!c->fields)
        scores = onnx_binary(o, "Add", NULL, scores, put_bias(o, op->in[0].axis));
    const char *weights =
        onnx_node(o, &(struct onnx_node){.type = "Softmax",
                                         .in = &scores,
                                         .n_in = 1,
                                         .attrs = {ONNX_INT("axis", -1)}});
    const char *y = onnx_binary(o, "MatMul", NULL, weights, v);
    struct onnx_attr perm = {
        .name = "perm", .kind = ONNX_ATTR_INTS, .ints = {0, 2, 1, 3}, .n_ints = 4};
    y = onnx_node(o, &(struct onnx_node){
                         .type = "Transpose", .in = &y, .n_in = 1, .attrs = {perm}});
    struct nn_shape split = split_shape(c, &op->in[0]);
    if (!c->fields && op->out[0].n_dims == 2 && op->out[0].dims[0] == c->heads)
        onnx_unary(o, "Identity", op->y[0], y);
    else
        onnx_reshape(o, op->y[0], y, &split, &op->out[0]);
}

const struct op op_attention = {
    .name = "attention",
    .flags = OP_NEEDS_IN | OP_NEEDS_OUT,
    .infer = attention_infer,
    .onnx = attention_onnx,
};

struct nn_val *nn_seq_attention(struct graph *g, struct nn_val *query, struct nn_val *key,
                                struct nn_val *value, int64_t heads, double dropout)
{
    struct nn_val *in[] = {query, key, value};
    if (dropout < 0 || dropout >= 1)
        return graph_fail(g, "attention: a dropout of %g is outside [0, 1)", dropout);
    if (!query || heads < 1)
        return query ? graph_fail(g, "attention: %jd heads", (intmax_t)heads) : NULL;
    int64_t width = nn_shape_width(&query->shape) / heads;
    struct op_attention_conf conf = {.heads = heads,
                                     .scale =
                                         1.0f / sqrtf((float)(width > 0 ? width : 1)),
                                     .below = (uint32_t)(dropout * 4294967296.0),
                                     .kept = (float)(1.0 / (1.0 - dropout))};
    return nn_op(g, &op_attention, in, 3, NULL, 0, &conf, sizeof(conf));
}

struct nn_val *nn_field_attention(struct graph *g, struct nn_val *query,
                                  struct nn_val *key, struct nn_val *value, int64_t heads,
                                  float scale)
{
    struct nn_val *in[] = {query, key, value};
    if (!query)
        return NULL;
    struct op_attention_conf conf = {
        .heads = heads, .fields = query->shape.dims[0], .scale = scale, .kept = 1};
    return nn_op(g, &op_attention, in, 3, NULL, 0, &conf, sizeof(conf));
}
