/* SPDX-License-Identifier: Apache-2.0 */
/* tensor/cpu/vec_avx2.h - vectors of 8 floats; as vec_avx512.h. */
#ifndef TENSOR_CPU_VEC_AVX2_H
#define TENSOR_CPU_VEC_AVX2_H

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#include "base/compiler.h"

#define VL 8
typedef __m256 VF;
typedef __m256i VI;
typedef __m256 VM;

#define V_ZERO _mm256_setzero_ps()
#define V_SET1(x) _mm256_set1_ps(x)
#define V_LOAD(p) _mm256_loadu_ps(p)
#define V_STORE(p, v) _mm256_storeu_ps(p, v)
#define V_ADD(a, b) _mm256_add_ps(a, b)
#define V_SUB(a, b) _mm256_sub_ps(a, b)
#define V_MUL(a, b) _mm256_mul_ps(a, b)
#define V_DIV(a, b) _mm256_div_ps(a, b)
#define V_SQRT(a) _mm256_sqrt_ps(a)
#define V_FMA(a, b, c) _mm256_fmadd_ps(a, b, c)
#define V_FNMA(a, b, c) _mm256_fnmadd_ps(a, b, c)
#define V_MAX(a, b) _mm256_max_ps(a, b)
#define V_MIN(a, b) _mm256_min_ps(a, b)
#define V_MAX0(v) _mm256_max_ps(_mm256_setzero_ps(), v)
#define V_GT(a, b) _mm256_cmp_ps(a, b, _CMP_GT_OQ)
#define V_LT(a, b) _mm256_cmp_ps(a, b, _CMP_LT_OQ)
#define V_NAN(a) _mm256_cmp_ps(a, a, _CMP_UNORD_Q)
#define V_OR(a, b) _mm256_or_ps(a, b)
#define V_NONE _mm256_setzero_ps()
#define V_ANY(a) (_mm256_movemask_ps(a) != 0)
#define V_SEL(mask, a, b) _mm256_blendv_ps(b, a, mask)
#define V_ROUND(a) _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)
#define V_ABS(a) _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a)
#define V_SIGNED(a, b) _mm256_or_ps(_mm256_and_ps(_mm256_set1_ps(-0.0f), b), V_ABS(a))
#define V_HSUM(a) v_hsum(a)
#define V_HMAX(a) v_hmax(a)
#define V_SCALE2(a, n) v_scale2(a, n)
#define V_SIGNIFICAND(a) v_significand(a)
#define V_EXPONENT(a) v_exponent(a)

static ALWAYS_INLINE float v_hsum(VF v)
{
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}

static ALWAYS_INLINE float v_hmax(VF v)
{
    __m128 s = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    s = _mm_max_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_max_ss(s, _mm_movehdup_ps(s)));
}

/* 2^n in two factors, since n may lie outside the exponents of normal floats. */
static ALWAYS_INLINE VF v_scale2(VF a, VF n)
{
    VI whole = _mm256_cvtps_epi32(n), half = _mm256_srai_epi32(whole, 1);
    VI rest = _mm256_sub_epi32(whole, half), bias = _mm256_set1_epi32(127);
    VF f = _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(half, bias), 23));
    VF g = _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(rest, bias), 23));
    return _mm256_mul_ps(_mm256_mul_ps(a, f), g);
}

/* Below the normal floats: scaled up first. */
static ALWAYS_INLINE VF v_normal(VF a, VF *shift)
{
    VF small = V_LT(a, V_SET1(0x1p-126f));
    *shift = _mm256_and_ps(small, V_SET1(25.0f));
    return V_SEL(small, V_MUL(a, V_SET1(0x1p25f)), a);
}

static ALWAYS_INLINE VF v_significand(VF a)
{
    VF shift;
    VI u = _mm256_castps_si256(v_normal(a, &shift));
    u = _mm256_or_si256(_mm256_and_si256(u, _mm256_set1_epi32(0x7fffff)),
                        _mm256_set1_epi32(0x3f800000));
    return _mm256_castsi256_ps(u);
}

static ALWAYS_INLINE VF v_exponent(VF a)
{
    VF shift;
    VI u = _mm256_srli_epi32(_mm256_castps_si256(v_normal(a, &shift)), 23);
    VF e = _mm256_cvtepi32_ps(_mm256_sub_epi32(u, _mm256_set1_epi32(127)));
    return V_SUB(e, shift);
}

static ALWAYS_INLINE VI v_first(int m)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(m),
                              _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

static ALWAYS_INLINE VF v_get(const float *p, int m)
{
    return m == VL ? V_LOAD(p) : _mm256_maskload_ps(p, v_first(m));
}

static ALWAYS_INLINE void v_put(float *p, VF v, int m)
{
    if (m == VL)
        V_STORE(p, v);
    else
        _mm256_maskstore_ps(p, v_first(m), v);
}

static ALWAYS_INLINE VF v_only(VF v, VF other, int m)
{
    return m == VL ? v : V_SEL(_mm256_castsi256_ps(v_first(m)), v, other);
}

static ALWAYS_INLINE VM v_kept(const uint8_t *p, int m)
{
    uint64_t bytes = 0;
    memcpy(&bytes, p, (size_t)m);
    VI wide = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128((int64_t)bytes));
    return _mm256_castsi256_ps(_mm256_cmpgt_epi32(wide, _mm256_setzero_si256()));
}

static ALWAYS_INLINE void v_put_half(uint16_t *p, __m128i h, int m)
{
    if (m == VL)
        _mm_storeu_si128((__m128i *)(void *)p, h);
    else {
        uint16_t all[VL];
        _mm_storeu_si128((__m128i *)(void *)all, h);
        memcpy(p, all, (size_t)m * sizeof(*p));
    }
}

static ALWAYS_INLINE __m128i v_get_half(const uint16_t *p, int m)
{
    uint16_t all[VL] = {0};
    if (m == VL)
        return _mm_loadu_si128((const __m128i *)(const void *)p);
    memcpy(all, p, (size_t)m * sizeof(*p));
    return _mm_loadu_si128((const __m128i *)(const void *)all);
}

static ALWAYS_INLINE VI v_bf16_bits(VF v)
{
    VI u = _mm256_castps_si256(v), half = _mm256_srli_epi32(u, 16);
    VI odd = _mm256_and_si256(half, _mm256_set1_epi32(1));
    VI near = _mm256_add_epi32(u, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
    VI quiet = _mm256_or_si256(half, _mm256_set1_epi32(0x40));
    return _mm256_blendv_epi8(_mm256_srli_epi32(near, 16), quiet,
                              _mm256_castps_si256(V_NAN(v)));
}

static ALWAYS_INLINE void v_put_bf16(uint16_t *p, VF v, int m)
{
    VI near = v_bf16_bits(v);
    v_put_half(
        p,
        _mm_packus_epi32(_mm256_castsi256_si128(near), _mm256_extracti128_si256(near, 1)),
        m);
}

static ALWAYS_INLINE VF v_round_bf16(VF v)
{
    return _mm256_castsi256_ps(_mm256_slli_epi32(v_bf16_bits(v), 16));
}

static ALWAYS_INLINE VF v_get_bf16(const uint16_t *p, int m)
{
    VI u = _mm256_cvtepu16_epi32(v_get_half(p, m));
    return _mm256_castsi256_ps(_mm256_slli_epi32(u, 16));
}

static ALWAYS_INLINE void v_put_f16(uint16_t *p, VF v, int m)
{
    v_put_half(p, _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC), m);
}

static ALWAYS_INLINE VF v_get_f16(const uint16_t *p, int m)
{
    return _mm256_cvtph_ps(v_get_half(p, m));
}

static ALWAYS_INLINE void v_transpose(VF r[VL])
{
    VF t[VL];
    UNROLLED
    for (int i = 0; i < VL; i += 2) {
        t[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
        t[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
    }
    UNROLLED
    for (int i = 0; i < VL; i += 4)
        for (int k = 0; k < 2; k++) {
            r[i + 2 * k] = _mm256_shuffle_ps(t[i + k], t[i + k + 2], 0x44);
            r[i + 2 * k + 1] = _mm256_shuffle_ps(t[i + k], t[i + k + 2], 0xee);
        }
    UNROLLED
    for (int i = 0; i < 4; i++) {
        t[i] = _mm256_permute2f128_ps(r[i], r[i + 4], 0x20);
        t[i + 4] = _mm256_permute2f128_ps(r[i], r[i + 4], 0x31);
    }
    for (int i = 0; i < VL; i++)
        r[i] = t[i];
}

#define VI_SET1(x) _mm256_set1_epi32((int)(x))
#define VI_ADD(a, b) _mm256_add_epi32(a, b)
#define VI_XOR(a, b) _mm256_xor_si256(a, b)
#define VI_STORE(p, v) _mm256_storeu_si256((__m256i *)(void *)(p), v)
#define VI_LOAD(p) _mm256_loadu_si256((const __m256i *)(const void *)(p))
#define VI_ZIP_LOW32(a, b) _mm256_unpacklo_epi32(a, b)
#define VI_ZIP_HIGH32(a, b) _mm256_unpackhi_epi32(a, b)
#define VI_ZIP_LOW64(a, b) _mm256_unpacklo_epi64(a, b)
#define VI_ZIP_HIGH64(a, b) _mm256_unpackhi_epi64(a, b)
#define VI_GE(a, b) _mm256_castsi256_ps(_mm256_cmpeq_epi32(_mm256_max_epu32(a, b), a))

static ALWAYS_INLINE void vi_mul(VI a, VI b, VI *low, VI *high)
{
    VI even = _mm256_mul_epu32(a, b);
    VI odd = _mm256_mul_epu32(_mm256_srli_epi64(a, 32), _mm256_srli_epi64(b, 32));
    *low = _mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), 0xaa);
    *high = _mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xaa);
}

#endif
