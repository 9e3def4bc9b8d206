/* SPDX-License-Identifier: Apache-2.0 */
/* tensor/gemm_mix.h - products with a matrix of its own for every few rows.
 *
 * Two weights a[out][in] and b[out][in], which lie side by side as w[out][2 * in], are
 * packed once; a vector q[in] then makes the matrix m = a + b * diag(q) of some rows:
 *     forward   y[t][out]   = act(x[t][in] * m^T + bias)
 *     backward  dx[t][in] (+)= dy[t][out] * m
 *     gradient  with g = dy^T * x: da += g, db += g * diag(q), dq += column sums of g * b
 * This is half the work of multiplying [x, x * diag(q)] by w. Floats only. A row of y or
 * dx depends on its row of x or dy and on q alone; the order of sums of a gradient
 * follows from the rows of its parts alone.
 */
#ifndef TENSOR_GEMM_MIX_H
#define TENSOR_GEMM_MIX_H

#include "tensor/gemm.h"

struct gemm_mix;

/* The caller's, to destroy; *result is NULL where this does not pay (another backend than
 * `own` is in use, or the matrix is too large or too small). RC_NOMEM.
 */
enum rc gemm_mix_create(int64_t out, int64_t in, bool backward, struct gemm_mix **result,
                        struct err *err) MUST_CHECK;
void gemm_mix_destroy(struct gemm_mix *m);

void gemm_mix_pack(struct gemm_mix *m, const float *w); /* [out][2 * in] */

/* Rows [from, to) of the views of a call, and what is theirs. */
struct gemm_mix_part {
    int64_t from, to;
    const float *q;
    const float *bias; /* [out]; NULL: none */
    float *dq;         /* NULL: nobody wants it */
};

/* Many parts in one call are cheaper: weights are read once for all of them. */
void gemm_mix_forward(const struct gemm_mix *m, const struct gemm_mix_part *parts,
                      int64_t n, struct view x, enum gemm_act act, struct view y);
void gemm_mix_backward(const struct gemm_mix *m, const struct gemm_mix_part *parts,
                       int64_t n, struct view dy, bool add, struct view dx);
/* dw[out][2 * in] as w. */
void gemm_mix_gradient(const struct gemm_mix *m, const struct gemm_mix_part *parts,
                       int64_t n, struct view dy, struct view x, float *dw);

#endif
