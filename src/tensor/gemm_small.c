/* SPDX-License-Identifier: Apache-2.0 */
/* Products of matrices that are used once: the right one is copied into a panel on the
 * stack, a panel at a time.
 */
#include <string.h>

#include "tensor/cpu/gemm_kernel.h"
#include "tensor/gemm_private.h"

/* Columns that are not there become zeros: what lies there by chance may be so small a
 * number that every product with it takes a hundred times as long.
 */
static void turn(const struct gemm_kernel *kern, const struct gemm_small *p, int64_t from,
                 int64_t cols, float *panel)
{
    if (cols < kern->nr)
        memset(panel, 0, (size_t)(p->k * kern->nr) * sizeof(float));
    kern->transpose(p->b + from * p->ldb, p->ldb, cols, p->k, panel, kern->nr);
}

void gemm_small(const struct gemm_small *p, bool add, float *c, int64_t ldc)
{
    _Alignas(64) float panel[GEMM_SMALL_K * GEMM_NR_MAX];
    const struct gemm_kernel *kern = gemm_own_kernel(GEMM_F32);
    for (int64_t j = 0; j < p->n; j += kern->nr) {
        int64_t cols = p->n - j < kern->nr ? p->n - j : kern->nr;
        struct gemm_rows rows = {.at = p->b + j, .ld = p->ldb, .n = p->k};
        if (!p->turned)
            kern->spread(&rows, cols, kern->nr, p->k * kern->nr, panel);
        else
            turn(kern, p, j, cols, panel);
        struct gemm_tile t = {.k = p->k,
                              .lda = p->lda,
                              .strided = true,
                              .b = panel,
                              .add = add,
                              .ldc = ldc};
        for (int64_t i = 0; i < p->m; i += kern->mr) {
            t.a = p->a + i * p->lda;
            t.c = c + i * ldc + j;
            kern->run(&t, (int)(p->m - i < kern->mr ? p->m - i : kern->mr), (int)cols);
        }
    }
}
