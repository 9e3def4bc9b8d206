/* SPDX-License-Identifier: Apache-2.0 */
/* Linear layer with a fused activation. The activation's derivative is taken from the
 * output, which holds for the four that are fused.
 */
#include <math.h>
#include <stdio.h>

#include "base/compiler.h"
#include "nn/graph_private.h"
#include "nn/onnx.h"
#include "nn/ops.h"
#include "tensor/kernel.h"

struct linear_conf {
    enum gemm_precision precision;
    enum gemm_act act;
    bool bias;
    int64_t from, out; /* rows of the weight */
};

/* A row of dims [.., n] is several rows of n to the product. */
static struct view flat(struct view v, int64_t n)
{
    int64_t per_row = v.width / n;
    if (per_row == 1)
        return v;
    return (struct view){.data = v.data, .rows = v.rows * per_row, .width = n, .ld = n};
}

static enum rc linear_infer(const void *conf, const struct shape *in, int n_in,
                            struct shape *out, int64_t *keep_width, struct err *err)
{
    const struct linear_conf *c = conf;
    out[0] = in[0];
    out[0].dims[out[0].n_dims - 1] = c->out;
    *keep_width = 0;
    return RC_OK;
}

static enum rc linear_setup(const void *conf, const struct shape *in,
                            const struct shape *out, bool training, void **state,
                            struct err *err)
{
    const struct linear_conf *c = conf;
    struct gemm_weight *w = NULL;
    enum rc rc = gemm_weight_create(c->out, in[0].dims[in[0].n_dims - 1], c->precision,
                                    training, &w, err);
    *state = w;
    return rc;
}

static unsigned linear_bf16(const void *conf, const void *state)
{
    const struct linear_conf *c = conf;
    bool out = c->act == GEMM_ACT_NONE || c->act == GEMM_ACT_RELU;
    return (gemm_bf16_in(state) ? OP_BF16_IN : 0) |
           (out && gemm_bf16_out(state) ? OP_BF16_OUT : 0);
}

static void linear_teardown(void *state)
{
    gemm_weight_destroy(state);
}

static void linear_begin(const struct op_run *r)
{
    const struct linear_conf *c = r->conf;
    gemm_pack(r->state, r->params[0]->value + c->from * r->params[0]->dims[1]);
}

static void linear_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct linear_conf *c = r->conf;
    int64_t from, to;
    op_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    struct view x = flat(view_rows(&r->in[0], from, to), r->params[0]->dims[1]);
    struct view y = flat(view_rows(&r->out[0], from, to), c->out);
    gemm_forward(r->state, x, c->bias ? r->params[1]->value + c->from : NULL, c->act, y);
}

CLONED static void relu_through_bf16(const uint16_t *restrict y, uint16_t *restrict dy,
                                     int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        dy[i] = (int16_t)y[i] > 0 ? dy[i] : 0;
}

/* d_out becomes the gradient before the activation, in place: nobody else reads it. */
static void through_act(const struct linear_conf *c, struct view y, struct view dy)
{
    const struct kernels *k = kernels();
    for (int64_t i = 0; i < y.rows && c->act != GEMM_ACT_NONE; i++)
        if (y.dtype == DT_BF16)
            relu_through_bf16((const uint16_t *)view_row(&y, i),
                              (uint16_t *)view_row(&dy, i), y.width);
        else
            k->act_grad_from_out[c->act](view_row(&y, i), view_row(&dy, i), y.width);
}

static void linear_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct linear_conf *c = r->conf;
    int64_t from, to;
    op_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    struct view dy = flat(view_rows(&r->d_out[0], from, to), c->out);
    through_act(c, flat(view_rows(&r->out[0], from, to), c->out), dy);
    if (!r->d_in[0].data)
        return;
    struct view dx = flat(view_rows(&r->d_in[0], from, to), r->params[0]->dims[1]);
    gemm_backward(r->state, dy, !r->d_in_fresh[0], dx);
}

static void linear_grads(const struct op_run *r)
{
    const struct linear_conf *c = r->conf;
    if (!r->params[0]->grad)
        return;
    gemm_gradient(r->state, flat(r->d_out[0], c->out),
                  flat(r->in[0], r->params[0]->dims[1]),
                  r->params[0]->grad + c->from * r->params[0]->dims[1],
                  c->bias ? r->params[1]->grad + c->from : NULL, r->env->pool);
}

/* Rows [from, from + out) of a parameter. */
static const char *put_rows(struct onnx *o, const struct linear_conf *c,
                            const struct param *p)
{
    int64_t to = c->from + c->out, axis = 0;
    const char *w = onnx_param(o, p);
    if (c->from == 0 && c->out == p->dims[0])
        return w;
    const char *in[] = {w, onnx_ints(o, &c->from, 1), onnx_ints(o, &to, 1),
                        onnx_ints(o, &axis, 1)};
    return onnx_node(o, &(struct onnx_node){.type = "Slice", .in = in, .n_in = 4});
}

static void linear_onnx(struct onnx *o, const struct onnx_op *op)
{
    const struct linear_conf *c = op->conf;
    const char *w = onnx_unary(o, "Transpose", NULL, put_rows(o, c, op->params[0]));
    const char *bias = c->bias ? put_rows(o, c, op->params[1]) : NULL;
    onnx_layer(o, op->y[0], op->x[0], w, bias, c->act);
}

static const struct op_ops op_linear = {
    .name = "linear",
    .flags = OP_NEEDS_IN | OP_NEEDS_OUT | OP_WRITES | OP_STRIDED,
    .infer = linear_infer,
    .setup = linear_setup,
    .teardown = linear_teardown,
    .bf16 = linear_bf16,
    .begin = linear_begin,
    .forward = linear_forward,
    .backward = linear_backward,
    .grads = linear_grads,
    .onnx = linear_onnx,
};

bool nn_fused_act(enum act act, enum gemm_act *out)
{
    switch (act) {
    case ACT_NONE:
        *out = GEMM_ACT_NONE;
        return true;
    case ACT_RELU:
        *out = GEMM_ACT_RELU;
        return true;
    case ACT_SIGMOID:
        *out = GEMM_ACT_SIGMOID;
        return true;
    case ACT_TANH:
        *out = GEMM_ACT_TANH;
        return true;
    default:
        *out = GEMM_ACT_NONE;
        return false;
    }
}

struct val *nn_linear(struct graph *g, const char *name, struct val *x, int64_t out,
                      bool bias, enum act act)
{
    if (!x)
        return NULL;
    int64_t in = x->shape.dims[x->shape.n_dims - 1];
    double bound = 1.0 / sqrt((double)in);
    struct init init = {INIT_UNIFORM, -bound, bound};
    struct param *params[2] = {0};
    graph_push(g, name);
    params[0] = nn_param(g, "weight", (const int64_t[]){out, in}, 2, init, true);
    if (bias)
        params[1] = nn_param(g, "bias", &out, 1, init, true);
    graph_pop(g);
    struct linear_conf conf = {
        .precision = g->options.precision, .bias = bias, .out = out};
    bool whole = nn_fused_act(act, &conf.act);
    struct val *y =
        linear_coded_gains(x, out)
            ? linear_coded(g, x, params, bias, out, conf.act)
            : nn_op(g, &op_linear, &x, 1, params, bias ? 2 : 1, &conf, sizeof(conf));
    return whole ? y : nn_act_preset(g, y, act);
}

struct val *nn_linear_rows(struct graph *g, struct param *w, struct param *b,
                           int64_t from, int64_t out, struct val *x)
{
    if (!x || !w)
        return NULL;
    if (w->dims[1] != x->shape.dims[x->shape.n_dims - 1] || from < 0 || out < 1 ||
        from + out > w->dims[0])
        return graph_fail(g,
                          "parameter '%s' of %jd x %jd has no rows %jd to %jd for %jd "
                          "values",
                          w->name, (intmax_t)w->dims[0], (intmax_t)w->dims[1],
                          (intmax_t)from, (intmax_t)(from + out),
                          (intmax_t)x->shape.dims[x->shape.n_dims - 1]);
    struct param *params[2] = {w, b};
    struct linear_conf conf = {.precision = g->options.precision,
                               .act = GEMM_ACT_NONE,
                               .bias = b != NULL,
                               .from = from,
                               .out = out};
    return nn_op(g, &op_linear, &x, 1, params, b ? 2 : 1, &conf, sizeof(conf));
}
