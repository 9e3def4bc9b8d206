/* SPDX-License-Identifier: Apache-2.0 */
/* The key is seed, stream and step mixed into 64 bits; the counter is the block's number
 * and the row, so that sequences of rows never overlap.
 */
#include "base/rng.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#define ROUNDS 10

void rng_block(const uint32_t key[2], const uint32_t counter[4], uint32_t out[4])
{
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    uint32_t k0 = key[0], k1 = key[1];
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t a = (uint64_t)c0 * 0xd2511f53u, b = (uint64_t)c2 * 0xcd9e8d57u;
        c0 = (uint32_t)(b >> 32) ^ c1 ^ k0;
        c2 = (uint32_t)(a >> 32) ^ c3 ^ k1;
        c1 = (uint32_t)b;
        c3 = (uint32_t)a;
        k0 += 0x9e3779b9u;
        k1 += 0xbb67ae85u;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

/* A bijection of 64 bits in which every input bit moves every output bit. */
static uint64_t scramble(uint64_t v)
{
    v = (v ^ v >> 32) * 0xd6e8feb86659fd93;
    v = (v ^ v >> 32) * 0xd6e8feb86659fd93;
    return v ^ v >> 32;
}

void rng_init(struct rng *r, uint64_t seed, uint64_t stream, uint64_t step, uint64_t row)
{
    uint64_t key = scramble(seed + 0x9e3779b97f4a7c15);
    key = scramble((key ^ stream) + 0x9e3779b97f4a7c15);
    key = scramble((key ^ step) + 0x9e3779b97f4a7c15);
    *r = (struct rng){.key = {(uint32_t)key, (uint32_t)(key >> 32)}, .row = row};
}

void rng_seek(struct rng *r, uint64_t word)
{
    r->word = word;
    r->filled = false;
    r->has_spare = false;
}

static void block_at(const struct rng *r, uint64_t number, uint32_t out[4])
{
    const uint32_t counter[4] = {(uint32_t)number, (uint32_t)(number >> 32),
                                 (uint32_t)r->row, (uint32_t)(r->row >> 32)};
    rng_block(r->key, counter, out);
}

uint32_t rng_u32(struct rng *r)
{
    if (!r->filled || r->word % 4 == 0) {
        block_at(r, r->word / 4, r->block);
        r->filled = true;
    }
    return r->block[r->word++ % 4];
}

uint64_t rng_u64(struct rng *r)
{
    uint64_t low = rng_u32(r);
    return low | (uint64_t)rng_u32(r) << 32;
}

static float to_f32(uint32_t word)
{
    return (float)(word >> 8) * 0x1p-24f;
}

float rng_f32(struct rng *r)
{
    return to_f32(rng_u32(r));
}

double rng_f64(struct rng *r)
{
    return (double)(rng_u64(r) >> 11) * 0x1p-53;
}

/* The product's upper half is uniform once the few lowest ones are drawn again. */
static uint32_t below32(struct rng *r, uint32_t n)
{
    uint64_t product = (uint64_t)rng_u32(r) * n;
    if ((uint32_t)product < n) {
        uint32_t least = (0 - n) % n;
        while ((uint32_t)product < least)
            product = (uint64_t)rng_u32(r) * n;
    }
    return (uint32_t)(product >> 32);
}

uint64_t rng_below(struct rng *r, uint64_t n)
{
    assert(n > 0);
    if (n <= UINT32_MAX)
        return below32(r, (uint32_t)n);
    uint64_t mask = n - 1, v;
    for (int by = 1; by < 64; by *= 2)
        mask |= mask >> by;
    do {
        v = rng_u64(r) & mask;
    } while (v >= n);
    return v;
}

/* ln(u) for 0 < u <= 1: exponent apart, then 2 artanh((m - 1) / (m + 1)). */
static double logarithm(double u)
{
    int e;
    double m = frexp(u, &e);
    if (m < 0.70710678118654752) {
        m *= 2;
        e--;
    }
    static const double c[] = {1,        1.0 / 3,  1.0 / 5,  1.0 / 7,  1.0 / 9, 1.0 / 11,
                               1.0 / 13, 1.0 / 15, 1.0 / 17, 1.0 / 19, 1.0 / 21};
    double s = (m - 1) / (m + 1), s2 = s * s, sum = 0;
    for (int k = 10; k >= 0; k--)
        sum = sum * s2 + c[k];
    return 2 * s * sum + e * 0.69314718055994531;
}

/* Sine and cosine of 2 pi u for 0 <= u < 1: the nearest quarter apart, then Taylor. */
static void circle(double u, double *sine, double *cosine)
{
    static const double c[] = {
        1,           -1.0 / 2,       1.0 / 24,        -1.0 / 720,
        1.0 / 40320, -1.0 / 3628800, 1.0 / 479001600, -1.0 / 87178291200.0};
    static const double s[] = {1,
                               -1.0 / 6,
                               1.0 / 120,
                               -1.0 / 5040,
                               1.0 / 362880,
                               -1.0 / 39916800,
                               1.0 / 6227020800.0,
                               -1.0 / 1307674368000.0};
    int quarter = (int)(u * 4 + 0.5);
    double x = (u * 4 - quarter) * 1.57079632679489662, x2 = x * x, sx = 0, cx = 0;
    for (int k = 7; k >= 0; k--) {
        sx = sx * x2 + s[k];
        cx = cx * x2 + c[k];
    }
    sx *= x;
    const double at[4][2] = {{sx, cx}, {cx, -sx}, {-sx, -cx}, {-cx, sx}};
    *sine = at[quarter % 4][0];
    *cosine = at[quarter % 4][1];
}

/* Box and Muller: two uniform words to two independent normal numbers. */
static void normal_pair(uint32_t a, uint32_t b, double *first, double *second)
{
    double sine, cosine;
    double radius = sqrt(-2 * logarithm(((double)a + 0.5) * 0x1p-32));
    circle((double)b * 0x1p-32, &sine, &cosine);
    *first = radius * cosine;
    *second = radius * sine;
}

double rng_normal(struct rng *r)
{
    if (r->has_spare) {
        r->has_spare = false;
        return r->spare;
    }
    uint32_t a = rng_u32(r), b = rng_u32(r);
    double first;
    normal_pair(a, b, &first, &r->spare);
    r->has_spare = true;
    return first;
}

void rng_fill_u32(struct rng *r, uint32_t *out, size_t n)
{
    size_t i = 0;
    while (i < n && r->word % 4 != 0)
        out[i++] = rng_u32(r);
    for (; n - i >= 4; i += 4, r->word += 4)
        block_at(r, r->word / 4, out + i);
    while (i < n)
        out[i++] = rng_u32(r);
}

void rng_fill_uniform(struct rng *r, float lo, float hi, float *out, size_t n)
{
    uint32_t words[64];
    for (size_t i = 0; i < n;) {
        size_t part = n - i < 64 ? n - i : 64;
        rng_fill_u32(r, words, part);
        for (size_t k = 0; k < part; k++)
            out[i + k] = lo + (hi - lo) * to_f32(words[k]);
        i += part;
    }
}

void rng_fill_normal(struct rng *r, float mean, float deviation, float *out, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (float)((double)mean + (double)deviation * rng_normal(r));
}

void rng_shuffle(struct rng *r, int64_t *at, size_t n)
{
    for (size_t i = n; i > 1; i--) {
        size_t k = (size_t)rng_below(r, i);
        int64_t other = at[k];
        at[k] = at[i - 1];
        at[i - 1] = other;
    }
}
