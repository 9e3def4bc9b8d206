/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "nn/cpu/cpu.h"
#include "tensor/kernel.h"

static void last_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    const int64_t *at = r->env->rows.offsets[r->in_axis[0]];
    size_t bytes = (size_t)r->out[0].width * sizeof(float);
    for (int64_t b = begin; b < end; b++)
        if (at[b + 1] > at[b])
            memcpy(view_row(&r->out[0], b), view_row(&r->in[0], at[b + 1] - 1), bytes);
        else
            memset(view_row(&r->out[0], b), 0, bytes);
}

static void last_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    const int64_t *at = r->env->rows.offsets[r->in_axis[0]];
    for (int64_t b = begin; r->d_in[0].data && b < end; b++)
        if (at[b + 1] > at[b])
            kernels()->add(view_row(&r->d_in[0], at[b + 1] - 1),
                           view_row(&r->d_out[0], b), r->out[0].width);
}

const struct nn_cpu_op nn_cpu_seq_last = {
    .flags = CPU_STRIDED,
    .forward = last_forward,
    .backward = last_backward,
};
