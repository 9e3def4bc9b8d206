/* SPDX-License-Identifier: Apache-2.0 */
/* A block is its length as a varint, then elements: literals, and copies of bytes that
 * came before. The low two bits of an element's first byte say which. Copies are made 16
 * bytes at a time while both sides have that much to spare, else exactly.
 */
#include "io/snappy.h"

#include <string.h>

#include "base/compiler.h"

#define WIDE 16

struct block {
    const uint8_t *in, *in_end;
    uint8_t *out, *start, *out_end;
};

/* Bytes that the length takes, 0 when it is malformed or not `want`. */
static size_t read_length(const uint8_t *in, size_t n, size_t want)
{
    uint64_t v = 0;
    for (size_t i = 0; i < 5 && i < n; i++) {
        v |= (uint64_t)(in[i] & 0x7f) << (7 * i);
        if (!(in[i] & 0x80))
            return v == want ? i + 1 : 0;
    }
    return 0;
}

static inline bool literal(struct block *b, unsigned tag)
{
    size_t n = (tag >> 2) + 1;
    if (LIKELY(n <= WIDE && b->in_end - b->in >= WIDE && b->out_end - b->out >= WIDE)) {
        memcpy(b->out, b->in, WIDE);
        b->in += n;
        b->out += n;
        return true;
    }
    if (n > 60) { /* the length stands in the next 1 to 4 bytes */
        size_t bytes = n - 60;
        uint32_t len = 0;
        if ((size_t)(b->in_end - b->in) < bytes)
            return false;
        memcpy(&len, b->in, bytes);
        b->in += bytes;
        n = (size_t)len + 1;
    }
    if (n > (size_t)(b->in_end - b->in) || n > (size_t)(b->out_end - b->out))
        return false;
    memcpy(b->out, b->in, n);
    b->in += n;
    b->out += n;
    return true;
}

static inline bool snappy_copy(struct block *b, size_t offset, size_t n)
{
    uint8_t *to = b->out;
    if (UNLIKELY(offset == 0 || offset > (size_t)(to - b->start) ||
                 n > (size_t)(b->out_end - to)))
        return false;
    const uint8_t *from = to - offset;
    b->out += n;
    if (LIKELY(offset >= WIDE && b->out_end - b->out >= WIDE)) {
        for (size_t i = 0; i < n; i += WIDE)
            memcpy(to + i, from + i, WIDE);
        return true;
    }
    if (offset >= 8 && b->out_end - b->out >= 8) {
        for (size_t i = 0; i < n; i += 8)
            memcpy(to + i, from + i, 8);
        return true;
    }
    for (size_t i = 0; i < n; i++) /* the copy may overlap itself: a pattern repeats */
        to[i] = from[i];
    return true;
}

/* A copy with `bytes` (1, 2 or 4) of its offset behind the tag. */
static inline bool copy_element(struct block *b, unsigned tag)
{
    size_t bytes = (tag & 3) == 3 ? 4 : tag & 3, n = (tag >> 2) + 1;
    uint32_t offset = 0;
    if (UNLIKELY((size_t)(b->in_end - b->in) < bytes))
        return false;
    if (bytes == 1) {
        offset = (tag >> 5) << 8 | b->in[0];
        n = 4 + (tag >> 2 & 7);
    } else if (bytes == 2) {
        uint16_t o;
        memcpy(&o, b->in, 2);
        offset = o;
    } else {
        memcpy(&offset, b->in, 4);
    }
    b->in += bytes;
    return snappy_copy(b, offset, n);
}

bool snappy_block(const uint8_t *in, size_t n, uint8_t *out, size_t size)
{
    size_t head = read_length(in, n, size);
    if (!head)
        return false;
    struct block b = {.in = in + head,
                      .in_end = in + n,
                      .out = out,
                      .start = out,
                      .out_end = out + size};
    while (b.in < b.in_end) {
        unsigned tag = *b.in++;
        if (!(tag & 3 ? copy_element(&b, tag) : literal(&b, tag)))
            return false;
    }
    return b.out == b.out_end;
}
