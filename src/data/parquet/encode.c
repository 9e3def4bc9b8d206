/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of at least 8 equal values become run lengths, everything between is packed in
 * groups of 8. A packed stretch can only end on a whole group, so a run gives its leading
 * values to the group before it.
 */
#include "data/parquet/encode.h"

#include <string.h>

#define RUN_MIN 8

unsigned pq_bits_for(uint32_t max)
{
    unsigned w = 0;
    for (; max; max >>= 1)
        w++;
    return w;
}

size_t pq_rle_bound(size_t n, unsigned width)
{
    size_t groups = n / 8 + 1, runs = n / RUN_MIN; /* and a packed stretch between each */
    return groups * width + 10 * (2 * runs + 3);
}

static uint8_t *put_varint(uint8_t *out, uint64_t v)
{
    for (; v >= 0x80; v >>= 7)
        *out++ = (uint8_t)(v | 0x80);
    *out++ = (uint8_t)v;
    return out;
}

static uint8_t *put_run(uint8_t *out, uint32_t value, size_t n, unsigned width)
{
    size_t bytes = (width + 7) / 8;
    out = put_varint(out, (uint64_t)n << 1);
    memcpy(out, &value, bytes);
    return out + bytes;
}

/* n values, padded with zeros to whole groups. */
static uint8_t *put_packed(uint8_t *out, const uint32_t *v, size_t n, unsigned width)
{
    size_t groups = (n + 7) / 8;
    uint64_t acc = 0;
    unsigned bits = 0;
    out = put_varint(out, (uint64_t)groups << 1 | 1);
    for (size_t i = 0; i < groups * 8; i++) {
        acc |= (uint64_t)(i < n ? v[i] : 0) << bits;
        bits += width;
        for (; bits >= 8; bits -= 8, acc >>= 8)
            *out++ = (uint8_t)acc;
    }
    return out;
}

static size_t run_at(const uint32_t *v, size_t n)
{
    size_t k = 1;
    while (k < n && v[k] == v[0])
        k++;
    return k;
}

size_t pq_rle_encode(const uint32_t *v, size_t n, unsigned width, uint8_t *out)
{
    uint8_t *p = out;
    size_t start = 0, i = 0; /* [start, i) waits to be packed */
    while (i < n) {
        size_t run = run_at(v + i, n - i);
        size_t borrow = (8 - (i - start) % 8) % 8;
        if (run < RUN_MIN + borrow) {
            i += run;
            continue;
        }
        if (i > start)
            p = put_packed(p, v + start, i + borrow - start, width);
        else
            borrow = 0;
        p = put_run(p, v[i], run - borrow, width);
        i += run;
        start = i;
    }
    if (i > start)
        p = put_packed(p, v + start, i - start, width);
    return (size_t)(p - out);
}
