/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled with -mavx2. */
#include <immintrin.h>

#include "data/parquet/kernels.h"

/* Each of 8 lanes fetches the 4 bytes that its value begins in, then shifts by the 0 to 7
 * bits that are left: enough for 25 bits. The upper 4 lanes read from where value 4
 * begins, which is a whole byte or a half.
 */
#define WIDTH_MAX 25

static void pq_avx2_unpack(const uint8_t *in, unsigned width, uint32_t *out, size_t n)
{
    if (width > WIDTH_MAX) {
        pq_kernels_plain.unpack(in, width, out, n);
        return;
    }
    unsigned upper = 4 * width >> 3;
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    __m256i bit = _mm256_mullo_epi32(lane, _mm256_set1_epi32((int)width));
    __m256i shift = _mm256_and_si256(bit, _mm256_set1_epi32(7));
    int u = (int)upper;
    __m256i start = _mm256_sub_epi32(_mm256_srli_epi32(bit, 3),
                                     _mm256_setr_epi32(0, 0, 0, 0, u, u, u, u));
    __m256i pick =
        _mm256_add_epi32(_mm256_mullo_epi32(start, _mm256_set1_epi32(0x01010101)),
                         _mm256_set1_epi32(0x03020100));
    __m256i mask = _mm256_set1_epi32((int)((1u << width) - 1));
    for (size_t i = 0; i < n; i += 8) {
        const uint8_t *p = in + (i >> 3) * width;
        __m256i bytes = _mm256_inserti128_si256(
            _mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)p)),
            _mm_loadu_si128((const __m128i *)(p + upper)), 1);
        __m256i v = _mm256_srlv_epi32(_mm256_shuffle_epi8(bytes, pick), shift);
        _mm256_storeu_si256((__m256i *)(out + i), _mm256_and_si256(v, mask));
    }
}

static uint32_t pq_avx2_max(const uint32_t *v, size_t n)
{
    __m256i m = _mm256_setzero_si256();
    size_t i = 0;
    uint32_t lanes[8], best = 0;
    for (; i + 8 <= n; i += 8)
        m = _mm256_max_epu32(m, _mm256_loadu_si256((const __m256i *)(v + i)));
    _mm256_storeu_si256((__m256i *)lanes, m);
    for (size_t k = 0; k < 8; k++)
        best = lanes[k] > best ? lanes[k] : best;
    for (; i < n; i++)
        best = v[i] > best ? v[i] : best;
    return best;
}

static void pq_avx2_gather32(const uint32_t *from, const uint32_t *code, uint32_t *out,
                             size_t n)
{
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        uint32_t a = from[code[i]], b = from[code[i + 1]], c = from[code[i + 2]],
                 d = from[code[i + 3]];
        uint32_t e = from[code[i + 4]], f = from[code[i + 5]], g = from[code[i + 6]],
                 h = from[code[i + 7]];
        out[i] = a, out[i + 1] = b, out[i + 2] = c, out[i + 3] = d;
        out[i + 4] = e, out[i + 5] = f, out[i + 6] = g, out[i + 7] = h;
    }
    for (; i < n; i++)
        out[i] = from[code[i]];
}

static void pq_avx2_gather64(const uint64_t *from, const uint32_t *code, uint64_t *out,
                             size_t n)
{
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        uint64_t a = from[code[i]], b = from[code[i + 1]], c = from[code[i + 2]],
                 d = from[code[i + 3]];
        out[i] = a, out[i + 1] = b, out[i + 2] = c, out[i + 3] = d;
    }
    for (; i < n; i++)
        out[i] = from[code[i]];
}

/* Where eight bits are all set or all clear, eight values move at once. */
static void pq_avx2_expand32(uint32_t *v, const uint8_t *bits, size_t n, size_t k)
{
    size_t whole = n & ~(size_t)7;
    for (size_t i = n; i-- > whole;) {
        uint32_t set = pq_bit(bits, i);
        k -= set;
        v[i] = set ? v[k] : 0;
    }
    for (size_t i = whole; i > 0; i -= 8) {
        uint8_t b = bits[(i >> 3) - 1];
        uint32_t *to = v + i - 8;
        if (b == 0xff) {
            k -= 8;
            __m256i x = _mm256_loadu_si256((const __m256i *)(v + k));
            _mm256_storeu_si256((__m256i *)to, x);
            continue;
        }
        for (size_t j = 8; j-- > 0;) {
            uint32_t set = (uint32_t)b >> j & 1u;
            k -= set;
            to[j] = v[k] & (0 - set);
        }
    }
}

static void pq_avx2_expand64(uint64_t *v, const uint8_t *bits, size_t n, size_t k)
{
    size_t whole = n & ~(size_t)7;
    for (size_t i = n; i-- > whole;) {
        uint64_t set = pq_bit(bits, i);
        k -= set;
        v[i] = set ? v[k] : 0;
    }
    for (size_t i = whole; i > 0; i -= 8) {
        uint8_t b = bits[(i >> 3) - 1];
        uint64_t *to = v + i - 8;
        for (size_t j = 8; j-- > 0;) {
            uint64_t set = (uint64_t)b >> j & 1u;
            k -= set;
            to[j] = v[k] & (0 - set);
        }
    }
}

const struct pq_kernels pq_kernels_avx2 = {.name = "avx2",
                                           .unpack = pq_avx2_unpack,
                                           .max = pq_avx2_max,
                                           .gather32 = pq_avx2_gather32,
                                           .gather64 = pq_avx2_gather64,
                                           .expand32 = pq_avx2_expand32,
                                           .expand64 = pq_avx2_expand64};
