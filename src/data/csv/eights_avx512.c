/* SPDX-License-Identifier: Apache-2.0 */
/* Eight fields at a time whose texts have eight bytes or none, as hashed categories do:
 * what is there is moved together in a register and stored at once.
 */
#include <immintrin.h>

#include "base/compiler.h"
#include "data/csv/csv_private.h"

/* Sums of the first one, two, ... eight of them. */
static inline __m256i running_sums(__m256i v)
{
    const __m256i by_1 = _mm256_setr_epi32(0, 0, 1, 2, 3, 4, 5, 6);
    const __m256i by_2 = _mm256_setr_epi32(0, 0, 0, 1, 2, 3, 4, 5);
    const __m256i by_4 = _mm256_setr_epi32(0, 0, 0, 0, 0, 1, 2, 3);
    v = _mm256_add_epi32(v, _mm256_maskz_permutexvar_epi32(0xfe, by_1, v));
    v = _mm256_add_epi32(v, _mm256_maskz_permutexvar_epi32(0xfc, by_2, v));
    return _mm256_add_epi32(v, _mm256_maskz_permutexvar_epi32(0xf0, by_4, v));
}

size_t csv_eights_avx512(const struct csv_rows *rows, char *to, int32_t *offsets)
{
    const __m512i step = _mm512_mullo_epi64(_mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0),
                                            _mm512_set1_epi64((long long)rows->stride));
    const __m512i low = _mm512_set1_epi64(0xffffffff), one = _mm512_set1_epi64(1);
    const uint32_t *t = rows->table;
    size_t i = 0;
    for (; i + 8 <= rows->n; i += 8, t += 8 * rows->stride) {
        __m512i pair = _mm512_i64gather_epi64(step, (const void *)t, 4);
        __m512i start = _mm512_and_si512(pair, low);
        __m512i len =
            _mm512_sub_epi64(_mm512_sub_epi64(_mm512_srli_epi64(pair, 32), start), one);
        __mmask8 full = _mm512_cmpeq_epi64_mask(len, _mm512_set1_epi64(8));
        if (UNLIKELY((full | _mm512_testn_epi64_mask(len, len)) != 0xff))
            break;
        __m512i words = _mm512_mask_i64gather_epi64(_mm512_setzero_si512(), full, start,
                                                    (const void *)rows->text, 1);
        unsigned n = (unsigned)POPCOUNT64(full);
        _mm512_mask_storeu_epi64(to + offsets[i], (__mmask8)((1u << n) - 1),
                                 _mm512_maskz_compress_epi64(full, words));
        __m256i ends = running_sums(_mm512_cvtepi64_epi32(len));
        _mm256_storeu_si256((void *)(offsets + i + 1),
                            _mm256_add_epi32(ends, _mm256_set1_epi32(offsets[i])));
    }
    return i;
}
