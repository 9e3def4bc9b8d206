/* SPDX-License-Identifier: Apache-2.0 */
/* How the CPU lets fields meet. The factorisation machine keeps the sum over the fields of a
 * row for its gradient. Dot products of all pairs are one small symmetric product per row, of
 * which the part above the diagonal is copied out; the mixture of experts is one row times a
 * matrix.
 */
#include <string.h>

#include "base/compiler.h"
#include "nn/cpu/cpu.h"
#include "nn/op/interact.h"
#include "tensor/gemm.h"
#include "tensor/kernel.h"

CLONED static void fm_row(const float *restrict x, int64_t n, int64_t d,
                          float *restrict sum, float *restrict y)
{
    for (int64_t i = 0; i < d; i++)
        sum[i] = y[i] = 0.0f;
    for (int64_t f = 0; f < n; f++)
        for (int64_t i = 0; i < d; i++) {
            sum[i] += x[f * d + i];
            y[i] += x[f * d + i] * x[f * d + i];
        }
    for (int64_t i = 0; i < d; i++)
        y[i] = 0.5f * (sum[i] * sum[i] - y[i]);
}

static void fm_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct op_fields_conf *c = r->conf;
    int64_t from, to;
    nn_cpu_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t k = from; k < to; k++)
        fm_row(view_row(&r->in[0], k), c->n, c->d, view_row(&r->keep, k),
               view_row(&r->out[0], k));
}

CLONED static void fm_row_back(const float *restrict x, const float *restrict sum,
                               const float *restrict dy, int64_t n, int64_t d,
                               float *restrict dx)
{
    for (int64_t f = 0; f < n; f++)
        for (int64_t i = 0; i < d; i++)
            dx[f * d + i] += dy[i] * (sum[i] - x[f * d + i]);
}

static void fm_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct op_fields_conf *c = r->conf;
    int64_t from, to;
    if (!r->d_in[0].data)
        return;
    nn_cpu_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t k = from; k < to; k++)
        fm_row_back(view_row(&r->in[0], k), view_row(&r->keep, k),
                    view_row(&r->d_out[0], k), c->n, c->d, view_row(&r->d_in[0], k));
}

const struct nn_cpu_op nn_cpu_fm = {
    .flags = CPU_STRIDED,
    .forward = fm_forward,
    .backward = fm_backward,
};

/* Rows of up to FIELDS fields of up to WIDTH floats are done as products of matrices,
 * with both halves of what is symmetric.
 */
#define FIELDS 64
#define WIDTH GEMM_SMALL_K

static void dots_row(const float *x, int64_t n, int64_t d, float *y)
{
    float all[FIELDS * FIELDS];
    struct gemm_small p = {
        .a = x, .lda = d, .b = x, .ldb = d, .m = n - 1, .n = n, .k = d, .turned = true};
    gemm_small(&p, false, all, FIELDS);
    for (int64_t i = 0; i + 1 < n; y += n - 1 - i, i++)
        memcpy(y, all + i * FIELDS + i + 1, (size_t)(n - 1 - i) * sizeof(float));
}

static void dots_row_back(const float *x, int64_t n, int64_t d, const float *dy,
                          float *dx)
{
    float factors[FIELDS * FIELDS]; /* dy on both sides of the diagonal */
    for (int64_t i = 0; i < n; i++) {
        factors[i * FIELDS + i] = 0.0f;
        for (int64_t j = i + 1; j < n; j++, dy++)
            factors[i * FIELDS + j] = factors[j * FIELDS + i] = *dy;
    }
    struct gemm_small p = {
        .a = factors, .lda = FIELDS, .b = x, .ldb = d, .m = n, .n = d, .k = n};
    gemm_small(&p, true, dx, d);
}

static void dots_large(const float *x, int64_t n, int64_t d, float *y)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = i + 1; j < n; j++)
            *y++ = kernels()->dot(x + i * d, x + j * d, d);
}

static void dots_large_back(const float *x, int64_t n, int64_t d, const float *dy,
                            float *dx)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = i + 1; j < n; j++, dy++) {
            kernels()->axpy(dx + i * d, *dy, x + j * d, d);
            kernels()->axpy(dx + j * d, *dy, x + i * d, d);
        }
}

static void dots_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct op_fields_conf *c = r->conf;
    int64_t from, to;
    nn_cpu_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t k = from; k < to; k++) {
        if (c->n <= FIELDS && c->d <= WIDTH)
            dots_row(view_row(&r->in[0], k), c->n, c->d, view_row(&r->out[0], k));
        else
            dots_large(view_row(&r->in[0], k), c->n, c->d, view_row(&r->out[0], k));
    }
}

static void dots_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct op_fields_conf *c = r->conf;
    int64_t from, to;
    if (!r->d_in[0].data)
        return;
    nn_cpu_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t k = from; k < to; k++) {
        const float *x = view_row(&r->in[0], k), *dy = view_row(&r->d_out[0], k);
        if (c->n <= FIELDS && c->d <= WIDTH)
            dots_row_back(x, c->n, c->d, dy, view_row(&r->d_in[0], k));
        else
            dots_large_back(x, c->n, c->d, dy, view_row(&r->d_in[0], k));
    }
}

const struct nn_cpu_op nn_cpu_pair_dots = {
    .flags = CPU_STRIDED,
    .forward = dots_forward,
    .backward = dots_backward,
};

static void mix_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct op_fields_conf *c = r->conf;
    int64_t from, to;
    nn_cpu_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t k = from; k < to; k++) {
        const float *gate = view_row(&r->in[0], k), *x = view_row(&r->in[1], k);
        float *y = view_row(&r->out[0], k);
        memset(y, 0, (size_t)c->d * sizeof(float));
        for (int64_t e = 0; e < c->n; e++)
            kernels()->axpy(y, gate[e], x + e * c->d, c->d);
    }
}

static void mix_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct op_fields_conf *c = r->conf;
    int64_t from, to;
    nn_cpu_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t k = from; k < to; k++) {
        const float *gate = view_row(&r->in[0], k), *x = view_row(&r->in[1], k);
        const float *dy = view_row(&r->d_out[0], k);
        for (int64_t e = 0; e < c->n; e++) {
            if (r->d_in[0].data)
                view_row(&r->d_in[0], k)[e] += kernels()->dot(dy, x + e * c->d, c->d);
            if (r->d_in[1].data)
                kernels()->axpy(view_row(&r->d_in[1], k) + e * c->d, gate[e], dy, c->d);
        }
    }
}

const struct nn_cpu_op nn_cpu_mix = {
    .flags = CPU_STRIDED,
    .forward = mix_forward,
    .backward = mix_backward,
};
