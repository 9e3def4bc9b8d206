/* SPDX-License-Identifier: Apache-2.0 */
/* x [.., in] times a parameter [in, out]: a linear layer whose weight lies the other way
 * round, as some models store it. It is turned when it is packed.
 */
#include "nn/graph_private.h"
#include "nn/onnx.h"
#include "nn/ops.h"

struct times_conf {
    enum gemm_precision precision;
    int64_t in, out;
};

struct times_state {
    struct gemm_weight *packed;
    float *turned, *grad; /* [out][in] */
};

static enum rc times_infer(const void *conf, const struct shape *in, int n_in,
                           struct shape *out, int64_t *keep_width, struct err *err)
{
    const struct times_conf *c = conf;
    *keep_width = 0;
    out[0] = in[0];
    out[0].dims[in[0].n_dims - 1] = c->out;
    if (in[0].dims[in[0].n_dims - 1] != c->in)
        return err_set(err, RC_INVAL, "takes %jd values, not %jd", (intmax_t)c->in,
                       (intmax_t)in[0].dims[in[0].n_dims - 1]);
    return RC_OK;
}

static void times_teardown(void *state)
{
    struct times_state *s = state;
    if (!s)
        return;
    gemm_weight_destroy(s->packed);
    mem_free(s->turned);
    mem_free(s->grad);
    mem_free(s);
}

static enum rc times_setup(const void *conf, const struct shape *in,
                           const struct shape *out, bool training, void **state,
                           struct err *err)
{
    const struct times_conf *c = conf;
    struct times_state *s = mem_calloc(1, sizeof(*s));
    size_t n = (size_t)(c->in * c->out);
    enum rc rc =
        gemm_weight_create(c->out, c->in, c->precision, training, &s->packed, err);
    s->turned = mem_try_alloc(n, sizeof(float));
    s->grad = mem_try_alloc(n, sizeof(float));
    if (!rc && (!s->turned || !s->grad))
        rc = err_set(err, RC_NOMEM, "no memory for %zu weights", n);
    if (rc)
        times_teardown(s);
    else
        *state = s;
    return rc;
}

static void times_begin(const struct op_run *r)
{
    const struct times_conf *c = r->conf;
    struct times_state *s = r->state;
    const float *w = r->params[0]->value;
    for (int64_t i = 0; i < c->in; i++)
        for (int64_t o = 0; o < c->out; o++)
            s->turned[o * c->in + i] = w[i * c->out + o];
    gemm_pack(s->packed, s->turned);
}

/* Rows of [.., n] as rows of n. */
static struct view flat(struct view v, int64_t n)
{
    if (v.width == n)
        return v;
    return (struct view){
        .data = v.data, .rows = v.rows * (v.width / n), .width = n, .ld = n};
}

static void times_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct times_conf *c = r->conf;
    const struct times_state *s = r->state;
    int64_t from, to;
    op_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    gemm_forward(s->packed, flat(view_rows(&r->in[0], from, to), c->in), NULL,
                 GEMM_ACT_NONE, flat(view_rows(&r->out[0], from, to), c->out));
}

static void times_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct times_conf *c = r->conf;
    const struct times_state *s = r->state;
    int64_t from, to;
    if (!r->d_in[0].data)
        return;
    op_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    gemm_backward(s->packed, flat(view_rows(&r->d_out[0], from, to), c->out),
                  !r->d_in_fresh[0], flat(view_rows(&r->d_in[0], from, to), c->in));
}

static void times_grads(const struct op_run *r)
{
    const struct times_conf *c = r->conf;
    const struct times_state *s = r->state;
    float *grad = r->params[0]->grad;
    if (!grad)
        return;
    for (int64_t k = 0; k < c->in * c->out; k++)
        s->grad[k] = 0;
    gemm_gradient(s->packed, flat(r->d_out[0], c->out), flat(r->in[0], c->in), s->grad,
                  NULL, r->env->pool);
    for (int64_t i = 0; i < c->in; i++)
        for (int64_t o = 0; o < c->out; o++)
            grad[i * c->out + o] += s->grad[o * c->in + i];
}

static void times_onnx(struct onnx *o, const struct onnx_op *op)
{
    onnx_binary(o, "MatMul", op->y[0], op->x[0], onnx_param(o, op->params[0]));
}

static const struct op_ops op_times = {.name = "times",
                                       .flags = OP_NEEDS_IN | OP_WRITES,
                                       .infer = times_infer,
                                       .setup = times_setup,
                                       .teardown = times_teardown,
                                       .begin = times_begin,
                                       .forward = times_forward,
                                       .backward = times_backward,
                                       .grads = times_grads,
                                       .onnx = times_onnx};

struct val *nn_times(struct graph *g, struct param *w, struct val *x)
{
    if (!w || !x)
        return NULL;
    struct times_conf conf = {
        .precision = g->options.precision, .in = w->dims[0], .out = w->dims[1]};
    return nn_op(g, &op_times, &x, 1, &w, 1, &conf, sizeof(conf));
}
