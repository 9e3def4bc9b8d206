/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "nn/cpu/cpu.h"
#include "nn/op/windows.h"
#include "tensor/kernel.h"

/* The positions of window `w` in batch row `b`, and what their sum is divided by. */
static float window_of(const struct op_run *r, int64_t b, int64_t w, int64_t *from,
                       int64_t *to)
{
    const struct op_windows_conf *c = r->conf;
    const int64_t *at = r->env->rows.offsets[r->in_axis[0]];
    int64_t length = at[b + 1] - at[b];
    int64_t first = c->start[w] < length ? c->start[w] : length;
    int64_t last = c->start[w + 1] < length ? c->start[w + 1] : length;
    *from = at[b] + first;
    *to = at[b] + last;
    return last > first ? 1.0f / (float)(last - first) : 1.0f;
}

static void windows_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct op_windows_conf *c = r->conf;
    int64_t width = r->in[0].width, from, to;
    for (int64_t b = begin; b < end; b++)
        for (int64_t w = 0; w < c->n; w++) {
            float *y = view_row(&r->out[0], b) + w * width;
            float scale = window_of(r, b, w, &from, &to);
            memset(y, 0, (size_t)width * sizeof(float));
            for (int64_t k = from; k < to; k++)
                kernels()->axpy(y, scale * *view_row(&r->in[1], k),
                                view_row(&r->in[0], k), width);
        }
}

static void windows_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct op_windows_conf *c = r->conf;
    int64_t width = r->in[0].width, from, to;
    for (int64_t b = begin; b < end; b++)
        for (int64_t w = 0; w < c->n; w++) {
            const float *dy = view_row(&r->d_out[0], b) + w * width;
            float scale = window_of(r, b, w, &from, &to);
            for (int64_t k = from; k < to; k++) {
                if (r->d_in[0].data)
                    kernels()->axpy(view_row(&r->d_in[0], k),
                                    scale * *view_row(&r->in[1], k), dy, width);
                if (r->d_in[1].data)
                    *view_row(&r->d_in[1], k) +=
                        scale * kernels()->dot(dy, view_row(&r->in[0], k), width);
            }
        }
}

const struct nn_cpu_op nn_cpu_seq_windows = {
    .flags = CPU_STRIDED,
    .forward = windows_forward,
    .backward = windows_backward,
};
