/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "nn/cpu/cpu.h"
#include "nn/op/seq_conv.h"
#include "tensor/kernel.h"

/* keep: for each value the position that holds the largest, from the row's first one. */
static void max_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    const int64_t *at = r->env->rows.offsets[r->in_axis[0]];
    int64_t n = r->out[0].width;
    for (int64_t b = begin; b < end; b++) {
        float *y = view_row(&r->out[0], b), *which = view_row(&r->keep, b);
        memset(which, 0, (size_t)n * sizeof(*which));
        if (at[b + 1] == at[b])
            memset(y, 0, (size_t)n * sizeof(*y));
        else
            memcpy(y, view_row(&r->in[0], at[b]), (size_t)n * sizeof(*y));
        for (int64_t k = at[b] + 1; k < at[b + 1]; k++) {
            const float *x = view_row(&r->in[0], k);
            for (int64_t i = 0; i < n; i++)
                if (x[i] > y[i]) {
                    y[i] = x[i];
                    which[i] = (float)(k - at[b]);
                }
        }
    }
}

static void max_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    const int64_t *at = r->env->rows.offsets[r->in_axis[0]];
    for (int64_t b = begin; r->d_in[0].data && b < end; b++) {
        const float *dy = view_row(&r->d_out[0], b), *which = view_row(&r->keep, b);
        for (int64_t i = 0; at[b + 1] > at[b] && i < r->out[0].width; i++)
            view_row(&r->d_in[0], at[b] + (int64_t)which[i])[i] += dy[i];
    }
}

const struct nn_cpu_op nn_cpu_seq_max = {
    .flags = CPU_STRIDED,
    .forward = max_forward,
    .backward = max_backward,
};

static void around_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct op_around_conf *c = r->conf;
    const int64_t *at = r->env->rows.offsets[r->in_axis[0]];
    int64_t n = r->in[0].width;
    for (int64_t b = begin; b < end; b++)
        for (int64_t k = at[b]; k < at[b + 1]; k++)
            for (int64_t j = 0; j < c->count; j++) {
                float *y = view_row(&r->out[0], k) + j * n;
                int64_t from = k + c->first + j;
                if (from < at[b] || from >= at[b + 1])
                    memset(y, 0, (size_t)n * sizeof(*y));
                else
                    memcpy(y, view_row(&r->in[0], from), (size_t)n * sizeof(*y));
            }
}

static void around_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct op_around_conf *c = r->conf;
    const int64_t *at = r->env->rows.offsets[r->in_axis[0]];
    int64_t n = r->in[0].width;
    for (int64_t b = begin; r->d_in[0].data && b < end; b++)
        for (int64_t k = at[b]; k < at[b + 1]; k++)
            for (int64_t j = 0; j < c->count; j++) {
                int64_t to = k + c->first + j;
                if (to >= at[b] && to < at[b + 1])
                    kernels()->add(view_row(&r->d_in[0], to),
                                   view_row(&r->d_out[0], k) + j * n, n);
            }
}

const struct nn_cpu_op nn_cpu_seq_around = {
    .flags = CPU_STRIDED,
    .forward = around_forward,
    .backward = around_backward,
};
