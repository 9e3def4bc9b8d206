/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled with -mavx512f,bw,vl,dq,vbmi. */
#include <immintrin.h>

#include "data/parquet/kernels.h"

#define WIDTH_MAX 25

/* 16 values lie in at most 50 bytes: one load, one byte permutation, one shift. */
static void pq_avx512_unpack(const uint8_t *in, unsigned width, uint32_t *out, size_t n)
{
    if (width > WIDTH_MAX) {
        pq_kernels_plain.unpack(in, width, out, n);
        return;
    }
    const __m512i lane =
        _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    __m512i bit = _mm512_mullo_epi32(lane, _mm512_set1_epi32((int)width));
    __m512i shift = _mm512_and_si512(bit, _mm512_set1_epi32(7));
    __m512i pick = _mm512_add_epi32(
        _mm512_mullo_epi32(_mm512_srli_epi32(bit, 3), _mm512_set1_epi32(0x01010101)),
        _mm512_set1_epi32(0x03020100));
    __m512i mask = _mm512_set1_epi32((int)((1u << width) - 1));
    size_t step = 2 * (size_t)width;
    for (size_t i = 0; i < n; i += 16, in += step) {
        __m512i bytes = _mm512_permutexvar_epi8(pick, _mm512_loadu_si512(in));
        __m512i v = _mm512_and_si512(_mm512_srlv_epi32(bytes, shift), mask);
        _mm512_storeu_si512(out + i, v);
    }
}

static uint32_t pq_avx512_max(const uint32_t *v, size_t n)
{
    __m512i m = _mm512_setzero_si512();
    size_t i = 0;
    for (; i + 16 <= n; i += 16)
        m = _mm512_max_epu32(m, _mm512_loadu_si512(v + i));
    __mmask16 rest = (__mmask16)((1u << (n - i)) - 1);
    m = _mm512_max_epu32(m, _mm512_maskz_loadu_epi32(rest, v + i));
    return _mm512_reduce_max_epu32(m);
}

static void pq_avx512_gather32(const uint32_t *from, const uint32_t *code, uint32_t *out,
                               size_t n)
{
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        __m512i c = _mm512_loadu_si512(code + i);
        _mm512_storeu_si512(out + i, _mm512_i32gather_epi32(c, from, 4));
    }
    for (; i < n; i++)
        out[i] = from[code[i]];
}

static void pq_avx512_gather64(const uint64_t *from, const uint32_t *code, uint64_t *out,
                               size_t n)
{
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        __m256i c = _mm256_loadu_si256((const __m256i *)(code + i));
        _mm512_storeu_si512(out + i, _mm512_i32gather_epi64(c, from, 8));
    }
    for (; i < n; i++)
        out[i] = from[code[i]];
}

static void pq_avx512_expand32(uint32_t *v, const uint8_t *bits, size_t n, size_t k)
{
    for (size_t i = (n + 15) / 16; i-- > 0;) {
        uint16_t b;
        memcpy(&b, bits + 2 * i, sizeof(b));
        size_t left = n - 16 * i;
        __mmask16 store = (__mmask16)(left >= 16 ? 0xffffu : (1u << left) - 1);
        b &= store;
        k -= (size_t)_mm_popcnt_u32(b);
        __m512i x = _mm512_maskz_expandloadu_epi32(b, v + k);
        _mm512_mask_storeu_epi32(v + 16 * i, store, x);
    }
}

static void pq_avx512_expand64(uint64_t *v, const uint8_t *bits, size_t n, size_t k)
{
    for (size_t i = (n + 7) / 8; i-- > 0;) {
        size_t left = n - 8 * i;
        __mmask8 store = (__mmask8)(left >= 8 ? 0xffu : (1u << left) - 1);
        __mmask8 b = bits[i] & store;
        k -= (size_t)_mm_popcnt_u32(b);
        __m512i x = _mm512_maskz_expandloadu_epi64(b, v + k);
        _mm512_mask_storeu_epi64(v + 8 * i, store, x);
    }
}

const struct pq_kernels pq_kernels_avx512 = {.name = "avx512",
                                             .unpack = pq_avx512_unpack,
                                             .max = pq_avx512_max,
                                             .gather32 = pq_avx512_gather32,
                                             .gather64 = pq_avx512_gather64,
                                             .expand32 = pq_avx512_expand32,
                                             .expand64 = pq_avx512_expand64};
