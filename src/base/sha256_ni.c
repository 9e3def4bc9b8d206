/* SPDX-License-Identifier: Apache-2.0 */
#include <immintrin.h>

#include "base/sha256_private.h"

/* Four rounds with the words `w`; the state is kept as ABEF and CDGH. */
static inline void four_rounds(__m128i *abef, __m128i *cdgh, __m128i w, int group)
{
    __m128i sum = _mm_add_epi32(
        w, _mm_loadu_si128((const __m128i *)(const void *)(sha256_rounds + 4 * group)));
    *cdgh = _mm_sha256rnds2_epu32(*cdgh, *abef, sum);
    *abef = _mm_sha256rnds2_epu32(*abef, *cdgh, _mm_shuffle_epi32(sum, 0x0e));
}

/* The words of four groups on, from those of the last four. */
static inline __m128i next_words(__m128i a, __m128i b, __m128i c, __m128i d)
{
    __m128i sum = _mm_add_epi32(_mm_sha256msg1_epu32(a, b), _mm_alignr_epi8(d, c, 4));
    return _mm_sha256msg2_epu32(sum, d);
}

static inline void one_block(__m128i *abef, __m128i *cdgh, const unsigned char *p)
{
    const __m128i big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
    __m128i w[4];
    for (int i = 0; i < 4; i++)
        w[i] = _mm_shuffle_epi8(
            _mm_loadu_si128((const __m128i *)(const void *)(p + 16 * i)), big_endian);
    for (int i = 0; i < 16; i++) {
        four_rounds(abef, cdgh, w[i % 4], i);
        if (i < 12)
            w[i % 4] =
                next_words(w[i % 4], w[(i + 1) % 4], w[(i + 2) % 4], w[(i + 3) % 4]);
    }
}

void sha256_blocks_ni(uint32_t h[8], const unsigned char *p, size_t n)
{
    __m128i *state = (__m128i *)(void *)h;
    __m128i cdab = _mm_shuffle_epi32(_mm_loadu_si128(state), 0xb1);
    __m128i efgh = _mm_shuffle_epi32(_mm_loadu_si128(state + 1), 0x1b);
    __m128i abef = _mm_alignr_epi8(cdab, efgh, 8);
    __m128i cdgh = _mm_blend_epi16(efgh, cdab, 0xf0);
    for (; n; n--, p += 64) {
        __m128i a = abef, c = cdgh;
        one_block(&abef, &cdgh, p);
        abef = _mm_add_epi32(abef, a);
        cdgh = _mm_add_epi32(cdgh, c);
    }
    __m128i feba = _mm_shuffle_epi32(abef, 0x1b), dchg = _mm_shuffle_epi32(cdgh, 0xb1);
    _mm_storeu_si128(state, _mm_blend_epi16(feba, dchg, 0xf0));
    _mm_storeu_si128(state + 1, _mm_alignr_epi8(dchg, feba, 8));
}
