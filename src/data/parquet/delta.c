/* SPDX-License-Identifier: Apache-2.0 */
/* Sums wrap, as the format says, which also makes 32-bit columns come out right. */
#include "data/parquet/delta.h"

#define MINIS_MAX 4096
#define BLOCK_MAX (1u << 28)

static bool pq_delta_varint(const uint8_t **p, const uint8_t *end, uint64_t *out)
{
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 64 && *p < end; shift += 7) {
        uint8_t b = *(*p)++;
        v |= (uint64_t)(b & 0x7f) << shift;
        if (!(b & 0x80)) {
            *out = v;
            return true;
        }
    }
    return false;
}

static uint64_t zigzag(uint64_t v)
{
    return v >> 1 ^ (0 - (v & 1));
}

bool delta_init(struct delta *d, const struct pq_kernels *kernels, const void *p,
                size_t n)
{
    uint64_t block, first;
    *d = (struct delta){.kernels = kernels, .p = p};
    d->end = d->p + n;
    if (!pq_delta_varint(&d->p, d->end, &block) ||
        !pq_delta_varint(&d->p, d->end, &d->minis) ||
        !pq_delta_varint(&d->p, d->end, &d->left) ||
        !pq_delta_varint(&d->p, d->end, &first))
        return false;
    if (!d->minis || d->minis > MINIS_MAX || !block || block > BLOCK_MAX ||
        block % d->minis || block / d->minis % 32 || d->left > INT32_MAX)
        return false;
    d->per_mini = block / d->minis;
    d->last = zigzag(first);
    d->mini = d->minis; /* the first block is still to be opened */
    return true;
}

static bool next_mini(struct delta *d)
{
    if (++d->mini >= d->minis) {
        uint64_t min;
        if (!pq_delta_varint(&d->p, d->end, &min) || d->minis > (size_t)(d->end - d->p))
            return false;
        d->min = zigzag(min);
        d->widths = d->p;
        d->p += d->minis;
        d->mini = 0;
    }
    if (d->widths[d->mini] > 64)
        return false;
    d->mini_left = d->per_mini;
    return true;
}

static uint64_t unpack_wide(const uint8_t *p, unsigned width, unsigned i)
{
    size_t bit = (size_t)i * width;
    unsigned shift = bit & 7;
    uint64_t v = pq_load64(p + (bit >> 3)) >> shift;
    if (shift + width > 64)
        v |= (uint64_t)p[(bit >> 3) + 8] << (64 - shift);
    return width < 64 ? v & ((1ull << width) - 1) : v;
}

/* The next 32 deltas. */
static bool refill(struct delta *d)
{
    if (!d->mini_left && !next_mini(d))
        return false;
    unsigned width = d->widths[d->mini];
    if (4 * width > (size_t)(d->end - d->p))
        return false;
    if (width <= 32) {
        uint32_t v[32 + PQ_PAD / 4];
        d->kernels->unpack(d->p, width, v, 32);
        for (unsigned i = 0; i < 32; i++)
            d->ready[i] = v[i];
    } else {
        for (unsigned i = 0; i < 32; i++)
            d->ready[i] = unpack_wide(d->p, width, i);
    }
    d->p += 4 * width;
    d->mini_left -= 32;
    d->at = 0;
    d->n_ready = 32;
    return true;
}

size_t delta_i64(struct delta *d, int64_t *out, size_t n)
{
    size_t done = 0;
    if (n && d->left && !d->has_first) {
        d->has_first = true;
        out[done++] = (int64_t)d->last;
        d->left--;
    }
    while (done < n && d->left) {
        if (d->at == d->n_ready && !refill(d))
            break;
        size_t k = d->n_ready - d->at;
        k = k < n - done ? k : n - done;
        k = k < d->left ? k : (size_t)d->left;
        uint64_t last = d->last;
        for (size_t i = 0; i < k; i++) {
            last += d->min + d->ready[d->at + i];
            out[done + i] = (int64_t)last;
        }
        d->last = last;
        d->at += (unsigned)k;
        d->left -= k;
        done += k;
    }
    return done;
}

const uint8_t *delta_end(const struct delta *d)
{
    struct delta walk = *d;
    uint64_t left = d->left ? d->left - 1 : 0; /* the first is in the header */
    while (left) {
        if (!next_mini(&walk))
            return NULL;
        uint64_t bytes = walk.per_mini / 8 * walk.widths[walk.mini];
        if (bytes > (size_t)(walk.end - walk.p))
            return NULL;
        walk.p += bytes;
        left -= left < walk.per_mini ? left : walk.per_mini;
    }
    return walk.p;
}
