/* SPDX-License-Identifier: Apache-2.0 */
/* tensor/cpu/vec_avx512.h - vectors of 16 floats under the names that bodies use.
 *
 * `m` is how many lanes count (1 to VL); with m == VL known to the compiler, loads and
 * stores are whole ones. Other lanes load as 0.
 */
#ifndef TENSOR_CPU_VEC_AVX512_H
#define TENSOR_CPU_VEC_AVX512_H

#include <immintrin.h>
#include <stdint.h>

#include "base/compiler.h"

#define VL 16
typedef __m512 VF;
typedef __m512i VI;
typedef __mmask16 VM;

#define V_ZERO _mm512_setzero_ps()
#define V_SET1(x) _mm512_set1_ps(x)
#define V_LOAD(p) _mm512_loadu_ps(p)
#define V_STORE(p, v) _mm512_storeu_ps(p, v)
#define V_ADD(a, b) _mm512_add_ps(a, b)
#define V_SUB(a, b) _mm512_sub_ps(a, b)
#define V_MUL(a, b) _mm512_mul_ps(a, b)
#define V_DIV(a, b) _mm512_div_ps(a, b)
#define V_SQRT(a) _mm512_sqrt_ps(a)
#define V_FMA(a, b, c) _mm512_fmadd_ps(a, b, c)   /* a * b + c */
#define V_FNMA(a, b, c) _mm512_fnmadd_ps(a, b, c) /* c - a * b */
#define V_MAX(a, b) _mm512_max_ps(a, b)           /* b when one is NaN */
#define V_MIN(a, b) _mm512_min_ps(a, b)           /* b when one is NaN */
#define V_MAX0(v) _mm512_max_ps(_mm512_setzero_ps(), v)
#define V_GT(a, b) _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ)
#define V_LT(a, b) _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ)
#define V_NAN(a) _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q)
#define V_OR(a, b) ((VM)((a) | (b)))
#define V_NONE ((VM)0)
#define V_ANY(a) ((a) != 0)
#define V_SEL(mask, a, b) _mm512_mask_blend_ps(mask, b, a) /* mask ? a : b */
#define V_ROUND(a) _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)
#define V_ABS(a) _mm512_abs_ps(a)
/* |a| with the sign of b */
#define V_SIGNED(a, b)                                                          \
    _mm512_castsi512_ps(_mm512_ternarylogic_epi32(_mm512_set1_epi32(INT32_MIN), \
                                                  _mm512_castps_si512(b),       \
                                                  _mm512_castps_si512(a), 0xca))
#define V_HSUM(a) _mm512_reduce_add_ps(a)
#define V_HMAX(a) _mm512_reduce_max_ps(a)
/* a * 2^n for whole n */
#define V_SCALE2(a, n) _mm512_scalef_ps(a, n)
/* a = significand in [1, 2) * 2^exponent, for 0 < a < infinity */
#define V_SIGNIFICAND(a) _mm512_getmant_ps(a, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_src)
#define V_EXPONENT(a) _mm512_getexp_ps(a)

static ALWAYS_INLINE VM v_first(int m)
{
    return (VM)((1u << m) - 1);
}

static ALWAYS_INLINE VF v_get(const float *p, int m)
{
    return m == VL ? V_LOAD(p) : _mm512_maskz_loadu_ps(v_first(m), p);
}

static ALWAYS_INLINE void v_put(float *p, VF v, int m)
{
    if (m == VL)
        V_STORE(p, v);
    else
        _mm512_mask_storeu_ps(p, v_first(m), v);
}

/* Lanes that do not count become `other`. */
static ALWAYS_INLINE VF v_only(VF v, VF other, int m)
{
    return m == VL ? v : V_SEL(v_first(m), v, other);
}

static ALWAYS_INLINE VM v_kept(const uint8_t *p, int m)
{
    __m128i b = _mm_maskz_loadu_epi8(v_first(m), p);
    return _mm_test_epi8_mask(b, b);
}

/* The nearest bf16 of each lane, in the lower half of it. */
static ALWAYS_INLINE VI v_bf16_bits(VF v)
{
    VI u = _mm512_castps_si512(v), half = _mm512_srli_epi32(u, 16);
    VI odd = _mm512_and_si512(half, _mm512_set1_epi32(1));
    VI near = _mm512_add_epi32(u, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
    return _mm512_mask_or_epi32(_mm512_srli_epi32(near, 16), V_NAN(v), half,
                                _mm512_set1_epi32(0x40));
}

static ALWAYS_INLINE void v_put_bf16(uint16_t *p, VF v, int m)
{
    _mm512_mask_cvtepi32_storeu_epi16(p, v_first(m), v_bf16_bits(v));
}

static ALWAYS_INLINE VF v_round_bf16(VF v)
{
    return _mm512_castsi512_ps(_mm512_slli_epi32(v_bf16_bits(v), 16));
}

static ALWAYS_INLINE VF v_get_bf16(const uint16_t *p, int m)
{
    __m256i h = _mm256_maskz_loadu_epi16(v_first(m), p);
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(h), 16));
}

static ALWAYS_INLINE void v_put_f16(uint16_t *p, VF v, int m)
{
    _mm256_mask_storeu_epi16(
        p, v_first(m), _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}

static ALWAYS_INLINE VF v_get_f16(const uint16_t *p, int m)
{
    return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(v_first(m), p));
}

/* Rows become columns. */
static ALWAYS_INLINE void v_transpose(VF r[VL])
{
    VF t[VL];
    UNROLLED
    for (int i = 0; i < VL; i += 2) {
        t[i] = _mm512_unpacklo_ps(r[i], r[i + 1]);
        t[i + 1] = _mm512_unpackhi_ps(r[i], r[i + 1]);
    }
#define PD(v) _mm512_castps_pd(v)
    UNROLLED
    for (int i = 0; i < VL; i += 4)
        for (int k = 0; k < 2; k++) {
            r[i + 2 * k] =
                _mm512_castpd_ps(_mm512_unpacklo_pd(PD(t[i + k]), PD(t[i + k + 2])));
            r[i + 2 * k + 1] =
                _mm512_castpd_ps(_mm512_unpackhi_pd(PD(t[i + k]), PD(t[i + k + 2])));
        }
#undef PD
    UNROLLED
    for (int i = 0; i < 4; i++) {
        t[i] = _mm512_shuffle_f32x4(r[i], r[i + 4], 0x88);
        t[i + 4] = _mm512_shuffle_f32x4(r[i], r[i + 4], 0xdd);
        t[i + 8] = _mm512_shuffle_f32x4(r[i + 8], r[i + 12], 0x88);
        t[i + 12] = _mm512_shuffle_f32x4(r[i + 8], r[i + 12], 0xdd);
    }
    UNROLLED
    for (int i = 0; i < 8; i++) {
        r[i] = _mm512_shuffle_f32x4(t[i], t[i + 8], 0x88);
        r[i + 8] = _mm512_shuffle_f32x4(t[i], t[i + 8], 0xdd);
    }
}

#define VI_SET1(x) _mm512_set1_epi32((int)(x))
#define VI_ADD(a, b) _mm512_add_epi32(a, b)
#define VI_XOR(a, b) _mm512_xor_si512(a, b)
#define VI_STORE(p, v) _mm512_storeu_si512(p, v)
#define VI_LOAD(p) _mm512_loadu_si512(p)
#define VI_ZIP_LOW32(a, b) _mm512_unpacklo_epi32(a, b)
#define VI_ZIP_HIGH32(a, b) _mm512_unpackhi_epi32(a, b)
#define VI_ZIP_LOW64(a, b) _mm512_unpacklo_epi64(a, b)
#define VI_ZIP_HIGH64(a, b) _mm512_unpackhi_epi64(a, b)
/* Unsigned a >= b */
#define VI_GE(a, b) _mm512_cmpge_epu32_mask(a, b)

/* Both halves of the 64-bit products of unsigned lanes. */
static ALWAYS_INLINE void vi_mul(VI a, VI b, VI *low, VI *high)
{
    VI even = _mm512_mul_epu32(a, b);
    VI odd = _mm512_mul_epu32(_mm512_srli_epi64(a, 32), _mm512_srli_epi64(b, 32));
    *low = _mm512_mask_mov_epi32(even, 0xaaaa, _mm512_slli_epi64(odd, 32));
    *high = _mm512_mask_mov_epi32(_mm512_srli_epi64(even, 32), 0xaaaa, odd);
}

#endif
