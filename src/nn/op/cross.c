/* SPDX-License-Identifier: Apache-2.0 */
/* One layer of the first cross network: y = x0 * (w . x) + b + x. The dot product is
 * kept. */
#include <math.h>

#include "nn/graph_private.h"
#include "nn/onnx.h"
#include "nn/ops.h"

static enum rc cross_infer(const void *conf, const struct nn_shape *in, int n_in,
                           struct nn_shape *out, int64_t *keep_width, struct err *err)
{
    out[0] = in[0];
    *keep_width = 1;
    if (in[0].axis != in[1].axis || nn_shape_width(&in[0]) != nn_shape_width(&in[1]))
        return err_set(err, RC_INVAL, "rows of %jd and of %jd values",
                       (intmax_t)nn_shape_width(&in[0]),
                       (intmax_t)nn_shape_width(&in[1]));
    return RC_OK;
}

static void cross_onnx(struct onnx *o, const struct onnx_op *op)
{
    const char *w = onnx_unary(o, "Transpose", NULL, onnx_param(o, op->params[0]));
    const char *x0 = onnx_flat(o, op->x[0], &op->in[0]);
    const char *x = onnx_flat(o, op->x[1], &op->in[1]);
    const char *y = onnx_binary(o, "Mul", NULL, x0, onnx_binary(o, "MatMul", NULL, x, w));
    struct nn_shape flat = {
        .axis = op->in[0].axis, .n_dims = 1, .dims = {nn_shape_width(&op->in[0])}};
    y = onnx_binary(o, "Add", NULL, y, onnx_param(o, op->params[1]));
    onnx_reshape(o, op->y[0], onnx_binary(o, "Add", NULL, y, x), &flat, &op->out[0]);
}

const struct op op_cross = {
    .name = "cross",
    .flags = OP_NEEDS_IN,
    .infer = cross_infer,
    .onnx = cross_onnx,
};

struct nn_val *nn_cross(struct graph *g, const char *name_w, const char *name_b,
                        struct nn_val *x0, struct nn_val *x)
{
    if (!x0 || !x)
        return NULL;
    int64_t n = nn_shape_width(&x->shape);
    double bound = sqrt(6.0 / (double)(n + 1));
    graph_push(g, name_w);
    struct param *w = nn_param(g, "weight", (const int64_t[]){1, n}, 2,
                               (struct nn_init){INIT_UNIFORM, -bound, bound}, true);
    graph_pop(g);
    struct param *b =
        nn_param(g, name_b, &n, 1, (struct nn_init){INIT_ZEROS, 0, 0}, true);
    struct nn_val *in[] = {x0, x};
    struct param *params[] = {w, b};
    return nn_op(g, &op_cross, in, 2, params, 2, NULL, 0);
}
