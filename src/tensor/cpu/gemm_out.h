/* SPDX-License-Identifier: Apache-2.0 */
/* tensor/cpu/gemm_out.h - how a row of sums leaves a tile; included by gemm_body.h. */

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

#ifdef GEMM_BF16_ROWS
static ALWAYS_INLINE void NAME(store_bf16)(float *p, int cols, const VF v[2])
{
    __m512i both = (__m512i)_mm512_cvtne2ps_pbh(v[1], v[0]);
    if (cols == 2 * VL)
        _mm512_storeu_si512(p, both);
    else
        _mm512_mask_storeu_epi16(p, (__mmask32)((1u << cols) - 1), both);
}
#endif

/* Row i of c from its sums; `start` is the bias. */
static ALWAYS_INLINE void NAME(out)(const struct gemm_tile *t, int i, int cols,
                                    const VF start[2], const VF sums[2])
{
    VF old[2] = {start[0], start[1]}, v[2];
    float *c = t->c + i * t->ldc;
    if (t->add)
        NAME(load)(c, cols, old);
    UNROLLED
    for (int j = 0; j < 2; j++) {
        v[j] = V_ADD(old[j], sums[j]);
        if (t->relu)
            v[j] = V_MAX0(v[j]);
    }
#ifdef GEMM_BF16_ROWS
    if (t->bf16) {
        NAME(store_bf16)(c, cols, v);
        return;
    }
#endif
    NAME(store)(c, cols, v);
}
