/* SPDX-License-Identifier: Apache-2.0 */
/* tensor/cpu/gemm_body.h - the micro-kernel, for any vector width; included by gemm_*.c.
 *
 * Included after a vec_*.h; the includer defines NAME(x).
 *
 * GEMM_MR is 6 or 12 (the default): as many as the registers hold. A tile is MR rows by
 * two vectors of columns. All sums of one element run over k in order with one fused
 * multiply-add per step, whatever tile it falls into: results do not depend on how rows
 * are cut.
 */
#ifndef GEMM_MR
#define GEMM_MR 12
#endif
#define MR GEMM_MR
#define NR (2 * VL)

/* `strided`: a(i, k) = a[i * lda + k]; else a(i, k) = a[k * lda + i]. The rows are
 * reached through every third pointer, so that they fit into the registers.
 */
static ALWAYS_INLINE void NAME(tile)(int mr, bool strided, int64_t n_k, const float *a,
                                     int64_t lda, const float *b, int64_t ldb,
                                     VF acc[MR][2])
{
    const float *p0 = a, *p1 = a + 3 * lda, *p2 = a + 6 * lda, *p3 = a + 9 * lda;
    for (int64_t k = 0; k < n_k; k++) {
        VF b0 = V_LOAD(b), b1 = V_LOAD(b + VL);
        UNROLLED
        for (int i = 0; i < mr; i++) {
            const float *p = i < 3 ? p0 : i < 6 ? p1 : i < 9 ? p2 : p3;
            VF v = V_SET1(strided ? p[(i % 3) * lda] : p0[i]);
            acc[i][0] = V_FMA(v, b0, acc[i][0]);
            acc[i][1] = V_FMA(v, b1, acc[i][1]);
        }
        b += ldb;
        p0 += strided ? 1 : lda;
        p1++;
        p2++;
        p3++;
    }
}

/* Loads the first `cols` floats of two vectors. */
static ALWAYS_INLINE void NAME(load)(const float *p, int cols, VF out[2])
{
    UNROLLED
    for (int j = 0; j < 2; j++) {
        int left = cols - j * VL;
        if (left >= VL)
            out[j] = V_LOAD(p + j * VL);
        else
            out[j] = left > 0 ? v_get(p + j * VL, left) : V_ZERO;
    }
}

static ALWAYS_INLINE void NAME(store)(float *p, int cols, const VF v[2])
{
    UNROLLED
    for (int j = 0; j < 2; j++) {
        int left = cols - j * VL;
        if (left >= VL)
            V_STORE(p + j * VL, v[j]);
        else if (left > 0)
            v_put(p + j * VL, v[j], left);
    }
}

/* c[mr][cols] = (add ? c : bias or 0) + a * b, then max(0, .) when relu. */
static ALWAYS_INLINE void NAME(block)(int mr, const struct gemm_tile *t, int cols)
{
    VF acc[MR][2];
    VF start[2] = {V_ZERO, V_ZERO};
    if (t->bias)
        NAME(load)(t->bias, cols, start);
    UNROLLED
    for (int i = 0; i < mr; i++) {
        if (t->add)
            NAME(load)(t->c + i * t->ldc, cols, acc[i]);
        else {
            acc[i][0] = start[0];
            acc[i][1] = start[1];
        }
    }
    if (t->strided)
        NAME(tile)(mr, true, t->k, t->a, t->lda, t->b, t->ldb, acc);
    else
        NAME(tile)(mr, false, t->k, t->a, t->lda, t->b, t->ldb, acc);
    UNROLLED
    for (int i = 0; i < mr; i++) {
        if (t->relu) {
            acc[i][0] = V_MAX0(acc[i][0]);
            acc[i][1] = V_MAX0(acc[i][1]);
        }
        NAME(store)(t->c + i * t->ldc, cols, acc[i]);
    }
}

static void NAME(run)(const struct gemm_tile *t, int rows, int cols)
{
    switch (rows) {
#define CASE(n)                  \
    case n:                      \
        NAME(block)(n, t, cols); \
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

const struct gemm_kernel NAME(kernel) = {.mr = MR, .nr = NR, .run = NAME(run)};
