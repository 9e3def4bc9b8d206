/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "nn/cpu/cpu.h"
#include "nn/op/shape.h"
#include "tensor/kernel.h"

static void take_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct op_take_conf *c = r->conf;
    int64_t from, to;
    if (r->out[0].data == r->in[0].data + c->from)
        return; /* it lies there already (order.c) */
    nn_cpu_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t k = from; k < to; k++)
        memcpy(view_row(&r->out[0], k), view_row(&r->in[0], k) + c->from,
               (size_t)r->out[0].width * sizeof(float));
}

static void take_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct op_take_conf *c = r->conf;
    int64_t from, to;
    if (!r->d_in[0].data || r->d_out[0].data == r->d_in[0].data + c->from)
        return;
    nn_cpu_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t k = from; k < to; k++) {
        if (r->d_in_fresh[0])
            memset(view_row(&r->d_in[0], k), 0, (size_t)r->in[0].width * sizeof(float));
        kernels()->add(view_row(&r->d_in[0], k) + c->from, view_row(&r->d_out[0], k),
                       r->out[0].width);
    }
}

const struct nn_cpu_op nn_cpu_slice = {
    .flags = CPU_STRIDED | CPU_WRITES,
    .forward = take_forward,
    .backward = take_backward,
};

const struct nn_cpu_op nn_cpu_stop_gradient = {
    .flags = CPU_STRIDED,
    .forward = take_forward,
};

static void pad_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    int64_t from, to, n = r->in[0].width;
    nn_cpu_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t k = from; k < to; k++) {
        float *y = view_row(&r->out[0], k);
        memcpy(y, view_row(&r->in[0], k), (size_t)n * sizeof(float));
        memset(y + n, 0, (size_t)(r->out[0].width - n) * sizeof(float));
    }
}

static void pad_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    int64_t from, to;
    if (!r->d_in[0].data)
        return;
    nn_cpu_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t k = from; k < to; k++)
        kernels()->add(view_row(&r->d_in[0], k), view_row(&r->d_out[0], k),
                       r->in[0].width);
}

const struct nn_cpu_op nn_cpu_pad = {
    .flags = CPU_STRIDED,
    .forward = pad_forward,
    .backward = pad_backward,
};

static void sum_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    int64_t from, to;
    nn_cpu_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t k = from; k < to; k++)
        *view_row(&r->out[0], k) = kernels()->sum(view_row(&r->in[0], k), r->in[0].width);
}

static void sum_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    int64_t from, to;
    if (!r->d_in[0].data)
        return;
    nn_cpu_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t k = from; k < to; k++) {
        float d = *view_row(&r->d_out[0], k), *dx = view_row(&r->d_in[0], k);
        for (int64_t i = 0; i < r->in[0].width; i++)
            dx[i] += d;
    }
}

const struct nn_cpu_op nn_cpu_row_sum = {
    .flags = CPU_STRIDED,
    .forward = sum_forward,
    .backward = sum_backward,
};
