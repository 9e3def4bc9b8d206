/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled with -mavx2 -mbmi -mpopcnt; called only where the machine has them. */
#include <immintrin.h>

#include "data/csv/scan_private.h"

static inline uint64_t eq64(__m256i a, __m256i b, unsigned char c)
{
    __m256i w = _mm256_set1_epi8((char)c);
    uint32_t lo = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(a, w));
    uint32_t hi = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(b, w));
    return (uint64_t)hi << 32 | lo;
}

static inline struct masks masks_of(const unsigned char *p, unsigned char delim,
                                    unsigned char quote)
{
    __m256i a = _mm256_loadu_si256((const __m256i *)(const void *)p);
    __m256i b = _mm256_loadu_si256((const __m256i *)(const void *)(p + 32));
    struct masks m = {.line = eq64(a, b, '\n'), .quote = eq64(a, b, quote)};
    m.sep = m.line | eq64(a, b, delim);
    m.high = (uint64_t)(uint32_t)_mm256_movemask_epi8(b) << 32 |
             (uint32_t)_mm256_movemask_epi8(a);
    return m;
}

#define emit csv_emit_scalar
SCAN_BODY(csv_scan_avx2)
