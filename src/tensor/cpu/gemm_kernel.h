/* SPDX-License-Identifier: Apache-2.0 */
/* tensor/cpu/gemm_kernel.h - what gemm_own.c asks of a micro-kernel. */
#ifndef TENSOR_CPU_GEMM_KERNEL_H
#define TENSOR_CPU_GEMM_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

/* c = (add ? c : bias or 0) + a * b over k, then max(0, .) when `relu`. */
struct gemm_tile {
    int64_t k;
    const float *a; /* (i, k) at a[i * lda + k] when strided, else at a[k * lda + i] */
    int64_t lda;
    bool strided;
    const float *b; /* (k, j) at b[k * ldb + j]; nr floats of each row can be read */
    int64_t ldb;
    const float *bias; /* [cols] or NULL */
    bool add, relu;
    float *c; /* (i, j) at c[i * ldc + j] */
    int64_t ldc;
};

struct gemm_kernel {
    int mr, nr; /* largest tile */
    /* rows <= mr, cols <= nr; both at least 1 */
    void (*run)(const struct gemm_tile *t, int rows, int cols);
};

extern const struct gemm_kernel gemm_avx2_kernel, gemm_avx512_kernel, gemm_base_kernel;

#endif
