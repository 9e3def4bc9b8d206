/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "nn/graph_private.h"
#include "nn/onnx.h"
#include "nn/op/field_conv.h"
#include "nn/ops.h"

static enum rc conv_infer(const void *conf, const struct nn_shape *in, int n_in,
                          struct nn_shape *out, int64_t *keep_width, struct err *err)
{
    const struct op_conv_conf *c = conf;
    *keep_width = 0;
    out[0] =
        (struct nn_shape){.axis = in[0].axis, .n_dims = 3, .dims = {c->d, c->n, c->out}};
    return RC_OK;
}

static const char *turned(struct onnx *o, const char *out, const char *x, int64_t a,
                          int64_t b, int64_t c)
{
    struct onnx_attr perm = {
        .name = "perm", .kind = ONNX_ATTR_INTS, .ints = {0, a, b, c}, .n_ints = 4};
    return onnx_node(
        o, &(struct onnx_node){
               .type = "Transpose", .in = &x, .n_in = 1, .out = out, .attrs = {perm}});
}

/* Maps are channels, [batch, maps, d, n]. */
static void conv_onnx(struct onnx *o, const struct onnx_op *op)
{
    const struct op_conv_conf *c = op->conf;
    int64_t across = 2;
    const char *w = onnx_binary(o, "Unsqueeze", NULL, onnx_param(o, op->params[0]),
                                onnx_ints(o, &across, 1));
    const char *in[3] = {turned(o, NULL, op->x[0], 3, 1, 2), w};
    if (op->n_params > 1)
        in[2] = onnx_param(o, op->params[1]);
    struct onnx_attr pads = {.name = "pads",
                             .kind = ONNX_ATTR_INTS,
                             .ints = {0, c->pad, 0, c->height - 1 - c->pad},
                             .n_ints = 4};
    const char *y = onnx_node(o, &(struct onnx_node){.type = "Conv",
                                                     .in = in,
                                                     .n_in = op->n_params > 1 ? 3 : 2,
                                                     .attrs = {pads}});
    turned(o, op->y[0], y, 2, 3, 1);
}

const struct op op_field_conv = {
    .name = "convolution of fields",
    .flags = OP_NEEDS_IN,
    .infer = conv_infer,
    .onnx = conv_onnx,
};

struct nn_val *nn_field_conv(struct graph *g, const char *name, struct nn_val *x,
                             int64_t out, int64_t height, bool bias)
{
    if (!x)
        return NULL;
    if (x->shape.n_dims != 3 || x->shape.axis != AXIS_BATCH || out < 1 || height < 1)
        return graph_fail(g,
                          "%s takes rows of the batch [d, n, maps], and makes one or "
                          "more maps of one or more fields",
                          name);
    struct op_conv_conf conf = {.precision = g->options.precision,
                                .d = x->shape.dims[0],
                                .n = x->shape.dims[1],
                                .in = x->shape.dims[2],
                                .out = out,
                                .height = height,
                                .pad = (height - 1) / 2};
    double bound = 1.0 / sqrt((double)(conf.in * height));
    struct nn_init init = {INIT_UNIFORM, -bound, bound};
    struct param *params[2];
    graph_push(g, name);
    params[0] =
        nn_param(g, "weight", (const int64_t[]){out, conf.in, height}, 3, init, true);
    if (bias)
        params[1] = nn_param(g, "bias", &out, 1, init, true);
    graph_pop(g);
    return nn_op(g, &op_field_conv, &x, 1, params, bias ? 2 : 1, &conf, sizeof(conf));
}

static enum rc max_infer(const void *conf, const struct nn_shape *in, int n_in,
                         struct nn_shape *out, int64_t *keep_width, struct err *err)
{
    const struct op_max_conf *c = conf;
    *keep_width = 0;
    out[0] = (struct nn_shape){
        .axis = in[0].axis, .n_dims = 3, .dims = {c->d, c->n / c->height, c->maps}};
    return RC_OK;
}

static void max_onnx(struct onnx *o, const struct onnx_op *op)
{
    const struct op_max_conf *c = op->conf;
    struct onnx_attr kernel = {.name = "kernel_shape",
                               .kind = ONNX_ATTR_INTS,
                               .ints = {c->height, 1},
                               .n_ints = 2};
    struct onnx_attr strides = kernel;
    strides.name = "strides";
    onnx_node(o, &(struct onnx_node){.type = "MaxPool",
                                     .in = op->x,
                                     .n_in = 1,
                                     .out = op->y[0],
                                     .attrs = {kernel, strides}});
}

const struct op op_field_max = {
    .name = "largest of fields",
    .flags = OP_NEEDS_IN | OP_NEEDS_OUT,
    .infer = max_infer,
    .onnx = max_onnx,
};

struct nn_val *nn_field_max(struct graph *g, struct nn_val *x, int64_t height)
{
    if (!x)
        return NULL;
    if (x->shape.n_dims != 3 || x->shape.axis != AXIS_BATCH || height < 1 ||
        height > x->shape.dims[1])
        return graph_fail(g,
                          "the largest of %jd fields is taken of rows of the batch "
                          "[d, n, maps] with so many or more fields",
                          (intmax_t)height);
    struct op_max_conf conf = {.d = x->shape.dims[0],
                               .n = x->shape.dims[1],
                               .maps = x->shape.dims[2],
                               .height = height};
    return nn_op(g, &op_field_max, &x, 1, NULL, 0, &conf, sizeof(conf));
}
