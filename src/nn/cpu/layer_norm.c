/* SPDX-License-Identifier: Apache-2.0 */
/* Layer norm over the last dimension; mean and inverse deviation are kept for backward.
 */
#include <string.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "nn/cpu/cpu.h"
#include "nn/op/layer_norm.h"
#include "tensor/kernel.h"

#define GRAD_PARTS 64
#define GRAD_ROWS 256

/* Partial sums of the parameters' gradients. */
struct layer_norm_state {
    double *parts;
};

static enum rc ln_setup(const void *conf, const struct nn_shape *in,
                        const struct nn_shape *out, bool training, void **state,
                        struct err *err)
{
    const struct op_layer_norm_conf *c = conf;
    struct layer_norm_state *s = mem_calloc(1, sizeof(*s));
    s->parts = mem_try_calloc((size_t)(GRAD_PARTS * 2 * c->n), sizeof(double));
    if (!s->parts) {
        mem_free(s);
        return err_set(err, RC_NOMEM, "no memory for gradients of %jd values",
                       (intmax_t)c->n);
    }
    *state = s;
    return RC_OK;
}

static void ln_teardown(void *state)
{
    struct layer_norm_state *s = state;
    mem_free(s->parts);
    mem_free(s);
}

static void ln_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct op_layer_norm_conf *c = r->conf;
    const float *w = r->params[0]->value, *b = r->params[1]->value;
    int64_t from, to;
    nn_cpu_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t k = from; k < to; k++)
        for (int64_t at = 0, g = 0; at < r->in[0].width; at += c->n, g++)
            kernels()->layer_norm(view_row(&r->out[0], k) + at,
                                  view_row(&r->in[0], k) + at, w, b, c->eps,
                                  view_row(&r->keep, k) + 2 * g, c->n);
}

static void ln_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct op_layer_norm_conf *c = r->conf;
    const float *w = r->params[0]->value;
    int64_t from, to;
    if (!r->d_in[0].data)
        return;
    nn_cpu_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t k = from; k < to; k++)
        for (int64_t at = 0, g = 0; at < r->in[0].width; at += c->n, g++) {
            float *dx = view_row(&r->d_in[0], k) + at;
            if (r->d_in_fresh[0])
                memset(dx, 0, (size_t)c->n * sizeof(float));
            kernels()->layer_norm_grad(dx, view_row(&r->d_out[0], k) + at,
                                       view_row(&r->in[0], k) + at, w,
                                       view_row(&r->keep, k) + 2 * g, c->n);
        }
}

CLONED static void add_to_part(const float *x, const float *dy, const float *keep,
                               double *p, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        p[i] += (double)dy[i] * (double)((x[i] - keep[0]) * keep[1]);
        p[n + i] += (double)dy[i];
    }
}

static void ln_part(void *arg, int64_t begin, int64_t end, void *part)
{
    const struct op_run *r = arg;
    const struct op_layer_norm_conf *c = r->conf;
    double *p = part;
    memset(p, 0, (size_t)(2 * c->n) * sizeof(double));
    for (int64_t k = begin; k < end; k++)
        for (int64_t at = 0, g = 0; at < r->in[0].width; at += c->n, g++)
            add_to_part(view_row(&r->in[0], k) + at, view_row(&r->d_out[0], k) + at,
                        view_row(&r->keep, k) + 2 * g, p, c->n);
}

static void ln_join(void *arg, const void *part)
{
    const struct op_run *r = arg;
    const struct op_layer_norm_conf *c = r->conf;
    const double *p = part;
    for (int64_t i = 0; i < c->n; i++) {
        if (r->params[0]->grad)
            r->params[0]->grad[i] += (float)p[i];
        if (r->params[1]->grad)
            r->params[1]->grad[i] += (float)p[c->n + i];
    }
}

static void ln_grads(const struct op_run *r)
{
    const struct op_layer_norm_conf *c = r->conf;
    struct layer_norm_state *s = r->state;
    struct op_run copy = *r;
    int64_t least = (r->in[0].rows + GRAD_PARTS - 1) / GRAD_PARTS;
    pool_reduce(r->env->pool, r->in[0].rows, least > GRAD_ROWS ? least : GRAD_ROWS,
                ln_part, ln_join, &copy, s->parts, (size_t)(2 * c->n) * sizeof(double));
}

const struct nn_cpu_op nn_cpu_layer_norm = {
    .flags = CPU_WRITES | CPU_STRIDED,
    .setup = ln_setup,
    .teardown = ln_teardown,
    .forward = ln_forward,
    .backward = ln_backward,
    .grads = ln_grads,
};
