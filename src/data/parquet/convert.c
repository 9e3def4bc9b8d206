/* SPDX-License-Identifier: Apache-2.0 */
/* From stored values to those of a column: one function per enum pq_convert. Values that
 * need no change are decoded straight into the column; the others go through a scratch
 * buffer and are converted in a second loop. Decimals become doubles, rounded once;
 * INT96 times become nanoseconds, cut to what 64 bits hold.
 */
#include <math.h>

#include "data/parquet/leaf.h"

#define NS_PER_DAY 86400000000000ll
#define JULIAN_EPOCH 2440588 /* 1970-01-01 */

static double power_of_ten(int32_t scale)
{
    double p = 1;
    for (int32_t i = scale < 0 ? -scale : scale; i > 0; i--)
        p *= 10;
    return p;
}

static double scaled(double v, double power, int32_t scale)
{
    return scale < 0 ? v * power : v / power;
}

/* Big-endian two's complement of any length, rounded once when it fits 64 bits. */
static double big_endian(const uint8_t *p, size_t n)
{
    if (n == 0)
        return 0;
    if (n <= 8) {
        uint64_t v = p[0] & 0x80 ? UINT64_MAX : 0;
        for (size_t i = 0; i < n; i++)
            v = v << 8 | p[i];
        return (double)(int64_t)v;
    }
    bool negative = p[0] & 0x80;
    double v = 0;
    for (size_t i = 0; i < n; i++)
        v = v * 256 + (negative ? (uint8_t)~p[i] : p[i]);
    return negative ? -v - 1 : v;
}

static float half(const uint8_t *p)
{
    unsigned bits = (unsigned)p[0] | (unsigned)p[1] << 8;
    int exponent = (int)(bits >> 10 & 0x1f);
    float fraction = (float)(bits & 0x3ff), v;
    if (exponent == 31)
        v = fraction != 0 ? NAN : INFINITY;
    else if (exponent == 0)
        v = ldexpf(fraction, -24);
    else
        v = ldexpf(1024.0f + fraction, exponent - 25);
    return bits & 0x8000 ? -v : v;
}

/* The nearest time that 64 bits can hold: they end in the years 1677 and 2262. */
static int64_t int96(const uint8_t *p)
{
    int64_t ns = (int64_t)pq_load64(p);
    int64_t days = (int64_t)pq_load32(p + 8) - JULIAN_EPOCH, sum;
    days += ns / NS_PER_DAY;
    ns %= NS_PER_DAY;
    if (days < 0 &&
        ns > 0) { /* towards zero first, so that the extremes do not overflow */
        days++;
        ns -= NS_PER_DAY;
    }
    if (__builtin_mul_overflow(days, NS_PER_DAY, &sum) ||
        __builtin_add_overflow(sum, ns, &sum))
        return days < 0 ? INT64_MIN : INT64_MAX;
    return sum;
}

static enum rc values_room(struct column *to, int64_t at, size_t n, size_t width,
                           struct err *err)
{
    return column_mem_reserve(&to->own_values, ((size_t)at + n) * width,
                              (size_t)at * width, err);
}

static enum rc offsets_room(struct column *to, int64_t at, size_t n, struct err *err)
{
    bool first = !to->own_offsets.p;
    enum rc rc = column_mem_reserve(&to->own_offsets, ((size_t)at + n + 1) * 4,
                                    ((size_t)at + 1) * 4, err);
    if (!rc && (first || at == 0))
        ((int32_t *)to->own_offsets.p)[0] = 0;
    return rc;
}

/* Values of one width, wherever they come from: r->scratch. */
static enum rc to_scratch(struct pq_leaf_reader *r, size_t n, struct err *err)
{
    size_t width = r->values.width;
    if (n > r->max_bytes / width)
        return err_coded(err, RC_INVAL, E1090,
                         "more than %zu bytes in one batch: use a smaller one",
                         r->max_bytes);
    enum rc rc = column_mem_reserve(&r->scratch, n * width, 0, err);
    if (rc)
        return rc;
    if (!pq_values_are_text(&r->values))
        return pq_values_fixed(&r->values, n, r->scratch.p, err);
    rc = offsets_room(&r->text, 0, n, err);
    if (!rc)
        rc = pq_values_text(&r->values, n, &r->text, 0, r->max_bytes, err);
    if (rc)
        return rc;
    const int32_t *offsets = r->text.own_offsets.p;
    for (size_t i = 0; i < n; i++)
        if ((size_t)(offsets[i + 1] - offsets[i]) != width)
            return err_coded(err, RC_FORMAT, E1006,
                             "a value of %d bytes where %zu belong",
                             (int)(offsets[i + 1] - offsets[i]), width);
    if (n)
        memcpy(r->scratch.p, r->text.own_text.p, n * width);
    return RC_OK;
}

static enum rc fill_as_is(struct pq_leaf_reader *r, struct column *to, int64_t at,
                          size_t n, struct err *err)
{
    size_t width = type_width(r->leaf->type->id);
    enum rc rc = values_room(to, at, n, width, err);
    if (rc)
        return rc;
    return pq_values_fixed(&r->values, n, (char *)to->own_values.p + (size_t)at * width,
                           err);
}

static enum rc fill_bytes(struct pq_leaf_reader *r, struct column *to, int64_t at,
                          size_t n, struct err *err)
{
    enum rc rc = offsets_room(to, at, n, err);
    return rc ? rc : pq_values_text(&r->values, n, to, at, r->max_bytes, err);
}

static enum rc fill_fixed_bytes(struct pq_leaf_reader *r, struct column *to, int64_t at,
                                size_t n, struct err *err)
{
    size_t width = r->values.width;
    size_t limit = r->max_bytes < INT32_MAX ? r->max_bytes : INT32_MAX;
    if ((size_t)at + n > limit / width)
        return err_coded(err, RC_INVAL, E1090,
                         "more than %zu bytes of text in one batch: use a smaller one",
                         limit);
    enum rc rc = to_scratch(r, n, err);
    if (!rc)
        rc = offsets_room(to, at, n, err);
    if (!rc)
        rc = column_mem_reserve(&to->own_text, ((size_t)at + n) * width,
                                (size_t)at * width, err);
    if (rc)
        return rc;
    memcpy((char *)to->own_text.p + (size_t)at * width, r->scratch.p, n * width);
    int32_t *ends = (int32_t *)to->own_offsets.p + at + 1;
    for (size_t i = 0; i < n; i++)
        ends[i] = (int32_t)(((size_t)at + i + 1) * width);
    return RC_OK;
}

static enum rc fill_bytes_decimal(struct pq_leaf_reader *r, double *to, size_t n,
                                  struct err *err)
{
    int32_t scale = r->leaf->type->scale;
    double power = power_of_ten(scale);
    enum rc rc = offsets_room(&r->text, 0, n, err);
    if (!rc)
        rc = pq_values_text(&r->values, n, &r->text, 0, r->max_bytes, err);
    if (rc)
        return rc;
    const int32_t *offsets = r->text.own_offsets.p;
    for (size_t i = 0; i < n; i++)
        to[i] = scaled(big_endian((const uint8_t *)r->text.own_text.p + offsets[i],
                                  (size_t)(offsets[i + 1] - offsets[i])),
                       power, scale);
    return RC_OK;
}

static void decimals(const struct pq_leaf_reader *r, double *to, size_t n)
{
    const uint8_t *from = r->scratch.p;
    size_t width = r->values.width;
    int32_t scale = r->leaf->type->scale;
    double power = power_of_ten(scale);
    for (size_t i = 0; i < n; i++) {
        const uint8_t *p = from + i * width;
        double v;
        if (r->leaf->convert == PQ_I32_DECIMAL)
            v = (double)(int32_t)pq_load32(p);
        else if (r->leaf->convert == PQ_I64_DECIMAL)
            v = (double)(int64_t)pq_load64(p);
        else
            v = big_endian(p, width);
        to[i] = scaled(v, power, scale);
    }
}

enum rc pq_leaf_fill(struct pq_leaf_reader *r, struct column *to, int64_t at, size_t n,
                     struct err *err)
{
    enum pq_convert convert = r->leaf->convert;
    if (convert == PQ_AS_IS)
        return fill_as_is(r, to, at, n, err);
    if (convert == PQ_BYTES)
        return fill_bytes(r, to, at, n, err);
    if (convert == PQ_FIXED_BYTES)
        return fill_fixed_bytes(r, to, at, n, err);
    enum rc rc = values_room(to, at, n, type_width(r->leaf->type->id), err);
    if (!rc && convert == PQ_BYTES_DECIMAL)
        return fill_bytes_decimal(r, (double *)to->own_values.p + at, n, err);
    if (!rc)
        rc = to_scratch(r, n, err);
    if (rc)
        return rc;
    const uint8_t *from = r->scratch.p;
    if (convert == PQ_INT96_TIME)
        for (size_t i = 0; i < n; i++)
            ((int64_t *)to->own_values.p)[(size_t)at + i] = int96(from + 12 * i);
    else if (convert == PQ_HALF)
        for (size_t i = 0; i < n; i++)
            ((float *)to->own_values.p)[(size_t)at + i] = half(from + 2 * i);
    else
        decimals(r, (double *)to->own_values.p + at, n);
    return RC_OK;
}
