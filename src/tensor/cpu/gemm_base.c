/* SPDX-License-Identifier: Apache-2.0 */
/* For processors below AVX2: plain C that the compiler vectorises. */
#include "tensor/cpu/gemm_kernel.h"

#define MR 4
#define NR 16

static void base_tile(const struct gemm_tile *t, int rows, int cols)
{
    float acc[MR][NR] = {{0}};
    for (int64_t k = 0; k < t->k; k++) {
        const float *b = t->b + k * NR;
        for (int i = 0; i < rows; i++) {
            float a = t->strided ? t->a[i * t->lda + k] : t->a[k * t->lda + i];
            for (int j = 0; j < NR; j++)
                acc[i][j] += a * b[j];
        }
    }
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < cols; j++) {
            float *c = &t->c[i * t->ldc + j];
            float v = acc[i][j] + (t->add ? *c : t->bias ? t->bias[j] : 0.0f);
            *c = t->relu && v < 0.0f ? 0.0f : v;
        }
}

static void transpose(const float *from, int64_t ld, int64_t rows, int64_t cols,
                      float *to, int64_t ld_to)
{
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++)
            to[j * ld_to + i] = from[i * ld + j];
}

static void spread(const struct gemm_rows *r, int64_t n, int width, int64_t size,
                   float *to)
{
    for (int64_t i = 0; i < n; i += width, to += size)
        for (int64_t k = 0; k < r->n; k++)
            for (int j = 0; j < width; j++)
                to[k * width + j] = i + j < n ? r->at[k * r->ld + i + j] : 0.0f;
}

const struct gemm_kernel gemm_base_kernel = {.name = "base",
                                             .mr = MR,
                                             .nr = NR,
                                             .per_word = 1,
                                             .k_align = 1,
                                             .run = base_tile,
                                             .spread = spread,
                                             .transpose = transpose};
