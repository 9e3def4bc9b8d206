/* SPDX-License-Identifier: Apache-2.0 */
/* data/csv/num.h - text to numbers, for readers that do it a billion times.
 *
 * The whole of p[0..n) must be the number; nothing outside it is read. Results are
 * correctly rounded (nearest, ties to even), whatever the locale's habits, as strtod
 * does. *out is written only for NUM_OK.
 */
#ifndef DATA_CSV_NUM_H
#define DATA_CSV_NUM_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum num {
    NUM_OK,
    NUM_BAD,   /* not a number */
    NUM_RANGE, /* a number that the type cannot hold */
};

/* [+-]digits */
enum num num_i64(const char *p, size_t n, int64_t *out);
enum num num_i32(const char *p, size_t n, int32_t *out);
/* [+-]digits[.digits][e[+-]digits], where the point may have digits on one side only;
 * inf, infinity and nan in any case. Too large is NUM_RANGE, too small is 0.
 */
enum num num_f64(const char *p, size_t n, double *out);
enum num num_f32(const char *p, size_t n, float *out);
/* The same where NUM_PAD bytes behind the text may be read: no copy is needed. */
#define NUM_PAD 8
enum num num_f64_padded(const char *p, size_t n, double *out);
enum num num_f32_padded(const char *p, size_t n, float *out);

/* The value of eight ASCII digits, first one in the lowest byte, each already less '0'.
 */
static inline uint64_t num_eight(uint64_t w)
{
    w = w * 10 + (w >> 8);
    return (((w & 0x000000ff000000ffu) * (100u + (1000000ull << 32))) +
            ((w >> 16 & 0x000000ff000000ffu) * (1u + (10000ull << 32)))) >>
           32;
}

/* Whether all bytes, each already less '0' (or xor '0'), are 0..9. */
static inline int num_all_digits(uint64_t w)
{
    return ((w | (w + 0x0606060606060606u)) & 0xf0f0f0f0f0f0f0f0u) == 0;
}

static inline uint64_t num_load8(const void *p)
{
    uint64_t w;
    memcpy(&w, p, sizeof(w));
    return w ^ 0x3030303030303030u;
}

#endif
