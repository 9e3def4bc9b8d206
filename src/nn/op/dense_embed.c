/* SPDX-License-Identifier: Apache-2.0 */
/* Vectors for numbers: a learnt direction per number, and AutoDis (Guo et al. 2021),
 * which mixes the vectors of a few soft buckets.
 */
#include <math.h>
#include <string.h>

#include "nn/graph_private.h"
#include "nn/onnx.h"
#include "nn/ops.h"
#include "tensor/kernel.h"

#define SLOPE 0.01f /* of the leaky rectifier */

static void rows_of(const struct op_run *r, int64_t begin, int64_t end, int64_t *from,
                    int64_t *to)
{
    op_rows(r->env, r->out_axis[0], begin, end, from, to);
}

/* x [v] times w [v, d]. */
static enum rc direct_infer(const void *conf, const struct shape *in, int n_in,
                            struct shape *out, int64_t *keep_width, struct err *err)
{
    const int64_t *dim = conf;
    *keep_width = 0;
    out[0] = (struct shape){.axis = in[0].axis, .n_dims = 1, .dims = {*dim}};
    return RC_OK;
}

static void direct_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    const float *w = r->params[0]->value;
    int64_t from, to, d = r->out[0].width;
    rows_of(r, begin, end, &from, &to);
    for (int64_t k = from; k < to; k++) {
        float *y = view_row(&r->out[0], k);
        memset(y, 0, (size_t)d * sizeof(float));
        for (int64_t v = 0; v < r->in[0].width; v++)
            kernels()->axpy(y, view_row(&r->in[0], k)[v], w + v * d, d);
    }
}

static void direct_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    const float *w = r->params[0]->value;
    int64_t from, to, d = r->out[0].width;
    rows_of(r, begin, end, &from, &to);
    for (int64_t k = from; r->d_in[0].data && k < to; k++)
        for (int64_t v = 0; v < r->in[0].width; v++)
            view_row(&r->d_in[0], k)[v] +=
                kernels()->dot(w + v * d, view_row(&r->d_out[0], k), d);
}

static void direct_grads(const struct op_run *r)
{
    int64_t d = r->out[0].width;
    for (int64_t k = 0; r->params[0]->grad && k < r->in[0].rows; k++)
        for (int64_t v = 0; v < r->in[0].width; v++)
            kernels()->axpy(r->params[0]->grad + v * d, view_row(&r->in[0], k)[v],
                            view_row(&r->d_out[0], k), d);
}

static void direct_onnx(struct onnx *o, const struct onnx_op *op)
{
    const char *w = onnx_param(o, op->params[0]);
    if (op->params[0]->n_dims == 1)
        onnx_binary(o, "Mul", op->y[0], op->x[0], w);
    else
        onnx_binary(o, "MatMul", op->y[0], op->x[0], w);
}

static const struct op_ops op_direct = {.name = "number embedding",
                                        .flags = OP_NEEDS_IN | OP_STRIDED,
                                        .infer = direct_infer,
                                        .forward = direct_forward,
                                        .backward = direct_backward,
                                        .grads = direct_grads,
                                        .onnx = direct_onnx};

struct val *nn_number_embed(struct graph *g, const char *feature, struct val *x,
                            int64_t dim)
{
    if (!x)
        return NULL;
    int64_t v = shape_width(&x->shape);
    struct init init = {INIT_NORMAL, 0, sqrt(2.0 / (double)(v + dim))};
    graph_push(g, arena_printf(&g->arena, "proj_w_%s", feature));
    struct param *w =
        v == 1 ? nn_param(g, "weight", &dim, 1, init, true)
               : nn_param(g, "weight", (const int64_t[]){v, dim}, 2, init, true);
    graph_pop(g);
    return nn_op(g, &op_direct, &x, 1, &w, 1, &dim, sizeof(dim));
}

struct autodis_conf {
    int64_t channels, dim;
    float keep, temperature;
};

enum { PARAM_W, PARAM_M, PARAM_E };

/* What is kept of a row, c values each: after the rectifier, the shares; then, backwards,
 * slopes of the scores and in front of the rectifier.
 */
enum { KEEP_H, KEEP_P, KEEP_DU, KEEP_DH, KEEPS };

static float *kept(const struct op_run *r, int64_t row, int what)
{
    const struct autodis_conf *c = r->conf;
    return view_row(&r->keep, row) + what * c->channels;
}

static enum rc autodis_infer(const void *conf, const struct shape *in, int n_in,
                             struct shape *out, int64_t *keep_width, struct err *err)
{
    const struct autodis_conf *c = conf;
    *keep_width = KEEPS * c->channels;
    out[0] = (struct shape){.axis = in[0].axis, .n_dims = 1, .dims = {c->dim}};
    if (shape_width(&in[0]) != 1)
        return err_set(err, RC_INVAL, "takes one number, not %jd",
                       (intmax_t)shape_width(&in[0]));
    return RC_OK;
}

static void autodis_row(const struct op_run *r, int64_t row)
{
    const struct autodis_conf *c = r->conf;
    const float *w = r->params[PARAM_W]->value, *m = r->params[PARAM_M]->value;
    float x = *view_row(&r->in[0], row), *h = kept(r, row, KEEP_H);
    float *p = kept(r, row, KEEP_P), *y = view_row(&r->out[0], row);
    for (int64_t i = 0; i < c->channels; i++)
        h[i] = x * w[i] > 0 ? x * w[i] : SLOPE * x * w[i];
    for (int64_t i = 0; i < c->channels; i++)
        p[i] = (kernels()->dot(m + i * c->channels, h, c->channels) + c->keep * h[i]) /
               c->temperature;
    kernels()->softmax(p, p, c->channels, c->channels);
    memset(y, 0, (size_t)c->dim * sizeof(float));
    for (int64_t i = 0; i < c->channels; i++)
        kernels()->axpy(y, p[i], r->params[PARAM_E]->value + i * c->dim, c->dim);
}

static void autodis_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    int64_t from, to;
    rows_of(r, begin, end, &from, &to);
    for (int64_t k = from; k < to; k++)
        autodis_row(r, k);
}

static void autodis_slopes(const struct op_run *r, int64_t row)
{
    const struct autodis_conf *c = r->conf;
    const float *w = r->params[PARAM_W]->value, *m = r->params[PARAM_M]->value;
    const float *p = kept(r, row, KEEP_P), *dy = view_row(&r->d_out[0], row);
    float x = *view_row(&r->in[0], row), *du = kept(r, row, KEEP_DU);
    float *dh = kept(r, row, KEEP_DH), mean = 0, dx = 0;
    for (int64_t i = 0; i < c->channels; i++) {
        du[i] = kernels()->dot(dy, r->params[PARAM_E]->value + i * c->dim, c->dim);
        mean += p[i] * du[i];
    }
    for (int64_t i = 0; i < c->channels; i++) {
        du[i] = p[i] * (du[i] - mean) / c->temperature;
        dh[i] = c->keep * du[i];
    }
    for (int64_t i = 0; i < c->channels; i++)
        kernels()->axpy(dh, du[i], m + i * c->channels, c->channels);
    for (int64_t i = 0; i < c->channels; i++) {
        dh[i] *= x * w[i] > 0 ? 1.0f : SLOPE;
        dx += dh[i] * w[i];
    }
    if (r->d_in[0].data)
        *view_row(&r->d_in[0], row) += dx;
}

static void autodis_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    int64_t from, to;
    rows_of(r, begin, end, &from, &to);
    for (int64_t k = from; k < to; k++)
        autodis_slopes(r, k);
}

static void autodis_grads(const struct op_run *r)
{
    const struct autodis_conf *c = r->conf;
    float *dw = r->params[PARAM_W]->grad, *dm = r->params[PARAM_M]->grad;
    float *de = r->params[PARAM_E]->grad;
    for (int64_t k = 0; dw && dm && de && k < r->in[0].rows; k++) {
        const float *h = kept(r, k, KEEP_H), *p = kept(r, k, KEEP_P);
        const float *du = kept(r, k, KEEP_DU);
        kernels()->axpy(dw, *view_row(&r->in[0], k), kept(r, k, KEEP_DH), c->channels);
        for (int64_t i = 0; i < c->channels; i++) {
            kernels()->axpy(dm + i * c->channels, du[i], h, c->channels);
            kernels()->axpy(de + i * c->dim, p[i], view_row(&r->d_out[0], k), c->dim);
        }
    }
}

static void autodis_onnx(struct onnx *o, const struct onnx_op *op)
{
    const struct autodis_conf *c = op->conf;
    const char *h = onnx_binary(o, "Mul", NULL, op->x[0], onnx_param(o, op->params[0]));
    h = onnx_node(o, &(struct onnx_node){.type = "LeakyRelu",
                                         .in = &h,
                                         .n_in = 1,
                                         .attrs = {ONNX_FLOAT("alpha", SLOPE)}});
    const char *turned = onnx_unary(o, "Transpose", NULL, onnx_param(o, op->params[1]));
    const char *u = onnx_binary(o, "Add", NULL, onnx_binary(o, "MatMul", NULL, h, turned),
                                onnx_with(o, "Mul", NULL, h, c->keep));
    u = onnx_with(o, "Div", NULL, u, c->temperature);
    const char *p = onnx_node(
        o, &(struct onnx_node){
               .type = "Softmax", .in = &u, .n_in = 1, .attrs = {ONNX_INT("axis", -1)}});
    onnx_binary(o, "MatMul", op->y[0], p, onnx_param(o, op->params[2]));
}

static const struct op_ops op_autodis = {.name = "autodis",
                                         .flags = OP_NEEDS_IN | OP_STRIDED,
                                         .infer = autodis_infer,
                                         .forward = autodis_forward,
                                         .backward = autodis_backward,
                                         .grads = autodis_grads,
                                         .onnx = autodis_onnx};

static struct param *named(struct graph *g, const char *what, const char *feature,
                           const int64_t *dims, int n_dims, double deviation)
{
    graph_push(g, arena_printf(&g->arena, "%s_%s", what, feature));
    struct param *p = nn_param(g, "weight", dims, n_dims,
                               (struct init){INIT_NORMAL, 0, deviation}, true);
    graph_pop(g);
    return p;
}

struct val *nn_autodis(struct graph *g, const char *feature, struct val *x,
                       int64_t channels, int64_t dim, float keep, float temperature)
{
    if (!x)
        return NULL;
    if (channels < 1 || dim < 1 || !(temperature > 0))
        return graph_fail(g, "autodis of '%s': %jd channels, temperature %g", feature,
                          (intmax_t)channels, (double)temperature);
    double c = (double)channels;
    struct param *params[] = {
        [PARAM_W] = named(g, "proj_w", feature, &channels, 1, sqrt(2.0 / (1 + c))),
        [PARAM_M] = named(g, "proj_m", feature, (const int64_t[]){channels, channels}, 2,
                          sqrt(1.0 / c)),
        [PARAM_E] =
            named(g, "meta_emb", feature, (const int64_t[]){channels, dim}, 2, 1)};
    struct autodis_conf conf = {
        .channels = channels, .dim = dim, .keep = keep, .temperature = temperature};
    return nn_op(g, &op_autodis, &x, 1, params, 3, &conf, sizeof(conf));
}
