/* SPDX-License-Identifier: Apache-2.0 */
/* One layer of the first cross network: y = x0 * (w . x) + b + x. The dot product is
 * kept. */
#include <math.h>
#include <string.h>

#include "nn/graph_private.h"
#include "nn/onnx.h"
#include "nn/ops.h"
#include "tensor/kernel.h"

#define GRAD_GRAIN 32 /* columns of a chunk of the parameters' gradients */

static enum rc cross_infer(const void *conf, const struct shape *in, int n_in,
                           struct shape *out, int64_t *keep_width, struct err *err)
{
    out[0] = in[0];
    *keep_width = 1;
    if (in[0].axis != in[1].axis || shape_width(&in[0]) != shape_width(&in[1]))
        return err_set(err, RC_INVAL, "rows of %jd and of %jd values",
                       (intmax_t)shape_width(&in[0]), (intmax_t)shape_width(&in[1]));
    return RC_OK;
}

static void cross_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    const float *w = r->params[0]->value, *b = r->params[1]->value;
    int64_t from, to;
    op_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t k = from; k < to; k++) {
        const float *x0 = view_row(&r->in[0], k), *x = view_row(&r->in[1], k);
        float *y = view_row(&r->out[0], k), dot = kernels()->dot(w, x, r->in[1].width);
        *view_row(&r->keep, k) = dot;
        for (int64_t i = 0; i < r->out[0].width; i++)
            y[i] = x0[i] * dot + b[i] + x[i];
    }
}

static void cross_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    const float *w = r->params[0]->value;
    int64_t from, to, n = r->out[0].width;
    op_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t k = from; k < to; k++) {
        const float *dy = view_row(&r->d_out[0], k);
        if (r->d_in[0].data)
            kernels()->axpy(view_row(&r->d_in[0], k), *view_row(&r->keep, k), dy, n);
        if (r->d_in[1].data) {
            float d_dot = kernels()->dot(dy, view_row(&r->in[0], k), n);
            kernels()->axpy(view_row(&r->d_in[1], k), d_dot, w, n);
            kernels()->add(view_row(&r->d_in[1], k), dy, n);
        }
    }
}

/* Columns [begin, end) over all rows in order; d_dot is worked out again for each chunk.
 */
static void cross_columns(void *arg, int64_t begin, int64_t end, int64_t chunk)
{
    const struct op_run *r = arg;
    int64_t n = end - begin;
    for (int64_t k = 0; k < r->in[0].rows; k++) {
        const float *dy = view_row(&r->d_out[0], k);
        float d_dot = kernels()->dot(dy, view_row(&r->in[0], k), r->out[0].width);
        if (r->params[0]->grad)
            kernels()->axpy(r->params[0]->grad + begin, d_dot,
                            view_row(&r->in[1], k) + begin, n);
        if (r->params[1]->grad)
            kernels()->add(r->params[1]->grad + begin, dy + begin, n);
    }
}

static void cross_grads(const struct op_run *r)
{
    struct op_run copy = *r;
    int64_t n = r->out[0].width;
    pool_for(r->env->pool, n, n > 8 * GRAD_GRAIN ? n / 4 : n, cross_columns, &copy);
}

static void cross_onnx(struct onnx *o, const struct onnx_op *op)
{
    const char *w = onnx_unary(o, "Transpose", NULL, onnx_param(o, op->params[0]));
    const char *x0 = onnx_flat(o, op->x[0], &op->in[0]);
    const char *x = onnx_flat(o, op->x[1], &op->in[1]);
    const char *y = onnx_binary(o, "Mul", NULL, x0, onnx_binary(o, "MatMul", NULL, x, w));
    struct shape flat = {
        .axis = op->in[0].axis, .n_dims = 1, .dims = {shape_width(&op->in[0])}};
    y = onnx_binary(o, "Add", NULL, y, onnx_param(o, op->params[1]));
    onnx_reshape(o, op->y[0], onnx_binary(o, "Add", NULL, y, x), &flat, &op->out[0]);
}

static const struct op_ops op_cross = {.name = "cross",
                                       .flags = OP_NEEDS_IN | OP_STRIDED,
                                       .infer = cross_infer,
                                       .forward = cross_forward,
                                       .backward = cross_backward,
                                       .grads = cross_grads,
                                       .onnx = cross_onnx};

struct val *nn_cross(struct graph *g, const char *name_w, const char *name_b,
                     struct val *x0, struct val *x)
{
    if (!x0 || !x)
        return NULL;
    int64_t n = shape_width(&x->shape);
    double bound = sqrt(6.0 / (double)(n + 1));
    graph_push(g, name_w);
    struct param *w = nn_param(g, "weight", (const int64_t[]){1, n}, 2,
                               (struct init){INIT_UNIFORM, -bound, bound}, true);
    graph_pop(g);
    struct param *b = nn_param(g, name_b, &n, 1, (struct init){INIT_ZEROS, 0, 0}, true);
    struct val *in[] = {x0, x};
    struct param *params[] = {w, b};
    return nn_op(g, &op_cross, in, 2, params, 2, NULL, 0);
}
