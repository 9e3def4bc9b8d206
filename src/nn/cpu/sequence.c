/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "nn/cpu/cpu.h"
#include "nn/op/sequence.h"
#include "tensor/kernel.h"

static void expand_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    const int64_t *at = r->env->rows.offsets[r->out_axis[0]];
    for (int64_t b = begin; b < end; b++)
        for (int64_t k = at[b]; k < at[b + 1]; k++)
            memcpy(view_row(&r->out[0], k), view_row(&r->in[0], b),
                   (size_t)r->in[0].width * sizeof(float));
}

static void expand_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    const int64_t *at = r->env->rows.offsets[r->out_axis[0]];
    for (int64_t b = begin; r->d_in[0].data && b < end; b++)
        for (int64_t k = at[b]; k < at[b + 1]; k++)
            kernels()->add(view_row(&r->d_in[0], b), view_row(&r->d_out[0], k),
                           r->in[0].width);
}

const struct nn_cpu_op nn_cpu_expand = {
    .flags = CPU_STRIDED,
    .forward = expand_forward,
    .backward = expand_backward,
};

static void front_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    const int64_t *at = r->env->rows.offsets[r->in_axis[1]];
    const int64_t *to = r->env->rows.offsets[r->out_axis[0]];
    size_t bytes = (size_t)r->out[0].width * sizeof(float);
    for (int64_t b = begin; b < end; b++) {
        memcpy(view_row(&r->out[0], to[b]), view_row(&r->in[0], b), bytes);
        for (int64_t k = at[b]; k < at[b + 1]; k++)
            memcpy(view_row(&r->out[0], to[b] + 1 + k - at[b]), view_row(&r->in[1], k),
                   bytes);
    }
}

static void front_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    const int64_t *at = r->env->rows.offsets[r->in_axis[1]];
    const int64_t *to = r->env->rows.offsets[r->out_axis[0]];
    int64_t n = r->out[0].width;
    for (int64_t b = begin; b < end; b++) {
        if (r->d_in[0].data)
            kernels()->add(view_row(&r->d_in[0], b), view_row(&r->d_out[0], to[b]), n);
        for (int64_t k = at[b]; r->d_in[1].data && k < at[b + 1]; k++)
            kernels()->add(view_row(&r->d_in[1], k),
                           view_row(&r->d_out[0], to[b] + 1 + k - at[b]), n);
    }
}

const struct nn_cpu_op nn_cpu_seq_prepend = {
    .flags = CPU_STRIDED,
    .forward = front_forward,
    .backward = front_backward,
};

static float pool_scale(const struct op_run *r, int64_t positions)
{
    const struct op_pool_conf *c = r->conf;
    return c->mean && positions > 0 ? 1.0f / (float)positions : 1.0f;
}

static void pool_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    const int64_t *at = r->env->rows.offsets[r->in_axis[0]];
    for (int64_t b = begin; b < end; b++) {
        float *y = view_row(&r->out[0], b), scale = pool_scale(r, at[b + 1] - at[b]);
        memset(y, 0, (size_t)r->out[0].width * sizeof(float));
        kernels()->add_rows(y, view_row(&r->in[0], at[b]), r->in[0].ld, at[b + 1] - at[b],
                            r->n_in == 2 ? view_row(&r->in[1], at[b]) : &scale,
                            r->n_in == 2 ? r->in[1].ld : 0, r->out[0].width);
    }
}

/* What the weights of positions [from, to) of one row get: dy times each value. */
static void weights_backward(const struct op_run *r, const float *dy, int64_t from,
                             int64_t to)
{
    enum { SOME = 16 };
    float dots[SOME];
    for (int64_t k = from; k < to; k += SOME) {
        int64_t n = to - k < SOME ? to - k : SOME;
        kernels()->dot_rows(dots, view_row(&r->in[0], k), r->in[0].ld, n, dy,
                            r->out[0].width);
        for (int64_t i = 0; i < n; i++) {
            float *d = view_row(&r->d_in[1], k + i);
            *d = r->d_in_fresh[1] ? dots[i] : *d + dots[i];
        }
    }
}

static void pool_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    const int64_t *at = r->env->rows.offsets[r->in_axis[0]];
    int64_t n = r->out[0].width;
    for (int64_t b = begin; b < end; b++) {
        const float *dy = view_row(&r->d_out[0], b);
        float scale = pool_scale(r, at[b + 1] - at[b]);
        for (int64_t k = at[b]; r->d_in[0].data && k < at[b + 1]; k++) {
            float by = r->n_in == 2 ? *view_row(&r->in[1], k) : scale;
            if (r->d_in_fresh[0])
                kernels()->times(view_row(&r->d_in[0], k), by, dy, n);
            else
                kernels()->axpy(view_row(&r->d_in[0], k), by, dy, n);
        }
        if (r->n_in == 2 && r->d_in[1].data)
            weights_backward(r, dy, at[b], at[b + 1]);
    }
}

const struct nn_cpu_op nn_cpu_seq_sum = {
    .flags = CPU_STRIDED | CPU_WRITES,
    .forward = pool_forward,
    .backward = pool_backward,
};
