/* SPDX-License-Identifier: Apache-2.0 */
#include <immintrin.h>

#include "data/csv/scan_private.h"

static inline uint64_t eq64(const __m128i v[4], unsigned char c)
{
    __m128i w = _mm_set1_epi8((char)c);
    uint64_t m = 0;
    for (unsigned i = 0; i < 4; i++)
        m |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(v[i], w)) << 16 * i;
    return m;
}

static inline struct masks masks_of(const unsigned char *p, unsigned char delim,
                                    unsigned char quote)
{
    __m128i v[4];
    struct masks m = {0};
    for (unsigned i = 0; i < 4; i++) {
        v[i] = _mm_loadu_si128((const __m128i *)(const void *)(p + 16 * i));
        m.high |= (uint64_t)(uint32_t)_mm_movemask_epi8(v[i]) << 16 * i;
    }
    m.line = eq64(v, '\n');
    m.sep = m.line | eq64(v, delim);
    m.quote = eq64(v, quote);
    return m;
}

#define emit csv_emit_scalar
SCAN_BODY(csv_scan_sse2)
