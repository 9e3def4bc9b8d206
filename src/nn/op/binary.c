/* SPDX-License-Identifier: Apache-2.0 */
/* Two values of one shape, element by element; and x * by + plus. */
#include "nn/graph_private.h"
#include "nn/onnx.h"
#include "nn/ops.h"
#include "tensor/kernel.h"

enum binary { BINARY_ADD, BINARY_SUB, BINARY_MUL, BINARY_ADD_RELU };

struct binary_conf {
    enum binary kind;
    float by; /* of a product: what it is multiplied with */
};

static enum rc binary_infer(const void *conf, const struct shape *in, int n_in,
                            struct shape *out, int64_t *keep_width, struct err *err)
{
    if (in[0].axis != in[1].axis || shape_width(&in[0]) != shape_width(&in[1]))
        return err_set(err, RC_INVAL, "rows of %jd and of %jd values",
                       (intmax_t)shape_width(&in[0]), (intmax_t)shape_width(&in[1]));
    out[0] = in[0];
    *keep_width = 0;
    return RC_OK;
}

CLONED static void binary_row(const struct binary_conf *c, const float *a, const float *b,
                              float *y, int64_t n)
{
    switch (c->kind) {
    case BINARY_ADD:
        for (int64_t i = 0; i < n; i++)
            y[i] = a[i] + b[i];
        break;
    case BINARY_SUB:
        for (int64_t i = 0; i < n; i++)
            y[i] = a[i] - b[i];
        break;
    case BINARY_MUL:
        for (int64_t i = 0; i < n; i++)
            y[i] = a[i] * b[i] * c->by;
        break;
    case BINARY_ADD_RELU:
        for (int64_t i = 0; i < n; i++)
            y[i] = a[i] + b[i] < 0.0f ? 0.0f : a[i] + b[i]; /* NaN stays */
        break;
    }
}

static void binary_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    int64_t from, to;
    op_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t k = from; k < to; k++)
        binary_row(r->conf, view_row(&r->in[0], k), view_row(&r->in[1], k),
                   view_row(&r->out[0], k), r->out[0].width);
}

/* Slopes of input i, from those of the result. */
static void binary_slopes(const struct op_run *r, int i, int64_t row, const float *dy)
{
    const struct binary_conf *c = r->conf;
    const struct kernels *k = kernels();
    float *dx = view_row(&r->d_in[i], row);
    int64_t n = r->out[0].width;
    if (c->kind == BINARY_MUL) {
        (r->d_in_fresh[i] ? k->mul : k->mul_add)(dx, dy, view_row(&r->in[1 - i], row), n);
        return;
    }
    float sign = c->kind == BINARY_SUB && i == 1 ? -1.0f : 1.0f;
    if (r->d_in_fresh[i])
        k->times(dx, sign, dy, n);
    else
        k->axpy(dx, sign, dy, n);
}

/* d_out becomes the slope before the factor or the activation, in place: nobody else
 * reads it.
 */
static void binary_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct binary_conf *c = r->conf;
    int64_t from, to, n = r->out[0].width;
    op_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t row = from; row < to; row++) {
        float *dy = view_row(&r->d_out[0], row);
        if (c->kind == BINARY_MUL && c->by != 1.0f)
            kernels()->scale(dy, c->by, n);
        if (c->kind == BINARY_ADD_RELU)
            kernels()->act_grad_from_out[GEMM_ACT_RELU](view_row(&r->out[0], row), dy, n);
        for (int i = 0; i < 2; i++)
            if (r->d_in[i].data)
                binary_slopes(r, i, row, dy);
    }
}

static void binary_onnx(struct onnx *o, const struct onnx_op *op)
{
    static const char *const types[] = {[BINARY_ADD] = "Add",
                                        [BINARY_SUB] = "Sub",
                                        [BINARY_MUL] = "Mul",
                                        [BINARY_ADD_RELU] = "Add"};
    const struct binary_conf *c = op->conf;
    bool relu = c->kind == BINARY_ADD_RELU, more = relu || c->by != 1.0f;
    const char *y = onnx_binary(o, types[c->kind], more ? NULL : op->y[0], op->x[0],
                                onnx_reshape(o, NULL, op->x[1], &op->in[1], &op->in[0]));
    if (relu)
        onnx_unary(o, "Relu", op->y[0], y);
    else if (more)
        onnx_with(o, "Mul", op->y[0], y, c->by);
}

static const struct op_ops op_sum = {.name = "add",
                                     .flags = OP_WRITES | OP_STRIDED,
                                     .infer = binary_infer,
                                     .forward = binary_forward,
                                     .backward = binary_backward,
                                     .onnx = binary_onnx};
static const struct op_ops op_sum_relu = {.name = "add and relu",
                                          .flags = OP_NEEDS_OUT | OP_WRITES | OP_STRIDED,
                                          .infer = binary_infer,
                                          .forward = binary_forward,
                                          .backward = binary_backward,
                                          .onnx = binary_onnx};
static const struct op_ops op_product = {.name = "multiply",
                                         .flags = OP_NEEDS_IN | OP_WRITES | OP_STRIDED,
                                         .infer = binary_infer,
                                         .forward = binary_forward,
                                         .backward = binary_backward,
                                         .onnx = binary_onnx};

static struct val *binary(struct graph *g, const struct op_ops *ops, struct val *a,
                          struct val *b, enum binary kind, float by)
{
    struct binary_conf conf = {.kind = kind, .by = by};
    struct val *in[] = {a, b};
    return nn_op(g, ops, in, 2, NULL, 0, &conf, sizeof(conf));
}

struct val *nn_add(struct graph *g, struct val *a, struct val *b)
{
    return binary(g, &op_sum, a, b, BINARY_ADD, 1);
}

struct val *nn_sub(struct graph *g, struct val *a, struct val *b)
{
    return binary(g, &op_sum, a, b, BINARY_SUB, 1);
}

struct val *nn_mul(struct graph *g, struct val *a, struct val *b)
{
    return binary(g, &op_product, a, b, BINARY_MUL, 1);
}

struct val *nn_mul_by(struct graph *g, struct val *a, struct val *b, float by)
{
    return binary(g, &op_product, a, b, BINARY_MUL, by);
}

struct val *nn_add_relu(struct graph *g, struct val *a, struct val *b)
{
    return binary(g, &op_sum_relu, a, b, BINARY_ADD_RELU, 1);
}

struct scale_conf {
    float by, plus;
};

static enum rc scale_infer(const void *conf, const struct shape *in, int n_in,
                           struct shape *out, int64_t *keep_width, struct err *err)
{
    out[0] = in[0];
    *keep_width = 0;
    return RC_OK;
}

CLONED static void scale_row(const struct scale_conf *c, const float *x, float *y,
                             int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        y[i] = x[i] * c->by + c->plus;
}

static void scale_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    int64_t from, to;
    op_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t k = from; k < to; k++)
        scale_row(r->conf, view_row(&r->in[0], k), view_row(&r->out[0], k),
                  r->out[0].width);
}

static void scale_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct scale_conf *c = r->conf;
    int64_t from, to;
    if (!r->d_in[0].data)
        return;
    op_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t k = from; k < to; k++)
        (r->d_in_fresh[0] ? kernels()->times : kernels()->axpy)(
            view_row(&r->d_in[0], k), c->by, view_row(&r->d_out[0], k), r->out[0].width);
}

static void scale_onnx(struct onnx *o, const struct onnx_op *op)
{
    const struct scale_conf *c = op->conf;
    onnx_with(o, "Add", op->y[0], onnx_with(o, "Mul", NULL, op->x[0], c->by), c->plus);
}

static const struct op_ops op_scale = {.name = "scale",
                                       .flags = OP_WRITES | OP_STRIDED,
                                       .infer = scale_infer,
                                       .forward = scale_forward,
                                       .backward = scale_backward,
                                       .onnx = scale_onnx};

struct val *nn_scale(struct graph *g, struct val *x, float by, float plus)
{
    struct scale_conf conf = {by, plus};
    return nn_op(g, &op_scale, &x, 1, NULL, 0, &conf, sizeof(conf));
}
