/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "nn/graph_private.h"
#include "nn/onnx.h"
#include "nn/op/pairs.h"
#include "nn/ops.h"
#include "tensor/gemm.h"

static enum rc query_infer(const void *conf, const struct nn_shape *in, int n_in,
                           struct nn_shape *out, int64_t *keep_width, struct err *err)
{
    const struct op_pair_conf *c = conf;
    out[0] = (struct nn_shape){.axis = in[0].axis, .n_dims = 1, .dims = {c->out}};
    *keep_width = 0;
    if (nn_shape_width(&in[0]) != c->d)
        return err_set(err, RC_INVAL, "a query of %jd values for keys of %jd",
                       (intmax_t)nn_shape_width(&in[0]), (intmax_t)c->d);
    return RC_OK;
}

/* Columns [from, from + d) of the weight, turned round. */
static const char *put_part(struct onnx *o, const struct onnx_op *op,
                            const struct op_pair_conf *c, int64_t from)
{
    int64_t to = from + c->d, axis = 1;
    const char *in[] = {onnx_param(o, op->params[0]), onnx_ints(o, &from, 1),
                        onnx_ints(o, &to, 1), onnx_ints(o, &axis, 1)};
    return onnx_unary(
        o, "Transpose", NULL,
        onnx_node(o, &(struct onnx_node){.type = "Slice", .in = in, .n_in = 4}));
}

static void query_onnx(struct onnx *o, const struct onnx_op *op)
{
    const struct op_pair_conf *c = op->conf;
    const char *w = put_part(o, op, c, c->query);
    if (c->diff >= 0)
        w = onnx_binary(o, "Add", NULL, w, put_part(o, op, c, c->diff));
    const char *y = onnx_binary(o, "MatMul", c->bias ? NULL : op->y[0], op->x[0], w);
    if (c->bias)
        onnx_binary(o, "Add", op->y[0], y, onnx_param(o, op->params[1]));
}

const struct op op_pair_query = {
    .name = "query part",
    .flags = OP_NEEDS_IN,
    .infer = query_infer,
    .onnx = query_onnx,
};

static enum rc key_infer(const void *conf, const struct nn_shape *in, int n_in,
                         struct nn_shape *out, int64_t *keep_width, struct err *err)
{
    const struct op_pair_conf *c = conf;
    out[0] = (struct nn_shape){.axis = in[IN_KEY].axis, .n_dims = 1, .dims = {c->out}};
    *keep_width = 0;
    if (in[IN_KEY].axis == AXIS_BATCH || in[IN_QUERY].axis != AXIS_BATCH)
        return err_set(err, RC_INVAL, "takes a query per row and keys of positions");
    return RC_OK;
}

const char *op_pair_onnx(struct onnx *o, const struct onnx_op *op,
                         const struct op_pair_conf *c, const char *as)
{
    const char *sum = c->act == GEMM_ACT_NONE ? as : NULL;
    int64_t one = 1;
    const char *k = op->x[IN_KEY], *axis = onnx_ints(o, &one, 1);
    const char *q = onnx_binary(o, "Unsqueeze", NULL, op->x[IN_QUERY], axis);
    const char *start = onnx_binary(o, "Unsqueeze", NULL, op->x[IN_START], axis);
    const char *w = put_part(o, op, c, c->key);
    if (c->diff >= 0)
        w = onnx_binary(o, "Sub", NULL, w, put_part(o, op, c, c->diff));
    const char *y = onnx_binary(o, "MatMul", NULL, k, w);
    const char *product =
        onnx_binary(o, "MatMul", NULL, onnx_binary(o, "Mul", NULL, q, k),
                    put_part(o, op, c, c->product));
    y = onnx_binary(o, "Add", NULL, y, product);
    return onnx_act(o, as, onnx_binary(o, "Add", sum, y, start), c->act);
}

static void key_onnx(struct onnx *o, const struct onnx_op *op)
{
    op_pair_onnx(o, op, op->conf, op->y[0]);
}

const struct op op_pair_keys = {
    .name = "key part",
    .flags = OP_NEEDS_IN | OP_NEEDS_OUT,
    .infer = key_infer,
    .onnx = key_onnx,
};

bool nn_pairs_fit(const struct nn_val *query, const struct nn_val *keys)
{
    return query && keys &&
           nn_shape_width(&query->shape) == nn_shape_width(&keys->shape) &&
           nn_shape_width(&keys->shape) <= PAIR_WIDTH_MAX;
}

struct nn_val *op_pair_start(struct graph *g, const char *name, struct nn_val *query,
                             struct nn_val *keys, bool differences, int64_t out,
                             bool bias, struct op_pair_conf *c, struct param **weight)
{
    if (!query || !keys)
        return NULL;
    int64_t d = nn_shape_width(&keys->shape), in = (differences ? 4 : 3) * d;
    double bound = 1.0 / sqrt((double)in);
    struct nn_init init = {INIT_UNIFORM, -bound, bound};
    *c = (struct op_pair_conf){.precision = g->options.precision,
                               .bias = bias,
                               .d = d,
                               .out = out,
                               .query = differences ? 0 : 2 * d,
                               .key = differences ? d : 0,
                               .diff = differences ? 2 * d : -1,
                               .product = differences ? 3 * d : d};
    struct param *params[2] = {0};
    graph_push(g, name);
    params[0] = nn_param(g, "weight", (const int64_t[]){out, in}, 2, init, true);
    if (bias)
        params[1] = nn_param(g, "bias", &out, 1, init, true);
    graph_pop(g);
    *weight = params[0];
    struct nn_val *start =
        nn_op(g, &op_pair_query, &query, 1, params, bias ? 2 : 1, c, sizeof(*c));
    c->mixed = true;
    return start;
}

struct nn_val *nn_pair_linear(struct graph *g, const char *name, struct nn_val *query,
                              struct nn_val *keys, bool differences, int64_t out,
                              bool bias, enum nn_act act)
{
    struct op_pair_conf conf;
    struct param *weight;
    struct nn_val *start =
        op_pair_start(g, name, query, keys, differences, out, bias, &conf, &weight);
    if (!start)
        return NULL;
    bool whole = nn_fused_act(act, &conf.act);
    struct nn_val *in[] = {start, query, keys};
    struct nn_val *y = nn_op(g, &op_pair_keys, in, 3, &weight, 1, &conf, sizeof(conf));
    return whole ? y : nn_act_preset(g, y, act);
}
