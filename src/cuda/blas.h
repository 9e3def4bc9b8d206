/* SPDX-License-Identifier: Apache-2.0 */
/* cuda/blas.h - matrix products by cuBLAS, which is loaded when a card is opened. */
#ifndef CUDA_BLAS_H
#define CUDA_BLAS_H

#include "base/err.h"
#include "base/vec.h"
#include "cuda/kernel/kernels.h"

enum blas_precision { BLAS_F32, BLAS_TF32, BLAS_BF16 };

struct blas_lt; /* blas_lt.c: products that do more in the same pass */

struct blas {
    void *lib, *handle, *workspace;
    int (*gemm_ex)(void *handle, int op_a, int op_b, int m, int n, int k,
                   const void *alpha, const void *a, int type_a, int lda, const void *b,
                   int type_b, int ldb, const void *beta, void *c, int type_c, int ldc,
                   int compute, int algorithm);
    int (*destroy)(void *handle);
    struct blas_lt *lt; /* NULL: this installation has none */
};

/* RC_NOTFOUND (E2602): cuBLAS is not installed. */
enum rc blas_open(struct blas *b, cuda_stream s, struct err *err) MUST_CHECK;
void blas_close(struct blas *b);

/* A factor or a result: rows of floats, or of bf16. */
struct blas_matrix {
    const void *at;
    int64_t ld; /* elements */
    bool turned;
    bool bf16;
};
struct blas_out {
    void *at;
    int64_t rows, width, ld;
    bool bf16;
};

/* c = a * b, or c += a * b when `add`; all row-major, a or b transposed where it says so.
 * a: rows x k, b: k x width. Both are floats, or both bf16. Returns 0 when it was queued.
 */
int blas_product(struct blas *b, enum blas_precision precision, struct blas_matrix x,
                 struct blas_matrix y, int64_t k, bool add, struct blas_out c);

/* c = x y + bias, or relu(x y + bias), in one pass. */
struct blas_after {
    const void *bias; /* [width] of the type of c, aligned to 16 bytes */
    bool relu;
};
/* False, and nothing is queued: cuBLAS has no such product for these shapes. */
bool blas_product_then(struct blas *b, enum blas_precision precision,
                       struct blas_matrix x, struct blas_matrix y, int64_t k,
                       struct blas_out c, struct blas_after after);

/* blas_lt.c; NULL: it cannot be had. */
struct blas_lt *blas_lt_open(cuda_stream s);
void blas_lt_close(struct blas_lt *lt);
int blas_compute_of(enum blas_precision p); /* cuBLAS's names */
int blas_type_of(bool bf16);

#endif
