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
    static const uint16_t order[32] = {0,  16, 1,  17, 2,  18, 3,  19, 4,  20, 5,
                                       21, 6,  22, 7,  23, 8,  24, 9,  25, 10, 26,
                                       11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
    __m512i both = (__m512i)_mm512_cvtne2ps_pbh(y, x);
    return _mm512_castsi512_ps(_mm512_permutexvar_epi16(_mm512_loadu_si512(order), both));
}

#define PER_WORD 2
#define WORDS(x, y, m) woven(v_get(x, m), (y) ? v_get(y, m) : V_ZERO)
#include "tensor/cpu/spread_body.h"

/* Lower halves from x, upper ones from y, which hold bf16 already; y NULL: zeros. */
static ALWAYS_INLINE VF woven_bf16(const uint16_t *x, const uint16_t *y, int m)
{
    __m512i low = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(v_first(m), x));
    if (!y)
        return _mm512_castsi512_ps(low);
    __m512i high = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(v_first(m), y));
    return _mm512_castsi512_ps(_mm512_or_si512(low, _mm512_slli_epi32(high, 16)));
}

/* `width` columns, of which `have` are there, over all rows. */
static ALWAYS_INLINE void spread_bf16_by(const int width, const struct gemm_rows *r,
                                         int have, const uint16_t *x, float *to)
{
    int64_t next = 2 * r->ld;
    for (int64_t k = 0; k < r->n; k += 2, x += 2 * next, to += width) {
        const uint16_t *y = k + 1 < r->n ? x + next : NULL;
        _mm_prefetch((const char *)(x + 2 * r->ahead), _MM_HINT_T0);
        _mm_prefetch((const char *)(x + 2 * r->ahead + next), _MM_HINT_T0);
        UNROLLED
        for (int j = 0; j < width; j += VL) {
            int m = width - j < VL ? width - j : VL;
            int part = have == width || have - j >= m ? m : have - j;
            VF v = part > 0 ? woven_bf16(x + j, y ? y + j : NULL, part) : V_ZERO;
            v_put(to + j, v, m);
        }
    }
}

static void spread_bf16(const struct gemm_rows *r, int64_t n, int width, int64_t size,
                        float *to)
{
    const uint16_t *x = (const uint16_t *)r->at;
    for (int64_t i = 0; i < n; i += width, to += size) {
        int have = n - i < width ? (int)(n - i) : width;
        if (width == NR && have == NR)
            spread_bf16_by(NR, r, NR, x + i, to);
        else if (width == NR)
            spread_bf16_by(NR, r, have, x + i, to);
        else
            spread_bf16_by(MR, r, have, x + i, to);
    }
}

static void spread_pairs(const struct gemm_rows *r, int64_t n, int width, int64_t size,
                         float *to)
{
    if (r->bf16)
        spread_bf16(r, n, width, size, to);
    else
        spread(r, n, width, size, to);
}
