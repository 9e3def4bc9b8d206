/* SPDX-License-Identifier: Apache-2.0 */
/* cuda/blas.h - matrix products by cuBLAS, which is loaded when a card is opened. */
#ifndef CUDA_BLAS_H
#define CUDA_BLAS_H

#include "base/err.h"
#include "cuda/kernel/kernels.h"

enum blas_precision { BLAS_F32, BLAS_TF32, BLAS_BF16 };

struct blas {
    void *lib, *handle;
    int (*gemm_ex)(void *handle, int op_a, int op_b, int m, int n, int k,
                   const void *alpha, const void *a, int type_a, int lda, const void *b,
                   int type_b, int ldb, const void *beta, void *c, int type_c, int ldc,
                   int compute, int algorithm);
    int (*destroy)(void *handle);
};

/* RC_NOTFOUND (E2602): cuBLAS is not installed. */
enum rc blas_open(struct blas *b, cuda_stream s, struct err *err) MUST_CHECK;
void blas_close(struct blas *b);

/* c = a * b, or c += a * b when `add`; all row-major, a or b transposed where it says so.
 * a: m x k, b: k x n, c: m x n. Returns 0 when it was queued.
 */
struct blas_matrix {
    const float *at;
    int64_t ld;
    bool turned;
};
int blas_product(struct blas *b, enum blas_precision precision, struct blas_matrix x,
                 struct blas_matrix y, int64_t m, int64_t n, int64_t k, bool add,
                 float *c, int64_t ldc);

#endif
