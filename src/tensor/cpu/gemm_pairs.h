/* SPDX-License-Identifier: Apache-2.0 */
/* tensor/cpu/gemm_pairs.h - floats to words of two bf16; included after vec_avx512.h. The
 * processor's own rounding takes subnormal floats for 0, as its products do.
 */

static void pairs_along(float *to, const float *x, int64_t n)
{
    int64_t i = 0;
    for (; i + 2 * VL <= n; i += 2 * VL)
        _mm512_storeu_si512(
            to + i / 2, (__m512i)_mm512_cvtne2ps_pbh(V_LOAD(x + i + VL), V_LOAD(x + i)));
    if (i == n)
        return;
    int64_t left = n - i;
    VF low = v_get(x + i, left < VL ? (int)left : VL);
    VF high = left > VL ? v_get(x + i + VL, (int)(left - VL)) : V_ZERO;
    v_put(to + i / 2, _mm512_castsi512_ps((__m512i)_mm512_cvtne2ps_pbh(high, low)),
          (int)((left + 1) / 2));
}

/* Lower halves come from x, upper ones from y. */
static ALWAYS_INLINE VF woven(VF x, VF y)
{
    __m512i low = _mm512_cvtepu16_epi32((__m256i)_mm512_cvtneps_pbh(x));
    __m512i high = _mm512_cvtepu16_epi32((__m256i)_mm512_cvtneps_pbh(y));
    return _mm512_castsi512_ps(_mm512_or_si512(low, _mm512_slli_epi32(high, 16)));
}

#define PER_WORD 2
#define WORDS(x, y, m) woven(v_get(x, m), (y) ? v_get(y, m) : V_ZERO)
#include "tensor/cpu/spread_body.h"
