/* SPDX-License-Identifier: Apache-2.0 */
/* tensor/gemm.h - matrix products with a weight matrix that was packed once.
 *
 * A weight w[out][in] takes part in three products, all on row-major data:
 *     forward   y[m][out]  = x[m][in]  * w^T       (+ bias, then an activation)
 *     backward  dx[m][in] (+)= dy[m][out] * w
 *     gradient  dw[out][in] += dy^T * x
 * The first two use a packed copy, made once per step by gemm_pack(); rows can then be
 * computed in any pieces by any thread, with the same bytes whatever the pieces: a row's
 * result depends on that row alone. The gradient is cut by output units, not by rows, so
 * its sum runs over the rows in one order on any number of threads.
 *
 * Backends are chosen at gemm_backend_use(): our own products (`own`, the default), those
 * of oneDNN and OpenBLAS, and plain C (`ref`), which defines the result. What is said
 * above about equal bytes holds for `own` and `ref`.
 */
#ifndef TENSOR_GEMM_H
#define TENSOR_GEMM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/pool.h"
#include "tensor/tensor.h"

enum gemm_precision { GEMM_F32, GEMM_BF16 }; /* bf16: inputs rounded, sums in f32 */
enum gemm_act { GEMM_ACT_NONE, GEMM_ACT_RELU, GEMM_ACT_SIGMOID, GEMM_ACT_TANH };

struct gemm_weight;

/* A packed weight of out x in, empty until gemm_pack(). The caller's, to destroy. */
enum rc gemm_weight_create(int64_t out, int64_t in, enum gemm_precision precision,
                           bool backward, struct gemm_weight **result,
                           struct err *err) MUST_CHECK;
void gemm_weight_destroy(struct gemm_weight *w);

/* Copies w[out][in] (row-major, ld = in) into packed form. No allocation. */
void gemm_pack(struct gemm_weight *w, const float *from);

void gemm_apply_act(enum gemm_act act, struct view y); /* in place */

/* y = act(x * w^T + bias); bias NULL: none. x.width == in, y.width == out. */
void gemm_forward(const struct gemm_weight *w, struct view x, const float *bias,
                  enum gemm_act act, struct view y);
/* dx = dy * w, or dx += dy * w when `add`. */
void gemm_backward(const struct gemm_weight *w, struct view dy, bool add, struct view dx);
/* dw[out][in] += dy^T * x; and db[out] += column sums of dy when db is not NULL. */
void gemm_gradient(const struct gemm_weight *w, struct view dy, struct view x, float *dw,
                   float *db, struct pool *pool);

/* Whether x and dx, or y and dy, may be rows of bf16 (struct view). Values that products
 * alone write and read lose nothing by it, as products round what they read, and take
 * half the memory. y of bf16 has no activation but ReLU; nothing is added to dx of bf16.
 */
bool gemm_bf16_in(const struct gemm_weight *w);
bool gemm_bf16_out(const struct gemm_weight *w);

/* Small matrices that are used once: c[m][n] = a[m][k] * b (+ c when `add`), in floats on
 * this thread. b is [k][n], or [n][k] when it is `turned`.
 */
#define GEMM_SMALL_K 128
struct gemm_small {
    const float *a, *b;
    int64_t lda, ldb;
    int64_t m, n, k; /* k <= GEMM_SMALL_K */
    bool turned;
};
void gemm_small(const struct gemm_small *p, bool add, float *c, int64_t ldc);

/* "own", "onednn", "openblas", "ref" or "auto" (the first that loads). For weights that
 * are created from now on; the others stay with theirs. RC_NOTFOUND when its library is
 * not there.
 */
enum rc gemm_backend_use(const char *name, struct err *err) MUST_CHECK;
const char *gemm_backend(void); /* the one in use */

#endif
