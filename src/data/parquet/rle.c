/* SPDX-License-Identifier: Apache-2.0 */
/* Decoding of the RLE/bit-packing hybrid. The state is the current run, a repeated value
 * or a stretch of packed groups of 8; a call takes as much of it as it can and goes on
 * with the next. Packed values are unpacked by the kernels of the CPU. For levels of 0
 * and 1, which become validity bitmaps, bits are copied as bits without being spread out
 * first.
 */
#include "data/parquet/rle.h"

#include "base/compiler.h"

void rle_init(struct rle *r, const struct pq_kernels *kernels, const void *p, size_t n,
              unsigned width)
{
    *r = (struct rle){.kernels = kernels, .p = p, .width = width};
    r->end = r->p + n;
    if (width == 0 && n == 0)
        r->repeat = UINT64_MAX; /* nothing needs to be stored */
}

static bool run_header(struct rle *r, uint64_t *header)
{
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 35 && r->p < r->end; shift += 7) {
        uint8_t b = *r->p++;
        v |= (uint64_t)(b & 0x7f) << shift;
        if (!(b & 0x80)) {
            *header = v;
            return true;
        }
    }
    return false;
}

static bool next_run(struct rle *r)
{
    uint64_t header;
    if (!run_header(r, &header))
        return false;
    size_t left = (size_t)(r->end - r->p);
    if (r->width == 0) { /* zeros of either kind take no bytes, but are counted */
        r->repeat = header & 1 ? (header >> 1) * 8 : header >> 1;
        return true;
    }
    if (header & 1) {
        uint64_t groups = header >> 1;
        r->packed = r->p;
        r->at = 0;
        r->packed_left = groups * 8;
        if (groups * r->width > left) { /* some writers cut the padding of the last one */
            r->packed_left = left * 8 / r->width;
            r->p = r->end;
        } else {
            r->p += groups * r->width;
        }
        return true;
    }
    size_t bytes = (r->width + 7) / 8;
    if (bytes > left)
        return false;
    r->value = 0;
    memcpy(&r->value, r->p, bytes);
    if (r->width < 32 && r->value >> r->width)
        return false;
    r->p += bytes;
    r->repeat = header >> 1;
    return true;
}

static void advance_packed(struct rle *r, size_t n)
{
    size_t at = r->at + n;
    r->packed += (at >> 3) * r->width;
    r->at = at & 7;
    r->packed_left -= n;
}

static void packed_u32(struct rle *r, uint32_t *out, size_t n)
{
    size_t head = r->at ? 8 - r->at : 0;
    if (head > n)
        head = n;
    for (size_t i = 0; i < head; i++)
        out[i] = pq_unpack_one(r->packed, r->width, r->at + i);
    advance_packed(r, head);
    if (n == head)
        return;
    r->kernels->unpack(r->packed, r->width, out + head, n - head);
    advance_packed(r, n - head);
}

size_t rle_u32(struct rle *r, uint32_t *out, size_t n)
{
    size_t done = 0;
    while (done < n) {
        size_t want = n - done;
        if (r->packed_left) {
            size_t k = want < r->packed_left ? want : (size_t)r->packed_left;
            packed_u32(r, out + done, k);
            done += k;
        } else if (r->repeat) {
            size_t k = want < r->repeat ? want : (size_t)r->repeat;
            for (size_t i = 0; i < k; i++)
                out[done + i] = r->value;
            r->repeat -= k;
            done += k;
        } else if (!next_run(r)) {
            break;
        }
    }
    return done;
}

size_t rle_u8(struct rle *r, uint8_t *out, size_t n)
{
    size_t done = 0;
    uint32_t wide[256 + PQ_PAD / 4];
    while (done < n) {
        size_t want = n - done;
        if (r->packed_left) {
            size_t k = want < r->packed_left ? want : (size_t)r->packed_left;
            k = k < 256 ? k : 256;
            packed_u32(r, wide, k);
            for (size_t i = 0; i < k; i++)
                out[done + i] = (uint8_t)wide[i];
            done += k;
        } else if (r->repeat) {
            size_t k = want < r->repeat ? want : (size_t)r->repeat;
            memset(out + done, (int)r->value, k);
            r->repeat -= k;
            done += k;
        } else if (!next_run(r)) {
            break;
        }
    }
    return done;
}

size_t rle_skip(struct rle *r, size_t n)
{
    size_t done = 0;
    while (done < n) {
        size_t want = n - done;
        if (r->packed_left) {
            size_t k = want < r->packed_left ? want : (size_t)r->packed_left;
            advance_packed(r, k);
            done += k;
        } else if (r->repeat) {
            size_t k = want < r->repeat ? want : (size_t)r->repeat;
            r->repeat -= k;
            done += k;
        } else if (!next_run(r)) {
            break;
        }
    }
    return done;
}

void bits_set(uint8_t *bits, size_t at, size_t n)
{
    if (n <= 56) { /* one word holds them, whatever bit they begin at */
        uint64_t word = pq_load64(bits + (at >> 3)) | ((1ull << n) - 1) << (at & 7);
        memcpy(bits + (at >> 3), &word, sizeof(word));
        return;
    }
    while (n && (at & 7)) {
        bits[at >> 3] |= (uint8_t)(1u << (at & 7));
        at++;
        n--;
    }
    memset(bits + (at >> 3), 0xff, n >> 3);
    at += n & ~(size_t)7;
    if (n & 7)
        bits[at >> 3] |= (uint8_t)((1u << (n & 7)) - 1);
}

size_t bits_count(const uint8_t *bits, size_t n)
{
    size_t i = 0, count = 0;
    for (; i + 64 <= n; i += 64)
        count += (size_t)__builtin_popcountll(pq_load64(bits + i / 8));
    for (; i < n; i++)
        count += pq_bit(bits, i);
    return count;
}

/* n bits from place `from` of `in` to place `at` of `out`; 56 at a time, so that the bits
 * before and behind fit into one word. Reads up to 8 bytes past the last bit.
 */
static size_t copy_bits(uint8_t *out, size_t at, const uint8_t *in, size_t from, size_t n)
{
    size_t count = 0;
    while (n) {
        size_t k = n < 56 ? n : 56;
        uint64_t v = pq_load64(in + (from >> 3)) >> (from & 7) & ((1ull << k) - 1);
        count += (size_t)__builtin_popcountll(v);
        uint64_t old = pq_load64(out + (at >> 3));
        old |= v << (at & 7);
        memcpy(out + (at >> 3), &old, sizeof(old));
        at += k;
        from += k;
        n -= k;
    }
    return count;
}

size_t rle_bits(struct rle *r, uint8_t *bits, size_t at, size_t n, size_t *set)
{
    size_t done = 0;
    while (done < n) {
        size_t want = n - done;
        if (r->packed_left) {
            size_t k = want < r->packed_left ? want : (size_t)r->packed_left;
            *set += copy_bits(bits, at + done, r->packed, r->at, k);
            advance_packed(r, k);
            done += k;
        } else if (r->repeat) {
            size_t k = want < r->repeat ? want : (size_t)r->repeat;
            if (r->value) {
                bits_set(bits, at + done, k);
                *set += k;
            }
            r->repeat -= k;
            done += k;
        } else if (!next_run(r)) {
            break;
        }
    }
    return done;
}

static size_t msb_first(struct levels *l, uint8_t *out, size_t n)
{
    size_t i = 0;
    for (; i < n && l->bit + l->width <= l->bits; i++) {
        unsigned v = 0;
        for (unsigned k = 0; k < l->width; k++, l->bit++)
            v = v << 1 | ((unsigned)l->p[l->bit >> 3] >> (7 - (l->bit & 7)) & 1u);
        out[i] = (uint8_t)v;
    }
    return i;
}

size_t levels_u8(struct levels *l, uint8_t *out, size_t n)
{
    return l->is_rle ? rle_u8(&l->rle, out, n) : msb_first(l, out, n);
}

size_t levels_bits(struct levels *l, uint8_t *bits, size_t at, size_t n, size_t *set)
{
    size_t done = 0;
    if (l->is_rle)
        return rle_bits(&l->rle, bits, at, n, set);
    while (done < n) {
        uint8_t one;
        if (!msb_first(l, &one, 1))
            break;
        if (one) {
            bits_set(bits, at + done, 1);
            (*set)++;
        }
        done++;
    }
    return done;
}
