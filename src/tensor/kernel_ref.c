/* SPDX-License-Identifier: Apache-2.0 */
/* Plain C: the definition. Sums are in double. */
#include "tensor/gemm.h"
#include "tensor/kernel_private.h"

static void ref_add(float *y, const float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        y[i] += x[i];
}

static void ref_axpy(float *y, float a, const float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        y[i] += a * x[i];
}

static void ref_mul_add(float *y, const float *a, const float *b, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        y[i] += a[i] * b[i];
}

static float ref_dot(const float *a, const float *b, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += (double)a[i] * (double)b[i];
    return (float)sum;
}

static float ref_sum(const float *x, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += (double)x[i];
    return (float)sum;
}

static void ref_none_grad(const float *y, float *dy, int64_t n)
{
}

static void ref_relu_grad(const float *y, float *dy, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        dy[i] = y[i] > 0.0f ? dy[i] : 0.0f;
}

static void ref_sigmoid_grad(const float *y, float *dy, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        dy[i] *= y[i] * (1.0f - y[i]);
}

static void ref_tanh_grad(const float *y, float *dy, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        dy[i] *= 1.0f - y[i] * y[i];
}

const struct kernels kernels_plain = {
    .name = "ref",
    .add = ref_add,
    .axpy = ref_axpy,
    .mul_add = ref_mul_add,
    .dot = ref_dot,
    .sum = ref_sum,
    .act_grad_from_out = {[GEMM_ACT_NONE] = ref_none_grad,
                          [GEMM_ACT_RELU] = ref_relu_grad,
                          [GEMM_ACT_SIGMOID] = ref_sigmoid_grad,
                          [GEMM_ACT_TANH] = ref_tanh_grad},
};
