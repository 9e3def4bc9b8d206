/* SPDX-License-Identifier: Apache-2.0 */
/* For processors below AVX2: plain C that the compiler vectorises. */
#include <math.h>

#include "tensor/cpu/gemm_kernel.h"

#define MR 4
#define NR 16

static void base_run(const struct gemm_tile *t, int rows, int cols)
{
    float acc[MR][NR];
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < NR; j++)
            acc[i][j] = j >= cols ? 0.0f
                        : t->add  ? t->c[i * t->ldc + j]
                        : t->bias ? t->bias[j]
                                  : 0.0f;
    for (int64_t k = 0; k < t->k; k++) {
        const float *b = t->b + k * t->ldb;
        for (int i = 0; i < rows; i++) {
            float a = t->strided ? t->a[i * t->lda + k] : t->a[k * t->lda + i];
            for (int j = 0; j < NR; j++)
                acc[i][j] += a * b[j];
        }
    }
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < cols; j++)
            t->c[i * t->ldc + j] = t->relu && acc[i][j] < 0.0f ? 0.0f : acc[i][j];
}

const struct gemm_kernel gemm_base_kernel = {.mr = MR, .nr = NR, .run = base_run};
