/* SPDX-License-Identifier: Apache-2.0 */
/* hash_std() is MurmurHash64A in the form libstdc++ gives it; hash_farm() is the variant
 * "na" of FarmHash, whose constants are primes near random bits and whose cases go by
 * length: up to 16, 32, 64 bytes, and blocks of 64 beyond.
 */
#include "base/hash.h"

#include <string.h>

#include <xxhash.h>
#ifdef __SSE4_2__
#include <nmmintrin.h>
#endif

#include "base/crc_tables.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "words are read in little-endian order"
#endif

static uint64_t word64(const unsigned char *p)
{
    uint64_t w;
    memcpy(&w, p, sizeof(w));
    return w;
}

static uint64_t word32(const unsigned char *p)
{
    uint32_t w;
    memcpy(&w, p, sizeof(w));
    return w;
}

static uint64_t rotate(uint64_t v, int by)
{
    return v >> by | v << (64 - by);
}

static uint64_t fold(uint64_t v)
{
    return v ^ v >> 47;
}

/* The last `left` (1..7) of `n` bytes, little-endian, without a loop over them: loads
 * that overlap bring the same bytes to the same place.
 */
static uint64_t last_bytes(const unsigned char *s, size_t left, size_t n)
{
    if (n >= 8)
        return word64(s + left - 8) >> (64 - 8 * left);
    if (left >= 4)
        return word32(s) | word32(s + left - 4) << 8 * (left - 4);
    return s[0] | (uint64_t)s[left / 2] << 8 * (left / 2) |
           (uint64_t)s[left - 1] << 8 * (left - 1);
}

uint64_t hash_std(const void *p, size_t n)
{
    const uint64_t mul = 0xc6a4a7935bd1e995, seed = 0xc70f6907;
    const unsigned char *s = p;
    uint64_t h = seed ^ n * mul;
    size_t left = n;
    for (; left >= 8; left -= 8, s += 8)
        h = (h ^ fold(word64(s) * mul) * mul) * mul;
    if (left)
        h = (h ^ last_bytes(s, left, n)) * mul;
    return fold(fold(h) * mul);
}

static const uint64_t k0 = 0xc3a5c85c97cb3127;
static const uint64_t k1 = 0xb492b66fbe98f273;
static const uint64_t k2 = 0x9ae16a3b2f90404f;

static uint64_t mix(uint64_t u, uint64_t v, uint64_t mul)
{
    uint64_t a = fold((u ^ v) * mul);
    return fold((v ^ a) * mul) * mul;
}

static uint64_t farm_to_16(const unsigned char *s, size_t n)
{
    uint64_t mul = k2 + n * 2;
    if (n >= 8) {
        uint64_t a = word64(s) + k2, b = word64(s + n - 8);
        return mix(rotate(b, 37) * mul + a, (rotate(a, 25) + b) * mul, mul);
    }
    if (n >= 4)
        return mix(n + (word32(s) << 3), word32(s + n - 4), mul);
    if (n == 0)
        return k2;
    uint64_t y = s[0] + ((uint64_t)s[n / 2] << 8), z = n + ((uint64_t)s[n - 1] << 2);
    return fold(y * k2 ^ z * k0) * k2;
}

static uint64_t farm_to_32(const unsigned char *s, size_t n)
{
    uint64_t mul = k2 + n * 2;
    uint64_t a = word64(s) * k1, b = word64(s + 8);
    uint64_t c = word64(s + n - 8) * mul, d = word64(s + n - 16) * k2;
    return mix(rotate(a + b, 43) + rotate(c, 30) + d, a + rotate(b + k2, 18) + c, mul);
}

static uint64_t farm_to_64(const unsigned char *s, size_t n)
{
    uint64_t mul = k2 + n * 2;
    uint64_t a = word64(s) * k2, b = word64(s + 8);
    uint64_t c = word64(s + n - 8) * mul, d = word64(s + n - 16) * k2;
    uint64_t y = rotate(a + b, 43) + rotate(c, 30) + d;
    uint64_t z = mix(y, a + rotate(b + k2, 18) + c, mul);
    uint64_t e = word64(s + 16) * mul, f = word64(s + 24);
    uint64_t g = (y + word64(s + n - 32)) * mul, h = (z + word64(s + n - 24)) * mul;
    return mix(rotate(e + f, 43) + rotate(g, 30) + h, e + rotate(f + a, 18) + g, mul);
}

struct pair {
    uint64_t a, b;
};

/* 32 bytes under two seeds. */
static struct pair weak(const unsigned char *s, uint64_t a, uint64_t b)
{
    uint64_t last = word64(s + 24);
    a += word64(s);
    b = rotate(b + a + last, 21);
    uint64_t first = a;
    a += word64(s + 8) + word64(s + 16);
    b += rotate(a, 44);
    return (struct pair){a + last, b + first};
}

struct farm {
    uint64_t x, y, z;
    struct pair v, w;
};

/* 64 bytes. The last block is taken with another multiplier and weight 9. */
static void farm_block(struct farm *h, const unsigned char *s, uint64_t mul,
                       uint64_t weight)
{
    uint64_t x = rotate(h->x + h->y + h->v.a + word64(s + 8), 37) * mul;
    uint64_t y = rotate(h->y + h->v.b + word64(s + 48), 42) * mul;
    x ^= h->w.b * weight;
    y += h->v.a * weight + word64(s + 40);
    uint64_t z = rotate(h->z + h->w.a, 33) * mul;
    h->v = weak(s, h->v.b * mul, x + h->w.a);
    h->w = weak(s + 32, z + h->w.b, y + word64(s + 16));
    h->x = z;
    h->y = y;
    h->z = x;
}

static uint64_t farm_long(const unsigned char *s, size_t n)
{
    const uint64_t seed = 81;
    struct farm h = {.y = seed * k1 + 113};
    h.x = seed * k2 + word64(s);
    h.z = fold(h.y * k2 + 113) * k2;
    size_t blocks = (n - 1) / 64;
    for (size_t i = 0; i < blocks; i++)
        farm_block(&h, s + 64 * i, k1, 1);
    uint64_t mul = k1 + ((h.z & 0xff) << 1);
    h.w.a += (n - 1) & 63;
    h.v.a += h.w.a;
    h.w.a += h.v.a;
    farm_block(&h, s + n - 64, mul, 9);
    return mix(mix(h.v.a, h.w.a, mul) + fold(h.y) * k0 + h.z,
               mix(h.v.b, h.w.b, mul) + h.x, mul);
}

uint64_t hash_farm(const void *p, size_t n)
{
    if (n <= 16)
        return farm_to_16(p, n);
    if (n <= 32)
        return farm_to_32(p, n);
    return n <= 64 ? farm_to_64(p, n) : farm_long(p, n);
}

uint64_t hash_xxh3(const void *p, size_t n)
{
    return XXH3_64bits(p, n);
}

uint64_t hash_xxh3_seeded(const void *p, size_t n, uint64_t seed)
{
    return XXH3_64bits_withSeed(p, n, seed);
}

static uint32_t crc_bytes(const uint32_t table[256], uint32_t crc, const unsigned char *p,
                          size_t n)
{
    crc = ~crc;
    for (size_t i = 0; i < n; i++)
        crc = crc >> 8 ^ table[(crc ^ p[i]) & 0xff];
    return ~crc;
}

uint32_t hash_crc32(uint32_t crc, const void *p, size_t n)
{
    return crc_bytes(crc32_table, crc, p, n);
}

uint32_t hash_crc32c_plain(uint32_t crc, const void *p, size_t n)
{
    return crc_bytes(crc32c_table, crc, p, n);
}

#ifdef __SSE4_2__
uint32_t hash_crc32c(uint32_t crc, const void *p, size_t n)
{
    const unsigned char *s = p;
    uint64_t c = (uint32_t)~crc;
    for (; n >= 8; n -= 8, s += 8)
        c = _mm_crc32_u64(c, word64(s));
    for (; n; n--, s++)
        c = _mm_crc32_u8((uint32_t)c, *s);
    return ~(uint32_t)c;
}
#else
uint32_t hash_crc32c(uint32_t crc, const void *p, size_t n)
{
    return hash_crc32c_plain(crc, p, n);
}
#endif

/* Polynomials over two elements modulo that of CRC-32C, as checksums have them: the highest
 * bit is the coefficient of x^0.
 */
#define CRC32C_POLY UINT32_C(0x82f63b78)
#define CRC_ONE UINT32_C(0x80000000)

static uint32_t crc_times(uint32_t a, uint32_t b)
{
    uint32_t product = 0;
    for (; a; a <<= 1) {
        if (a & CRC_ONE)
            product ^= b;
        b = b >> 1 ^ (b & 1 ? CRC32C_POLY : 0);
    }
    return product;
}

/* n bytes behind a stretch multiply what it adds by x^(8n). */
uint32_t hash_crc32c_join(uint32_t first, uint32_t second, uint64_t n)
{
    uint32_t square = CRC_ONE >> 8; /* x^8 */
    for (; n; n >>= 1, square = crc_times(square, square))
        if (n & 1)
            first = crc_times(square, first);
    return first ^ second;
}
