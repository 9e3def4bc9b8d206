/* SPDX-License-Identifier: Apache-2.0 */
/* Rows side by side. Inputs that were placed inside the result (arrange.c) need no copy. */
#include <string.h>

#include "nn/cpu/cpu.h"
#include "tensor/kernel.h"

static void concat_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    int64_t from, to, col = 0;
    nn_cpu_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int i = 0; i < r->n_in; i++) {
        struct view part = view_cols(&r->out[0], col, r->in[i].width);
        col += part.width;
        if (part.data == r->in[i].data)
            continue;
        for (int64_t k = from; k < to; k++)
            memcpy(view_row(&part, k), view_row(&r->in[i], k),
                   (size_t)part.width * sizeof(float));
    }
}

static void concat_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    int64_t from, to, col = 0;
    nn_cpu_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int i = 0; i < r->n_in; i++) {
        struct view part = view_cols(&r->d_out[0], col, r->in[i].width);
        col += part.width;
        if (!r->d_in[i].data || part.data == r->d_in[i].data)
            continue;
        for (int64_t k = from; k < to; k++) {
            if (r->d_in_fresh[i])
                memcpy(view_row(&r->d_in[i], k), view_row(&part, k),
                       (size_t)part.width * sizeof(float));
            else
                kernels()->add(view_row(&r->d_in[i], k), view_row(&part, k), part.width);
        }
    }
}

const struct nn_cpu_op nn_cpu_concat = {
    .flags = CPU_WRITES | CPU_STRIDED,
    .forward = concat_forward,
    .backward = concat_backward,
};
