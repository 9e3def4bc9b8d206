/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "nn/cpu/cpu.h"
#include "nn/op/field_gate.h"
#include "tensor/kernel.h"

static void sum_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct op_gate_conf *c = r->conf;
    int64_t from, to;
    nn_cpu_rows(r->env, r->out_axis[0], begin, end, &from, &to);
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
    const struct op_gate_conf *c = r->conf;
    int64_t from, to;
    nn_cpu_rows(r->env, r->out_axis[0], begin, end, &from, &to);
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

const struct nn_cpu_op nn_cpu_field_sum = {
    .flags = CPU_STRIDED,
    .forward = sum_forward,
    .backward = sum_backward,
};

static void gate_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct op_gate_conf *c = r->conf;
    int64_t from, to;
    nn_cpu_rows(r->env, r->out_axis[0], begin, end, &from, &to);
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
    const struct op_gate_conf *c = r->conf;
    int64_t from, to;
    nn_cpu_rows(r->env, r->out_axis[0], begin, end, &from, &to);
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

const struct nn_cpu_op nn_cpu_field_gate = {
    .forward = gate_forward,
    .backward = gate_backward,
};

static void bias_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    int64_t from, to;
    nn_cpu_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t k = from; k < to; k++) {
        float *y = view_row(&r->out[0], k);
        memcpy(y, view_row(&r->in[0], k), (size_t)r->in[0].width * sizeof(float));
        kernels()->add(y, r->params[0]->value, r->in[0].width);
    }
}

static void bias_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    int64_t from, to;
    nn_cpu_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t k = from; r->d_in[0].data && k < to; k++)
        kernels()->add(view_row(&r->d_in[0], k), view_row(&r->d_out[0], k),
                       r->in[0].width);
}

static void bias_grads(const struct op_run *r)
{
    for (int64_t k = 0; r->params[0]->grad && k < r->d_out[0].rows; k++)
        kernels()->add(r->params[0]->grad, view_row(&r->d_out[0], k), r->in[0].width);
}

const struct nn_cpu_op nn_cpu_bias = {
    .flags = CPU_STRIDED,
    .forward = bias_forward,
    .backward = bias_backward,
    .grads = bias_grads,
};
