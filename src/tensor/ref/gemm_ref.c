/* SPDX-License-Identifier: Apache-2.0 */
/* The definition of the products: plain loops, sums in double. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "tensor/gemm_private.h"

static enum rc ref_create(struct gemm_weight *w, struct err *err)
{
    w->packed = mem_try_calloc((size_t)(w->out * w->in), sizeof(float));
    if (!w->packed)
        return gemm_no_memory(w, err);
    return RC_OK;
}

static void ref_destroy(struct gemm_weight *w)
{
    mem_free(w->packed);
}

static float rounded(const struct gemm_weight *w, float v)
{
    return w->precision == GEMM_BF16 ? bf16_to_f32(bf16_from_f32(v)) : v;
}

static void ref_pack(struct gemm_weight *w, const float *from)
{
    float *to = w->packed;
    for (int64_t i = 0; i < w->out * w->in; i++)
        to[i] = rounded(w, from[i]);
}

static float activated(enum gemm_act act, double v)
{
    switch (act) {
    case GEMM_ACT_RELU:
        return v > 0 ? (float)v : 0.0f;
    case GEMM_ACT_SIGMOID:
        return (float)(1.0 / (1.0 + exp(-v)));
    case GEMM_ACT_TANH:
        return (float)tanh(v);
    case GEMM_ACT_NONE:
        break;
    }
    return (float)v;
}

static void ref_forward(const struct gemm_weight *w, struct view x, const float *bias,
                        enum gemm_act act, struct view y)
{
    const float *p = w->packed;
    for (int64_t r = 0; r < x.rows; r++)
        for (int64_t o = 0; o < w->out; o++) {
            double sum = bias ? (double)bias[o] : 0.0;
            for (int64_t i = 0; i < w->in; i++)
                sum += (double)rounded(w, view_row(&x, r)[i]) * (double)p[o * w->in + i];
            view_row(&y, r)[o] = activated(act, sum);
        }
}

static void ref_backward(const struct gemm_weight *w, struct view dy, bool add,
                         struct view dx)
{
    const float *p = w->packed;
    for (int64_t r = 0; r < dy.rows; r++)
        for (int64_t i = 0; i < w->in; i++) {
            double sum = add ? (double)view_row(&dx, r)[i] : 0.0;
            for (int64_t o = 0; o < w->out; o++)
                sum += (double)rounded(w, view_row(&dy, r)[o]) * (double)p[o * w->in + i];
            view_row(&dx, r)[i] = (float)sum;
        }
}

static void ref_gradient(const struct gemm_weight *w, struct view dy, struct view x,
                         struct gemm_piece at, float *dw)
{
    for (int64_t o = at.unit; o < at.unit + at.units; o++)
        for (int64_t i = at.col; i < at.col + at.cols; i++) {
            double sum = 0;
            for (int64_t r = 0; r < dy.rows; r++)
                sum += (double)rounded(w, view_row(&dy, r)[o]) *
                       (double)rounded(w, view_row(&x, r)[i]);
            dw[o * w->in + i] += (float)sum;
        }
}

const struct gemm_ops gemm_ref = {
    .name = "ref",
    .create = ref_create,
    .destroy = ref_destroy,
    .pack = ref_pack,
    .forward = ref_forward,
    .backward = ref_backward,
    .gradient = ref_gradient,
};
