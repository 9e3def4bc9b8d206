/* SPDX-License-Identifier: Apache-2.0 */
/* A decimal is a 64-bit mantissa and a power of ten. When the mantissa fits 53 bits and
 * the power is one that a double holds exactly, one multiplication or division is the
 * correctly rounded result (Clinger). Where long double has 64 bits, the same holds for
 * 19 digits and powers up to 27 in that type, and rounding it to double is right unless
 * it lies beside the middle between two doubles. What remains goes to strtod: it is slow
 * and right. A table of 128-bit powers (Eisel-Lemire) would serve those too; it was left
 * out because real data hardly gets there.
 */
#include "data/csv/num.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <strings.h>

#include "base/compiler.h"

#define TEXT_MAX 1100 /* longest number; 767 digits can matter */
#define SHORT_MAX 56  /* longest text that is tried the fast way */
#define EXPONENT_MAX \
    100000 /* beyond that every mantissa of TEXT_MAX digits is 0 or inf */

struct decimal {
    uint64_t mantissa; /* meaningless when there are more than 19 digits */
    int digits;        /* of the mantissa, without leading zeros */
    int64_t power;
    bool negative;
};

static inline unsigned digit_at(const char *p)
{
    return (unsigned)(unsigned char)*p - '0';
}

/* Takes digits off the front; counts those that are not leading zeros. */
static inline const char *take_digits(const char *p, const char *end, struct decimal *d)
{
    while (end - p >= 8) {
        uint64_t w = num_load8(p);
        if (!num_all_digits(w))
            break;
        if (d->mantissa == 0 && w == 0) {
            p += 8;
            continue;
        }
        if (d->digits == 0)
            d->digits = 8 - CTZ64(w) / 8;
        else
            d->digits += 8;
        d->mantissa = d->mantissa * 100000000 + num_eight(w);
        p += 8;
    }
    for (; p < end && digit_at(p) < 10; p++) {
        d->mantissa = d->mantissa * 10 + digit_at(p);
        d->digits += d->digits || digit_at(p);
    }
    return p;
}

static bool take_exponent(const char *p, const char *end, struct decimal *d)
{
    bool negative = false;
    int64_t e = 0;
    if (p < end && (*p == '+' || *p == '-'))
        negative = *p++ == '-';
    if (p == end)
        return false;
    for (; p < end && digit_at(p) < 10; p++)
        if (e < EXPONENT_MAX)
            e = e * 10 + digit_at(p);
    d->power += negative ? -e : e;
    return p == end;
}

static bool parse_decimal(const char *p, size_t n, struct decimal *out)
{
    struct decimal d = {0};
    const char *end = p + n;
    if (p < end && (*p == '-' || *p == '+'))
        d.negative = *p++ == '-';
    const char *whole = p;
    p = take_digits(p, end, &d);
    ptrdiff_t seen = p - whole;
    if (p < end && *p == '.') {
        const char *fraction = ++p;
        p = take_digits(p, end, &d);
        d.power = -(int64_t)(p - fraction);
        seen += p - fraction;
    }
    if (seen == 0)
        return false;
    *out = d;
    if (p == end)
        return true;
    return (*p == 'e' || *p == 'E') && take_exponent(p + 1, end, out);
}

/* Up to eight digits at p, of which `room` bytes belong to the number: their count. The
 * carry of the addition can only spoil bytes behind the first one that is no digit.
 */
static inline unsigned some_digits(const char *p, ptrdiff_t room, uint64_t *value)
{
    uint64_t w = num_load8(p);
    uint64_t odd = (w | (w + 0x0606060606060606u)) & 0xf0f0f0f0f0f0f0f0u;
    if (room < 8)
        odd |= ~(uint64_t)0 << 8 * room;
    unsigned n = odd ? (unsigned)CTZ64(odd) / 8 : 8;
    *value = n ? num_eight(w << 8 * (8 - n)) : 0;
    return n;
}

static inline const char *take_padded(const char *p, const char *end, struct decimal *d)
{
    static const uint32_t powers[9] = {1,      10,      100,      1000,     10000,
                                       100000, 1000000, 10000000, 100000000};
    unsigned n;
    do {
        uint64_t value;
        n = p < end ? some_digits(p, end - p, &value) : 0;
        if (n == 0)
            break;
        d->mantissa = d->mantissa * powers[n] + value;
        d->digits += (int)n;
        p += n;
    } while (n == 8);
    return p;
}

/* Numbers of up to 19 digits, leading zeros included; others are left to the slow way. */
static inline bool parse_padded(const char *p, size_t n, struct decimal *out)
{
    struct decimal d = {0};
    const char *end = p + n;
    if (n > SHORT_MAX)
        return false;
    if (p < end && (*p == '-' || *p == '+'))
        d.negative = *p++ == '-';
    p = take_padded(p, end, &d);
    if (p < end && *p == '.') {
        const char *fraction = ++p;
        p = take_padded(p, end, &d);
        d.power = fraction - p;
    }
    if (d.digits == 0 || d.digits > 19)
        return false;
    *out = d;
    if (p == end)
        return true;
    return (*p == 'e' || *p == 'E') && take_exponent(p + 1, end, out);
}

static bool parse_word(const char *p, size_t n, double *out)
{
    bool negative = n && *p == '-';
    if (n && (*p == '-' || *p == '+')) {
        p++;
        n--;
    }
    double v;
    if (n == 3 && strncasecmp(p, "nan", 3) == 0)
        v = (double)NAN;
    else if ((n == 3 && strncasecmp(p, "inf", 3) == 0) ||
             (n == 8 && strncasecmp(p, "infinity", 8) == 0))
        v = (double)INFINITY;
    else
        return false;
    *out = negative ? -v : v;
    return true;
}

static const double exact_f64[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                   1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                   1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

#if LDBL_MANT_DIG == 64
static const long double exact_ld[] = {1e0L,  1e1L,  1e2L,  1e3L,  1e4L,  1e5L,  1e6L,
                                       1e7L,  1e8L,  1e9L,  1e10L, 1e11L, 1e12L, 1e13L,
                                       1e14L, 1e15L, 1e16L, 1e17L, 1e18L, 1e19L, 1e20L,
                                       1e21L, 1e22L, 1e23L, 1e24L, 1e25L, 1e26L, 1e27L};

static inline bool extended_f64(const struct decimal *d, double *out)
{
    if (d->digits > 19 || d->power > 27 || d->power < -27)
        return false;
    long double v = (long double)d->mantissa;
    v = d->power < 0 ? v / exact_ld[-d->power] : v * exact_ld[d->power];
    uint64_t bits;
    memcpy(&bits, &v, sizeof(bits));
    unsigned low = (unsigned)(bits & 0x7ff);
    if (low >= 0x3ff && low <= 0x401)
        return false;
    *out = (double)v;
    return true;
}
#else
static inline bool extended_f64(const struct decimal *d, double *out)
{
    return false;
}
#endif

/* Magnitude without sign; false where only the slow way is right. */
static inline bool fast_f64(const struct decimal *d, double *out)
{
    if (d->digits == 0 || (d->mantissa == 0 && d->digits <= 19)) {
        *out = 0;
        return true;
    }
    if (d->digits <= 19 && d->mantissa <= (uint64_t)1 << 53 && d->power >= -22 &&
        d->power <= 22) {
        double v = (double)d->mantissa;
        *out = d->power < 0 ? v / exact_f64[-d->power] : v * exact_f64[d->power];
        return true;
    }
    return extended_f64(d, out);
}

static bool as_text(const char *p, size_t n, char text[TEXT_MAX + 1])
{
    if (n > TEXT_MAX)
        return false;
    memcpy(text, p, n);
    text[n] = '\0';
    return true;
}

/* The grammar was checked before, so that only decimal digits get here. */
static enum num slow_f64(const char *p, size_t n, double *out)
{
    char text[TEXT_MAX + 1];
    if (!as_text(p, n, text))
        return NUM_BAD;
    double v = strtod(text, NULL);
    if (isinf(v))
        return NUM_RANGE;
    *out = v;
    return NUM_OK;
}

static enum num slow_f32(const char *p, size_t n, float *out)
{
    char text[TEXT_MAX + 1];
    if (!as_text(p, n, text))
        return NUM_BAD;
    float v = strtof(text, NULL);
    if (isinf(v))
        return NUM_RANGE;
    *out = v;
    return NUM_OK;
}

static enum num long_f64(const char *p, size_t n, double *out)
{
    struct decimal d;
    double v;
    if (!parse_decimal(p, n, &d))
        return parse_word(p, n, out) ? NUM_OK : NUM_BAD;
    if (!fast_f64(&d, &v))
        return slow_f64(p, n, out);
    *out = d.negative ? -v : v;
    return NUM_OK;
}

enum num num_f64_padded(const char *p, size_t n, double *out)
{
    struct decimal d;
    double v;
    if (UNLIKELY(!parse_padded(p, n, &d) || !fast_f64(&d, &v)))
        return long_f64(p, n, out);
    *out = d.negative ? -v : v;
    return NUM_OK;
}

enum num num_f64(const char *p, size_t n, double *out)
{
    char text[SHORT_MAX + NUM_PAD] = {0};
    if (n > SHORT_MAX)
        return long_f64(p, n, out);
    memcpy(text, p, n);
    return num_f64_padded(text, n, out);
}

/* Rounding a correctly rounded double once more is right unless that double lies exactly
 * between two floats.
 */
static inline bool rounds_twice(double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof(bits));
    return (bits & 0x1fffffff) == 0x10000000;
}

enum num num_f32_padded(const char *p, size_t n, float *out)
{
    struct decimal d;
    double v;
    if (!parse_padded(p, n, &d) && !parse_decimal(p, n, &d)) {
        if (!parse_word(p, n, &v))
            return NUM_BAD;
        *out = (float)v;
        return NUM_OK;
    }
    if (!fast_f64(&d, &v) || rounds_twice(v) || (v < 2 * (double)FLT_MIN && v > 0))
        return slow_f32(p, n, out);
    float f = (float)v;
    if (isinf(f))
        return NUM_RANGE;
    *out = d.negative ? -f : f;
    return NUM_OK;
}

enum num num_f32(const char *p, size_t n, float *out)
{
    char text[SHORT_MAX + NUM_PAD] = {0};
    if (n > SHORT_MAX)
        return num_f32_padded(p, n, out); /* which does not read behind long ones */
    memcpy(text, p, n);
    return num_f32_padded(text, n, out);
}

enum num num_i64(const char *p, size_t n, int64_t *out)
{
    struct decimal d = {0};
    const char *end = p + n;
    if (p < end && (*p == '-' || *p == '+'))
        d.negative = *p++ == '-';
    if (p == end || take_digits(p, end, &d) != end)
        return NUM_BAD;
    if (d.digits > 19 || d.mantissa > (uint64_t)INT64_MAX + d.negative)
        return NUM_RANGE;
    *out = d.negative ? (int64_t)(0 - d.mantissa) : (int64_t)d.mantissa;
    return NUM_OK;
}

enum num num_i32(const char *p, size_t n, int32_t *out)
{
    int64_t v;
    enum num r = num_i64(p, n, &v);
    if (r == NUM_OK && (v < INT32_MIN || v > INT32_MAX))
        return NUM_RANGE;
    if (r == NUM_OK)
        *out = (int32_t)v;
    return r;
}
