/* SPDX-License-Identifier: Apache-2.0 */
/* Sums over fields and over what a field holds, fields times a number each, and a learnt
 * number added to each value.
 */
#include <string.h>

#include "nn/graph_private.h"
#include "nn/onnx.h"
#include "nn/ops.h"
#include "tensor/kernel.h"

/* A row as n fields of d floats. */
struct gate_conf {
    int64_t n, d;
    bool over_fields;
};

static enum rc sum_infer(const void *conf, const struct shape *in, int n_in,
                         struct shape *out, int64_t *keep_width, struct err *err)
{
    const struct gate_conf *c = conf;
    *keep_width = 0;
    out[0] = (struct shape){
        .axis = in[0].axis, .n_dims = 1, .dims = {in[0].dims[c->over_fields ? 1 : 0]}};
    if (in[0].n_dims != 2)
        return err_set(err, RC_INVAL, "takes rows of fields [n, d]");
    return RC_OK;
}

static void sum_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct gate_conf *c = r->conf;
    int64_t from, to;
    op_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t k = from; k < to; k++) {
        const float *x = view_row(&r->in[0], k);
        float *y = view_row(&r->out[0], k);
        if (c->over_fields)
            memset(y, 0, (size_t)c->d * sizeof(float));
        for (int64_t f = 0; f < c->n; f++, x += c->d) {
            if (c->over_fields)
                kernels()->add(y, x, c->d);
            else
                y[f] = kernels()->sum(x, c->d);
        }
    }
}

static void sum_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct gate_conf *c = r->conf;
    int64_t from, to;
    op_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t k = from; r->d_in[0].data && k < to; k++) {
        const float *dy = view_row(&r->d_out[0], k);
        float *dx = view_row(&r->d_in[0], k);
        for (int64_t f = 0; f < c->n; f++, dx += c->d) {
            if (c->over_fields)
                kernels()->add(dx, dy, c->d);
            else
                for (int64_t i = 0; i < c->d; i++)
                    dx[i] += dy[f];
        }
    }
}

static void sum_onnx(struct onnx *o, const struct onnx_op *op)
{
    const struct gate_conf *c = op->conf;
    onnx_sum(o, op->y[0], op->x[0], c->over_fields ? -2 : -1, false);
}

static const struct op_ops op_sum = {.name = "sum of fields",
                                     .flags = OP_STRIDED,
                                     .infer = sum_infer,
                                     .forward = sum_forward,
                                     .backward = sum_backward,
                                     .onnx = sum_onnx};

static struct val *sum(struct graph *g, struct val *x, bool over_fields)
{
    if (!x)
        return NULL;
    struct gate_conf conf = {
        .n = x->shape.dims[0], .d = x->shape.dims[1], .over_fields = over_fields};
    return nn_op(g, &op_sum, &x, 1, NULL, 0, &conf, sizeof(conf));
}

struct val *nn_sum_fields(struct graph *g, struct val *x)
{
    return sum(g, x, true);
}

struct val *nn_sum_within(struct graph *g, struct val *x)
{
    return sum(g, x, false);
}

/* Inputs: gates [n], fields [n, d]. */
static enum rc gate_infer(const void *conf, const struct shape *in, int n_in,
                          struct shape *out, int64_t *keep_width, struct err *err)
{
    *keep_width = 0;
    out[0] = in[1];
    if (in[1].n_dims != 2 || in[0].axis != in[1].axis ||
        shape_width(&in[0]) != in[1].dims[0])
        return err_set(err, RC_INVAL, "%jd gates for %jd fields",
                       (intmax_t)shape_width(&in[0]), (intmax_t)in[1].dims[0]);
    return RC_OK;
}

static void gate_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct gate_conf *c = r->conf;
    int64_t from, to;
    op_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t k = from; k < to; k++) {
        const float *gate = view_row(&r->in[0], k), *x = view_row(&r->in[1], k);
        float *y = view_row(&r->out[0], k);
        for (int64_t f = 0; f < c->n; f++)
            for (int64_t i = 0; i < c->d; i++)
                y[f * c->d + i] = gate[f] * x[f * c->d + i];
    }
}

static void gate_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct gate_conf *c = r->conf;
    int64_t from, to;
    op_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t k = from; k < to; k++) {
        const float *gate = view_row(&r->in[0], k), *x = view_row(&r->in[1], k);
        const float *dy = view_row(&r->d_out[0], k);
        for (int64_t f = 0; f < c->n; f++) {
            if (r->d_in[0].data)
                view_row(&r->d_in[0], k)[f] +=
                    kernels()->dot(dy + f * c->d, x + f * c->d, c->d);
            if (r->d_in[1].data)
                kernels()->axpy(view_row(&r->d_in[1], k) + f * c->d, gate[f],
                                dy + f * c->d, c->d);
        }
    }
}

static void gate_onnx(struct onnx *o, const struct onnx_op *op)
{
    int64_t last = -1;
    const char *gate = onnx_binary(
        o, "Unsqueeze", NULL, onnx_flat(o, op->x[0], &op->in[0]), onnx_ints(o, &last, 1));
    onnx_binary(o, "Mul", op->y[0], gate, op->x[1]);
}

static const struct op_ops op_gate = {.name = "gates of fields",
                                      .flags = OP_NEEDS_IN,
                                      .infer = gate_infer,
                                      .forward = gate_forward,
                                      .backward = gate_backward,
                                      .onnx = gate_onnx};

struct val *nn_gate_fields(struct graph *g, struct val *gates, struct val *x)
{
    if (!gates || !x)
        return NULL;
    struct gate_conf conf = {.n = x->shape.dims[0], .d = x->shape.dims[1]};
    struct val *in[] = {gates, x};
    return nn_op(g, &op_gate, in, 2, NULL, 0, &conf, sizeof(conf));
}

static enum rc bias_infer(const void *conf, const struct shape *in, int n_in,
                          struct shape *out, int64_t *keep_width, struct err *err)
{
    *keep_width = 0;
    out[0] = in[0];
    return RC_OK;
}

static void bias_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    int64_t from, to;
    op_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t k = from; k < to; k++) {
        float *y = view_row(&r->out[0], k);
        memcpy(y, view_row(&r->in[0], k), (size_t)r->in[0].width * sizeof(float));
        kernels()->add(y, r->params[0]->value, r->in[0].width);
    }
}

static void bias_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    int64_t from, to;
    op_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t k = from; r->d_in[0].data && k < to; k++)
        kernels()->add(view_row(&r->d_in[0], k), view_row(&r->d_out[0], k),
                       r->in[0].width);
}

static void bias_grads(const struct op_run *r)
{
    for (int64_t k = 0; r->params[0]->grad && k < r->d_out[0].rows; k++)
        kernels()->add(r->params[0]->grad, view_row(&r->d_out[0], k), r->in[0].width);
}

static void bias_onnx(struct onnx *o, const struct onnx_op *op)
{
    onnx_binary(o, "Add", op->y[0], op->x[0], onnx_param(o, op->params[0]));
}

static const struct op_ops op_bias = {.name = "bias",
                                      .flags = OP_STRIDED,
                                      .infer = bias_infer,
                                      .forward = bias_forward,
                                      .backward = bias_backward,
                                      .grads = bias_grads,
                                      .onnx = bias_onnx};

struct val *nn_bias(struct graph *g, const char *name, struct val *x)
{
    if (!x)
        return NULL;
    struct param *b = nn_param(g, name, x->shape.dims, x->shape.n_dims,
                               (struct init){INIT_ZEROS, 0, 0}, true);
    return nn_op(g, &op_bias, &x, 1, &b, 1, NULL, 0);
}
