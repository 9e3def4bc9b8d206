/* SPDX-License-Identifier: Apache-2.0 */
#include "nn/cpu/cpu.h"
#include "tensor/kernel.h"

#define GRAD_GRAIN 32 /* columns of a chunk of the parameters' gradients */

static void cross_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    const float *w = r->params[0]->value, *b = r->params[1]->value;
    int64_t from, to;
    nn_cpu_rows(r->env, r->out_axis[0], begin, end, &from, &to);
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
    nn_cpu_rows(r->env, r->out_axis[0], begin, end, &from, &to);
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

const struct nn_cpu_op nn_cpu_cross = {
    .flags = CPU_STRIDED,
    .forward = cross_forward,
    .backward = cross_backward,
    .grads = cross_grads,
};
