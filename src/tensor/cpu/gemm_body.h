/* SPDX-License-Identifier: Apache-2.0 */
/* tensor/cpu/gemm_body.h - the micro-kernel, for any vector width; included by gemm_*.c.
 *
 * Included after a vec_*.h; the includer defines NAME(x), and GEMM_STEP(a, b, c) when a
 * word is not a float.
 *
 * GEMM_MR is 6 or 12 (the default): as many as the registers hold. A tile is MR rows by
 * two vectors of columns, or one at the edge. All sums of one element run over k in order
 * with one fused multiply-add per step, whatever tile it falls into: results do not
 * depend on how rows are cut.
 */
#ifndef GEMM_MR
#define GEMM_MR 12
#endif
#ifndef GEMM_STEP
#define GEMM_STEP(a, b, c) V_FMA(a, b, c)
#define GEMM_PER_WORD 1
#endif
#define MR GEMM_MR
#define B_AHEAD \
    12 /* steps of k that panels, which lie in the second cache, are asked for */
#define NR (2 * VL)

/* `strided`: a(i, k) = a[i * lda + k]; else a(i, k) = a[k * lda + i]. The rows are
 * reached through every third pointer, so that they fit into the registers.
 */
static ALWAYS_INLINE void NAME(tile)(int mr, int vectors, bool strided,
                                     const struct gemm_tile *t, VF acc[MR][2])
{
    int64_t lda = t->lda;
    const float *b = t->b, *p0 = t->a, *p1 = p0 + 3 * lda, *p2 = p0 + 6 * lda,
                *p3 = p0 + 9 * lda;
    for (int64_t k = 0; k < t->k; k++) {
        VF b0 = V_LOAD(b), b1 = vectors > 1 ? V_LOAD(b + VL) : V_ZERO;
        _mm_prefetch((const char *)(b + B_AHEAD * NR), _MM_HINT_T0);
        if (vectors > 1)
            _mm_prefetch((const char *)(b + B_AHEAD * NR + VL), _MM_HINT_T0);
        UNROLLED
        for (int i = 0; i < mr; i++) {
            const float *p = i < 3 ? p0 : i < 6 ? p1 : i < 9 ? p2 : p3;
            VF v = V_SET1(strided ? p[(i % 3) * lda] : p0[i]);
            acc[i][0] = GEMM_STEP(v, b0, acc[i][0]);
            if (vectors > 1)
                acc[i][1] = GEMM_STEP(v, b1, acc[i][1]);
        }
        b += NR;
        p0 += strided ? 1 : lda;
        p1++;
        p2++;
        p3++;
    }
}

#include "tensor/cpu/gemm_out.h"

static ALWAYS_INLINE void NAME(block)(int mr, int vectors, const struct gemm_tile *t,
                                      int cols)
{
    VF acc[MR][2];
    UNROLLED
    for (int i = 0; i < mr; i++)
        acc[i][0] = acc[i][1] = V_ZERO;
    if (t->strided)
        NAME(tile)(mr, vectors, true, t, acc);
    else
        NAME(tile)(mr, vectors, false, t, acc);
    VF start[2] = {V_ZERO, V_ZERO};
    if (t->bias)
        NAME(load)(t->bias, cols, start);
    UNROLLED
    for (int i = 0; i < mr; i++)
        NAME(out)(t, i, cols, start, acc[i]);
}

static void NAME(run)(const struct gemm_tile *t, int rows, int cols)
{
    switch (rows) {
#define CASE(n)                         \
    case n:                             \
        if (cols > VL)                  \
            NAME(block)(n, 2, t, cols); \
        else                            \
            NAME(block)(n, 1, t, cols); \
        break;
        CASE(1)
        CASE(2)
        CASE(3)
        CASE(4)
        CASE(5)
        CASE(6)
#if GEMM_MR > 6
        CASE(7)
        CASE(8)
        CASE(9)
        CASE(10)
        CASE(11)
        CASE(12)
#endif
#undef CASE
    }
}
