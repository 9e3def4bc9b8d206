/* SPDX-License-Identifier: Apache-2.0 */
/* cuda/op/product.h - products of rows of floats by cuBLAS, for ops. */
#ifndef CUDA_OP_PRODUCT_H
#define CUDA_OP_PRODUCT_H

#include "cuda/cuda_private.h"
#include "tensor/gemm.h"

static inline enum blas_precision cuda_precision(const struct cuda_run *r,
                                                 enum gemm_precision p)
{
    return p == GEMM_BF16 ? BLAS_BF16 : r->tf32 ? BLAS_TF32 : BLAS_F32;
}

/* A row of dims [.., n] is several rows of n to a product. */
static inline struct cuda_rows cuda_flat(struct cuda_rows v, int64_t n)
{
    int64_t per_row = v.width / n;
    return per_row == 1 ? v : (struct cuda_rows){v.at, v.rows * per_row, n, n};
}

static inline struct blas_matrix cuda_plain(struct cuda_rows v)
{
    return (struct blas_matrix){v.at, v.ld, false, false};
}

static inline struct blas_matrix cuda_turned(struct cuda_rows v)
{
    return (struct blas_matrix){v.at, v.ld, true, false};
}

/* y = a b, or y += a b; k: what is summed over. */
static inline void cuda_multiply(const struct cuda_run *r, enum gemm_precision p,
                                 struct blas_matrix a, struct blas_matrix b, int64_t k,
                                 bool add, struct cuda_rows y)
{
    struct blas_out out = {y.at, y.rows, y.width, y.ld, false};
    cuda_note(r->cuda,
              blas_product(&r->cuda->blas, cuda_precision(r, p), a, b, k, add, out));
}

#endif
