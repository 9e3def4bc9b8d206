/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled for AVX-512 with VBMI2; called only where the machine has them. The positions
 * of a block come from one byte-wise compress of 0..63, widened sixteen at a time.
 */
#include <immintrin.h>

#include "data/csv/scan_private.h"

static inline struct masks masks_of(const unsigned char *p, unsigned char delim,
                                    unsigned char quote)
{
    __m512i v = _mm512_loadu_si512(p);
    struct masks m = {
        .line = _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8('\n')),
        .quote = _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8((char)quote)),
        .high = _mm512_movepi8_mask(v),
    };
    m.sep = m.line | _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8((char)delim));
    return m;
}

static inline __m512i iota64(void)
{
    return _mm512_set_epi8(63, 62, 61, 60, 59, 58, 57, 56, 55, 54, 53, 52, 51, 50, 49, 48,
                           47, 46, 45, 44, 43, 42, 41, 40, 39, 38, 37, 36, 35, 34, 33, 32,
                           31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16,
                           15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
}

static inline size_t emit(uint32_t *out, uint32_t at, uint64_t mask)
{
    size_t n = (size_t)POPCOUNT64(mask);
    __m512i where = _mm512_maskz_compress_epi8(mask, iota64());
    __m512i base = _mm512_set1_epi32((int)(at + 1));
    _mm512_storeu_si512(
        out, _mm512_add_epi32(base, _mm512_cvtepu8_epi32(_mm512_castsi512_si128(where))));
    if (LIKELY(n <= 16))
        return n;
    _mm512_storeu_si512(
        out + 16, _mm512_add_epi32(
                      base, _mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32(where, 1))));
    _mm512_storeu_si512(
        out + 32, _mm512_add_epi32(
                      base, _mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32(where, 2))));
    _mm512_storeu_si512(
        out + 48, _mm512_add_epi32(
                      base, _mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32(where, 3))));
    return n;
}

SCAN_BODY(csv_scan_avx512)
