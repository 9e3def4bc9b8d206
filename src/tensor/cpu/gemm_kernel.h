/* SPDX-License-Identifier: Apache-2.0 */
/* tensor/cpu/gemm_kernel.h - what gemm_own.c asks of a micro-kernel.
 *
 * Operands are made of words of 32 bits: a word is one float, or two neighbours in k as
 * bf16 (the first in the lower half) for kernels with per_word == 2. They are declared
 * float either way.
 */
#ifndef TENSOR_CPU_GEMM_KERNEL_H
#define TENSOR_CPU_GEMM_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

#define GEMM_MR_MAX 32
#define GEMM_NR_MAX 32

/* c = (add ? c : bias or 0) + a * b over k, then max(0, .) when `relu`. */
struct gemm_tile {
    int64_t k;      /* words */
    const float *a; /* (i, k) at a[i * lda + k] when strided, else at a[k * lda + i] */
    int64_t lda;
    bool strided;
    const float *b;    /* (k, j) at b[k * nr + j] */
    const float *bias; /* [cols] or NULL */
    bool add, relu;
    float *c; /* (i, j) at c[i * ldc + j] */
    int64_t ldc;
    bool bf16; /* rows of c are bf16, still ldc floats apart; not with `add` */
};

/* A few rows of floats, `ld` apart. */
struct gemm_rows {
    const float *at;
    int64_t ld, n;
    int64_t ahead; /* floats from here to what will be wanted soon */
    bool bf16;     /* rows hold bf16, for kernels with per_word == 2 */
};

/* What a kernel found in registers that others may be using. */
struct gemm_saved {
    _Alignas(64) uint8_t bytes[64];
};

struct gemm_kernel {
    const char *name;
    int mr, nr;   /* largest tile */
    int per_word; /* 1 or 2 */
    int k_align;  /* k is a multiple of it, filled up with zeros */
    /* Only strided a, with mr rows that can be read. */
    bool strided_only;
    /* rows <= mr, cols <= nr; both at least 1 */
    void (*run)(const struct gemm_tile *t, int rows, int cols);
    /* Around calls of run() on one thread; NULL: not needed. */
    void (*enter)(struct gemm_saved *before);
    void (*leave)(const struct gemm_saved *before);
    /* With per_word == 2: to[i] = x[2 i], x[2 i + 1] for n floats, rounded. */
    void (*pairs_along)(float *to, const float *x, int64_t n);
    /* n columns of some rows dealt out to panels that are `width` (mr or nr) words wide
     * and begin `size` words apart; k runs over the rows. The last panel is filled up
     * with zeros, as is a word of two rows of which one is missing.
     */
    void (*spread)(const struct gemm_rows *r, int64_t n, int width, int64_t size,
                   float *to);
    /* to[j * ld_to + i] = from[i * ld + j] for i < rows, j < cols. */
    void (*transpose)(const float *from, int64_t ld, int64_t rows, int64_t cols,
                      float *to, int64_t ld_to);
};

extern const struct gemm_kernel gemm_base_kernel, gemm_avx2_kernel, gemm_avx512_kernel,
    gemm_bf16_kernel, gemm_amx_kernel;

#endif
