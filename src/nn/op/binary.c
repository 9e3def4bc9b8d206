/* SPDX-License-Identifier: Apache-2.0 */
/* Two values of one shape, element by element; and x * by + plus. */
#include "nn/graph_private.h"
#include "nn/onnx.h"
#include "nn/ops.h"
#include "tensor/kernel.h"

enum binary { BINARY_ADD, BINARY_SUB, BINARY_MUL };

struct binary_conf {
    enum binary kind;
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

static void binary_row(enum binary kind, const float *a, const float *b, float *y,
                       int64_t n)
{
    switch (kind) {
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
            y[i] = a[i] * b[i];
        break;
    }
}

static void binary_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct binary_conf *c = r->conf;
    int64_t from, to;
    op_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t k = from; k < to; k++)
        binary_row(c->kind, view_row(&r->in[0], k), view_row(&r->in[1], k),
                   view_row(&r->out[0], k), r->out[0].width);
}

static void binary_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct binary_conf *c = r->conf;
    const struct kernels *k = kernels();
    int64_t from, to, n = r->out[0].width;
    op_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t row = from; row < to; row++) {
        const float *dy = view_row(&r->d_out[0], row);
        for (int i = 0; i < 2; i++) {
            if (!r->d_in[i].data)
                continue;
            float *dx = view_row(&r->d_in[i], row);
            if (c->kind == BINARY_MUL)
                k->mul_add(dx, dy, view_row(&r->in[1 - i], row), n);
            else
                k->axpy(dx, c->kind == BINARY_SUB && i == 1 ? -1.0f : 1.0f, dy, n);
        }
    }
}

static void binary_onnx(struct onnx *o, const struct onnx_op *op)
{
    static const char *const types[] = {
        [BINARY_ADD] = "Add", [BINARY_SUB] = "Sub", [BINARY_MUL] = "Mul"};
    const struct binary_conf *c = op->conf;
    onnx_binary(o, types[c->kind], op->y[0], op->x[0],
                onnx_reshape(o, NULL, op->x[1], &op->in[1], &op->in[0]));
}

static const struct op_ops op_sum = {.name = "add",
                                     .flags = OP_STRIDED,
                                     .infer = binary_infer,
                                     .forward = binary_forward,
                                     .backward = binary_backward,
                                     .onnx = binary_onnx};
static const struct op_ops op_product = {.name = "multiply",
                                         .flags = OP_NEEDS_IN | OP_STRIDED,
                                         .infer = binary_infer,
                                         .forward = binary_forward,
                                         .backward = binary_backward,
                                         .onnx = binary_onnx};

static struct val *binary(struct graph *g, struct val *a, struct val *b, enum binary kind)
{
    struct binary_conf conf = {.kind = kind};
    struct val *in[] = {a, b};
    return nn_op(g, kind == BINARY_MUL ? &op_product : &op_sum, in, 2, NULL, 0, &conf,
                 sizeof(conf));
}

struct val *nn_add(struct graph *g, struct val *a, struct val *b)
{
    return binary(g, a, b, BINARY_ADD);
}

struct val *nn_sub(struct graph *g, struct val *a, struct val *b)
{
    return binary(g, a, b, BINARY_SUB);
}

struct val *nn_mul(struct graph *g, struct val *a, struct val *b)
{
    return binary(g, a, b, BINARY_MUL);
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

static void scale_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct scale_conf *c = r->conf;
    int64_t from, to;
    op_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t k = from; k < to; k++) {
        const float *x = view_row(&r->in[0], k);
        float *y = view_row(&r->out[0], k);
        for (int64_t i = 0; i < r->out[0].width; i++)
            y[i] = x[i] * c->by + c->plus;
    }
}

static void scale_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct scale_conf *c = r->conf;
    int64_t from, to;
    if (!r->d_in[0].data)
        return;
    op_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t k = from; k < to; k++)
        kernels()->axpy(view_row(&r->d_in[0], k), c->by, view_row(&r->d_out[0], k),
                        r->out[0].width);
}

static void scale_onnx(struct onnx *o, const struct onnx_op *op)
{
    const struct scale_conf *c = op->conf;
    onnx_with(o, "Add", op->y[0], onnx_with(o, "Mul", NULL, op->x[0], c->by), c->plus);
}

static const struct op_ops op_scale = {.name = "scale",
                                       .flags = OP_STRIDED,
                                       .infer = scale_infer,
                                       .forward = scale_forward,
                                       .backward = scale_backward,
                                       .onnx = scale_onnx};

struct val *nn_scale(struct graph *g, struct val *x, float by, float plus)
{
    struct scale_conf conf = {by, plus};
    return nn_op(g, &op_scale, &x, 1, NULL, 0, &conf, sizeof(conf));
}
