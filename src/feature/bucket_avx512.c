/* SPDX-License-Identifier: Apache-2.0 */
/* Eight texts of eight bytes at a time through hash_std_words() and bucket_modulo(). */
#include <immintrin.h>

#include "feature/bucket.h"

static inline __m512i shift_xor(__m512i v)
{
    return _mm512_xor_si512(v, _mm512_srli_epi64(v, 47));
}

static inline __m512i hash_eight(__m512i word)
{
    const __m512i mul = _mm512_set1_epi64((long long)0xc6a4a7935bd1e995u);
    const __m512i first =
        _mm512_set1_epi64((long long)(0xc70f6907u ^ 8 * 0xc6a4a7935bd1e995u));
    __m512i w = shift_xor(_mm512_mullo_epi64(word, mul));
    __m512i h = _mm512_xor_si512(first, _mm512_mullo_epi64(w, mul));
    h = shift_xor(_mm512_mullo_epi64(h, mul));
    return shift_xor(_mm512_mullo_epi64(h, mul));
}

/* The upper halves of the 128-bit products, from products of 32 bits. */
static inline __m512i mul_high(__m512i a, __m512i b)
{
    const __m512i low = _mm512_set1_epi64(0xffffffff);
    __m512i a1 = _mm512_srli_epi64(a, 32), b1 = _mm512_srli_epi64(b, 32);
    __m512i t = _mm512_add_epi64(_mm512_mul_epu32(a1, b),
                                 _mm512_srli_epi64(_mm512_mul_epu32(a, b), 32));
    __m512i u = _mm512_add_epi64(_mm512_mul_epu32(a, b1), _mm512_and_si512(t, low));
    t = _mm512_add_epi64(_mm512_srli_epi64(t, 32), _mm512_srli_epi64(u, 32));
    return _mm512_add_epi64(_mm512_mul_epu32(a1, b1), t);
}

void bucket_eights_avx512(const struct fg_bucket *b, const char *text, int64_t n,
                          int64_t *ids)
{
    const __m512i magic = _mm512_set1_epi64((long long)b->magic);
    const __m512i size = _mm512_set1_epi64((long long)b->n);
    const __m128i shift = _mm_cvtsi32_si128((int)b->shift);
    int64_t i = 0;
    for (; b->n >= 2 && i + 8 <= n; i += 8) {
        __m512i h = hash_eight(_mm512_loadu_si512(text + 8 * i));
        __m512i t = mul_high(h, magic);
        __m512i q = _mm512_srli_epi64(_mm512_sub_epi64(h, t), 1);
        q = _mm512_srl_epi64(_mm512_add_epi64(q, t), shift);
        _mm512_storeu_si512(ids + i, _mm512_sub_epi64(h, _mm512_mullo_epi64(q, size)));
    }
    bucket_eights_ref(b, text + 8 * i, n - i, ids + i);
}
