/* SPDX-License-Identifier: Apache-2.0 */
#include "nn/op/binary.h"
#include "base/compiler.h"
#include "nn/cpu/cpu.h"
#include "tensor/gemm.h"
#include "tensor/kernel.h"

CLONED static void binary_row(const struct op_binary_conf *c, const float *a,
                              const float *b, float *y, int64_t n)
{
    switch (c->kind) {
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
            y[i] = a[i] * b[i] * c->by;
        break;
    case BINARY_ADD_RELU:
        for (int64_t i = 0; i < n; i++)
            y[i] = a[i] + b[i] < 0.0f ? 0.0f : a[i] + b[i]; /* NaN stays */
        break;
    }
}

static void binary_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    int64_t from, to;
    nn_cpu_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t k = from; k < to; k++)
        binary_row(r->conf, view_row(&r->in[0], k), view_row(&r->in[1], k),
                   view_row(&r->out[0], k), r->out[0].width);
}

/* Slopes of input i, from those of the result. */
static void binary_slopes(const struct op_run *r, int i, int64_t row, const float *dy)
{
    const struct op_binary_conf *c = r->conf;
    const struct kernels *k = kernels();
    float *dx = view_row(&r->d_in[i], row);
    int64_t n = r->out[0].width;
    if (c->kind == BINARY_MUL) {
        (r->d_in_fresh[i] ? k->mul : k->mul_add)(dx, dy, view_row(&r->in[1 - i], row), n);
        return;
    }
    float sign = c->kind == BINARY_SUB && i == 1 ? -1.0f : 1.0f;
    if (r->d_in_fresh[i])
        k->times(dx, sign, dy, n);
    else
        k->axpy(dx, sign, dy, n);
}

/* d_out becomes the slope before the factor or the activation, in place: nobody else
 * reads it.
 */
static void binary_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct op_binary_conf *c = r->conf;
    int64_t from, to, n = r->out[0].width;
    nn_cpu_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t row = from; row < to; row++) {
        float *dy = view_row(&r->d_out[0], row);
        if (c->kind == BINARY_MUL && c->by != 1.0f)
            kernels()->scale(dy, c->by, n);
        if (c->kind == BINARY_ADD_RELU)
            kernels()->act_grad_from_out[GEMM_ACT_RELU](view_row(&r->out[0], row), dy, n);
        for (int i = 0; i < 2; i++)
            if (r->d_in[i].data)
                binary_slopes(r, i, row, dy);
    }
}

const struct nn_cpu_op nn_cpu_add = {
    .flags = CPU_WRITES | CPU_STRIDED,
    .forward = binary_forward,
    .backward = binary_backward,
};

const struct nn_cpu_op nn_cpu_add_relu = {
    .flags = CPU_WRITES | CPU_STRIDED,
    .forward = binary_forward,
    .backward = binary_backward,
};

const struct nn_cpu_op nn_cpu_multiply = {
    .flags = CPU_WRITES | CPU_STRIDED,
    .forward = binary_forward,
    .backward = binary_backward,
};

CLONED static void scale_row(const struct op_scale_conf *c, const float *x, float *y,
                             int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        y[i] = x[i] * c->by + c->plus;
}

static void scale_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    int64_t from, to;
    nn_cpu_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t k = from; k < to; k++)
        scale_row(r->conf, view_row(&r->in[0], k), view_row(&r->out[0], k),
                  r->out[0].width);
}

static void scale_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct op_scale_conf *c = r->conf;
    int64_t from, to;
    if (!r->d_in[0].data)
        return;
    nn_cpu_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t k = from; k < to; k++)
        (r->d_in_fresh[0] ? kernels()->times : kernels()->axpy)(
            view_row(&r->d_in[0], k), c->by, view_row(&r->d_out[0], k), r->out[0].width);
}

const struct nn_cpu_op nn_cpu_scale = {
    .flags = CPU_WRITES | CPU_STRIDED,
    .forward = scale_forward,
    .backward = scale_backward,
};
