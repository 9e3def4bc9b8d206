/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "nn/cpu/cpu.h"
#include "nn/op/act.h"
#include "nn/ops.h"
#include "tensor/kernel.h"

static const struct kernel_acts *kernel_of(const struct op_act_conf *c)
{
    static const enum kernel_act kinds[] = {
        [ACT_RELU] = KERNEL_RELU,   [ACT_LEAKY_RELU] = KERNEL_LEAKY,
        [ACT_ELU] = KERNEL_ELU,     [ACT_SELU] = KERNEL_SELU,
        [ACT_GELU] = KERNEL_GELU,   [ACT_GELU_TANH] = KERNEL_GELU_TANH,
        [ACT_SILU] = KERNEL_SILU,   [ACT_SIGMOID] = KERNEL_SIGMOID,
        [ACT_TANH] = KERNEL_TANH,   [ACT_SOFTPLUS] = KERNEL_SOFTPLUS,
        [ACT_MISH] = KERNEL_MISH,   [ACT_HARDSWISH] = KERNEL_HARDSWISH,
        [ACT_RELU6] = KERNEL_RELU6, [ACT_SOFTSIGN] = KERNEL_SOFTSIGN,
    };
    return &kernels()->act[kinds[c->act]];
}

static void act_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct op_act_conf *c = r->conf;
    const struct kernel_acts *k = kernel_of(c);
    int64_t from, to;
    nn_cpu_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t i = from; i < to; i++)
        k->value(view_row(&r->out[0], i), view_row(&r->in[0], i), c->param,
                 r->out[0].width);
}

static void act_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct op_act_conf *c = r->conf;
    const struct kernel_acts *k = kernel_of(c);
    int64_t from, to;
    if (!r->d_in[0].data)
        return;
    nn_cpu_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t i = from; i < to; i++) {
        float *dx = view_row(&r->d_in[0], i);
        if (r->d_in_fresh[0])
            memset(dx, 0, (size_t)r->out[0].width * sizeof(float));
        k->grad(dx, view_row(&r->d_out[0], i), view_row(&r->in[0], i), c->param,
                r->out[0].width);
    }
}

const struct nn_cpu_op nn_cpu_act = {
    .flags = CPU_WRITES | CPU_STRIDED,
    .forward = act_forward,
    .backward = act_backward,
};
