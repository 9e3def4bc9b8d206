/* SPDX-License-Identifier: Apache-2.0 */
/* Eight fields at a time: their starts and ends come in one gather, their text in
 * another, and the digits are shifted so that the last one is always in the top byte.
 */
#include <immintrin.h>

#include "base/compiler.h"
#include "data/csv/csv_private.h"

struct eight {
    __m512i value;
    __mmask8 filled, plain;
};

static inline struct eight parse_eight(const unsigned char *text, __m512i pair)
{
    const __m512i one = _mm512_set1_epi64(1), eight = _mm512_set1_epi64(8);
    __m512i start = _mm512_and_si512(pair, _mm512_set1_epi64(0xffffffff));
    __m512i end = _mm512_srli_epi64(pair, 32);
    __m512i len = _mm512_sub_epi64(_mm512_sub_epi64(end, start), one);
    __m512i w = _mm512_i64gather_epi64(start, (const void *)text, 1);
    __mmask8 minus = _mm512_cmpeq_epi64_mask(_mm512_and_si512(w, _mm512_set1_epi64(0xff)),
                                             _mm512_set1_epi64('-'));
    __m512i digits = _mm512_mask_sub_epi64(len, minus, len, one);
    w = _mm512_xor_si512(w, _mm512_set1_epi8('0'));
    w = _mm512_mask_srli_epi64(w, minus, w, 8);
    /* shifts of 64 give zero; a negative or larger count is not plain anyway */
    w = _mm512_sllv_epi64(w, _mm512_slli_epi64(_mm512_sub_epi64(eight, digits), 3));
    __m512i odd = _mm512_or_si512(w, _mm512_add_epi8(w, _mm512_set1_epi8(6)));
    __mmask8 bad = _mm512_test_epi64_mask(odd, _mm512_set1_epi8((char)0xf0));
    __mmask8 fits =
        _mm512_cmple_epu64_mask(digits, _mm512_mask_sub_epi64(eight, minus, eight, one));
    __mmask8 empty = _mm512_testn_epi64_mask(digits, digits);
    __m512i v = _mm512_maddubs_epi16(w, _mm512_set1_epi16(0x010a));
    v = _mm512_madd_epi16(v, _mm512_set1_epi32(0x00010064));
    v = _mm512_add_epi64(_mm512_mul_epu32(v, _mm512_set1_epi64(10000)),
                         _mm512_srli_epi64(v, 32));
    v = _mm512_mask_sub_epi64(v, minus, _mm512_setzero_si512(), v);
    return (struct eight){
        .value = v,
        .filled = _mm512_test_epi64_mask(len, len),
        .plain = (__mmask8)(fits & ~bad & ~(empty & minus)),
    };
}

static inline __m512i pairs_of(const uint32_t *t, size_t stride, size_t n)
{
    __m512i step = _mm512_mullo_epi64(_mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0),
                                      _mm512_set1_epi64((long long)stride));
    if (LIKELY(n >= 8))
        return _mm512_i64gather_epi64(step, (const void *)t, 4);
    __mmask8 some = (__mmask8)((1u << n) - 1);
    return _mm512_mask_i64gather_epi64(_mm512_set1_epi64((long long)1 << 32), some, step,
                                       (const void *)t, 4);
}

#define INTS(name, T, store)                                                      \
    size_t name(const struct csv_rows *rows, void *values, uint64_t *valid,       \
                uint32_t *slow)                                                   \
    {                                                                             \
        const uint32_t *t = rows->table;                                          \
        size_t stride = rows->stride, n = rows->n, n_slow = 0;                    \
        unsigned char *bits = (unsigned char *)valid;                             \
        T *out = values;                                                          \
        if (n % 64)                                                               \
            valid[n / 64] = 0;                                                    \
        for (size_t i = 0; i < n; i += 8) {                                       \
            __mmask8 some = (__mmask8)(n - i >= 8 ? 0xffu : (1u << (n - i)) - 1); \
            struct eight e =                                                      \
                parse_eight(rows->text, pairs_of(t + i * stride, stride, n - i)); \
            store(out + i, some, e.value);                                        \
            bits[i / 8] = (unsigned char)(e.filled & some);                       \
            for (unsigned bad = some & ~(unsigned)e.plain & 0xffu; UNLIKELY(bad); \
                 bad &= bad - 1)                                                  \
                slow[n_slow++] = (uint32_t)(i + (size_t)CTZ64(bad));              \
        }                                                                         \
        return n_slow;                                                            \
    }
INTS(csv_ints_i32_avx512, int32_t, _mm512_mask_cvtepi64_storeu_epi32)
INTS(csv_ints_i64_avx512, int64_t, _mm512_mask_storeu_epi64)
