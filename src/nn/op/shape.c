/* SPDX-License-Identifier: Apache-2.0 */
/* The same numbers in another arrangement: slice, reshape, stop-gradient; and row sums.
 */
#include <string.h>

#include "nn/graph_private.h"
#include "nn/onnx.h"
#include "nn/op/shape.h"
#include "nn/ops.h"

static enum rc take_infer(const void *conf, const struct nn_shape *in, int n_in,
                          struct nn_shape *out, int64_t *keep_width, struct err *err)
{
    const struct op_take_conf *c = conf;
    out[0] = c->shape;
    out[0].axis = in[0].axis;
    int64_t n = nn_shape_width(&out[0]);
    *keep_width = 0;
    if (c->from < 0 || n < 1 || c->from + n > nn_shape_width(&in[0]))
        return err_set(err, RC_INVAL, "values %jd to %jd of a row of %jd",
                       (intmax_t)c->from, (intmax_t)(c->from + n),
                       (intmax_t)nn_shape_width(&in[0]));
    return RC_OK;
}

static void take_onnx(struct onnx *o, const struct onnx_op *op)
{
    const struct op_take_conf *c = op->conf;
    int64_t to = c->from + nn_shape_width(&op->out[0]), last = -1;
    struct nn_shape flat = {
        .axis = op->in[0].axis, .n_dims = 1, .dims = {nn_shape_width(&op->out[0])}};
    const char *x = onnx_flat(o, op->x[0], &op->in[0]);
    if (flat.dims[0] != nn_shape_width(&op->in[0])) {
        const char *in[] = {x, onnx_ints(o, &c->from, 1), onnx_ints(o, &to, 1),
                            onnx_ints(o, &last, 1)};
        x = onnx_node(o, &(struct onnx_node){.type = "Slice", .in = in, .n_in = 4});
    }
    onnx_reshape(o, op->y[0], x, &flat, &op->out[0]);
}

const struct op op_slice = {
    .name = "slice",
    .infer = take_infer,
    .onnx = take_onnx,
};

const struct op op_stop_gradient = {
    .name = "stop gradient",
    .flags = OP_NO_GRAD,
    .infer = take_infer,
    .onnx = take_onnx,
};

struct nn_val *nn_slice(struct graph *g, struct nn_val *x, int64_t from, int64_t n)
{
    struct op_take_conf conf = {.from = from, .shape = {.n_dims = 1, .dims = {n}}};
    return nn_op(g, &op_slice, &x, 1, NULL, 0, &conf, sizeof(conf));
}

struct nn_val *nn_reshape(struct graph *g, struct nn_val *x, const int64_t *dims,
                          int n_dims)
{
    struct op_take_conf conf = {.shape = {.n_dims = n_dims}};
    if (!x)
        return NULL;
    if (n_dims < 1 || n_dims > 3)
        return graph_fail(g, "reshape to %d dimensions", n_dims);
    memcpy(conf.shape.dims, dims, (size_t)n_dims * sizeof(*dims));
    if (nn_shape_width(&conf.shape) != nn_shape_width(&x->shape))
        return graph_fail(g, "reshape of %jd values to %jd",
                          (intmax_t)nn_shape_width(&x->shape),
                          (intmax_t)nn_shape_width(&conf.shape));
    return nn_op(g, &op_slice, &x, 1, NULL, 0, &conf, sizeof(conf));
}

struct pad_conf {
    int64_t n;
};

static enum rc pad_infer(const void *conf, const struct nn_shape *in, int n_in,
                         struct nn_shape *out, int64_t *keep_width, struct err *err)
{
    const struct pad_conf *c = conf;
    out[0] = (struct nn_shape){.axis = in[0].axis, .n_dims = 1, .dims = {c->n}};
    *keep_width = 0;
    if (c->n < nn_shape_width(&in[0]))
        return err_set(err, RC_INVAL, "a row of %jd values does not fit into %jd",
                       (intmax_t)nn_shape_width(&in[0]), (intmax_t)c->n);
    return RC_OK;
}

static void pad_onnx(struct onnx *o, const struct onnx_op *op)
{
    int rank = op->in[0].axis == AXIS_BATCH ? 2 : 3;
    int64_t pads[6] = {0};
    pads[2 * rank - 1] = nn_shape_width(&op->out[0]) - nn_shape_width(&op->in[0]);
    onnx_binary(o, "Pad", op->y[0], onnx_flat(o, op->x[0], &op->in[0]),
                onnx_ints(o, pads, 2 * rank));
}

const struct op op_pad = {
    .name = "pad",
    .infer = pad_infer,
    .onnx = pad_onnx,
};

struct nn_val *nn_pad(struct graph *g, struct nn_val *x, int64_t n)
{
    struct pad_conf conf = {.n = n};
    if (x && nn_shape_width(&x->shape) == n)
        return x;
    return nn_op(g, &op_pad, &x, 1, NULL, 0, &conf, sizeof(conf));
}

struct nn_val *nn_stop_gradient(struct graph *g, struct nn_val *x)
{
    if (!x)
        return NULL;
    struct op_take_conf conf = {.shape = x->shape};
    return nn_op(g, &op_stop_gradient, &x, 1, NULL, 0, &conf, sizeof(conf));
}

static enum rc sum_infer(const void *conf, const struct nn_shape *in, int n_in,
                         struct nn_shape *out, int64_t *keep_width, struct err *err)
{
    out[0] = (struct nn_shape){.axis = in[0].axis, .n_dims = 1, .dims = {1}};
    *keep_width = 0;
    return RC_OK;
}

static void sum_onnx(struct onnx *o, const struct onnx_op *op)
{
    onnx_sum(o, op->y[0], onnx_flat(o, op->x[0], &op->in[0]), -1, true);
}

const struct op op_row_sum = {
    .name = "row sum",
    .infer = sum_infer,
    .onnx = sum_onnx,
};

struct nn_val *nn_row_sum(struct graph *g, struct nn_val *x)
{
    return nn_op(g, &op_row_sum, &x, 1, NULL, 0, NULL, 0);
}
