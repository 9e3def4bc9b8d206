/* SPDX-License-Identifier: Apache-2.0 */
/* x [.., in] times a parameter [in, out]: a linear layer whose weight lies the other way
 * round, as some models store it. It is turned when it is packed.
 */
#include "nn/op/times.h"
#include "base/mem.h"
#include "nn/cpu/cpu.h"
#include "tensor/gemm.h"

struct times_state {
    struct gemm_weight *packed;
    float *turned, *grad; /* [out][in] */
};

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

static enum rc times_setup(const void *conf, const struct nn_shape *in,
                           const struct nn_shape *out, bool training, void **state,
                           struct err *err)
{
    const struct op_times_conf *c = conf;
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
    const struct op_times_conf *c = r->conf;
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
    const struct op_times_conf *c = r->conf;
    const struct times_state *s = r->state;
    int64_t from, to;
    nn_cpu_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    gemm_forward(s->packed, flat(view_rows(&r->in[0], from, to), c->in),
                 r->n_params > 1 ? r->params[1]->value : NULL, GEMM_ACT_NONE,
                 flat(view_rows(&r->out[0], from, to), c->out));
}

static void times_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct op_times_conf *c = r->conf;
    const struct times_state *s = r->state;
    int64_t from, to;
    if (!r->d_in[0].data)
        return;
    nn_cpu_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    gemm_backward(s->packed, flat(view_rows(&r->d_out[0], from, to), c->out),
                  !r->d_in_fresh[0], flat(view_rows(&r->d_in[0], from, to), c->in));
}

static void times_grads(const struct op_run *r)
{
    const struct op_times_conf *c = r->conf;
    const struct times_state *s = r->state;
    float *grad = r->params[0]->grad;
    if (!grad)
        return;
    for (int64_t k = 0; k < c->in * c->out; k++)
        s->grad[k] = 0;
    gemm_gradient(s->packed, flat(r->d_out[0], c->out), flat(r->in[0], c->in), s->grad,
                  r->n_params > 1 ? r->params[1]->grad : NULL, r->env->pool);
    for (int64_t i = 0; i < c->in; i++)
        for (int64_t o = 0; o < c->out; o++)
            grad[i * c->out + o] += s->grad[o * c->in + i];
}

const struct nn_cpu_op nn_cpu_times = {
    .flags = CPU_WRITES,
    .setup = times_setup,
    .teardown = times_teardown,
    .begin = times_begin,
    .forward = times_forward,
    .backward = times_backward,
    .grads = times_grads,
};

const struct nn_cpu_op nn_cpu_times_bias = {
    .flags = CPU_WRITES,
    .setup = times_setup,
    .teardown = times_teardown,
    .begin = times_begin,
    .forward = times_forward,
    .backward = times_backward,
    .grads = times_grads,
};
