/* SPDX-License-Identifier: Apache-2.0 */
/* data/parquet/kernels.h - the inner loops, one table per instruction set.
 *
 * Inputs may be read, and outputs written, up to PQ_PAD bytes past their ends: every
 * buffer of the reader has that much to spare.
 */
#ifndef DATA_PARQUET_KERNELS_H
#define DATA_PARQUET_KERNELS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define PQ_PAD 64

struct pq_kernels {
    const char *name;
    /* n values of `width` bits, 0 to 32, least significant bit first. */
    void (*unpack)(const uint8_t *in, unsigned width, uint32_t *out, size_t n);
    uint32_t (*max)(const uint32_t *v, size_t n); /* 0 for none */
    /* out[i] = from[code[i]]; codes are in range. */
    void (*gather32)(const uint32_t *from, const uint32_t *code, uint32_t *out, size_t n);
    void (*gather64)(const uint64_t *from, const uint32_t *code, uint64_t *out, size_t n);
    /* Moves the first k of v, as many as bits are set, to the slots of the set bits; the
     * other slots become 0. Bits behind the n-th are clear.
     */
    void (*expand32)(uint32_t *v, const uint8_t *bits, size_t n, size_t k);
    void (*expand64)(uint64_t *v, const uint8_t *bits, size_t n, size_t k);
};

/* The best for this machine. */
const struct pq_kernels *pq_kernels_pick(void);

extern const struct pq_kernels pq_kernels_plain;
#ifdef PQ_X86
extern const struct pq_kernels pq_kernels_avx2;
extern const struct pq_kernels pq_kernels_avx512;
#endif

static inline uint32_t pq_load32(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof(v));
    return v;
}

static inline uint64_t pq_load64(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof(v));
    return v;
}

static inline unsigned pq_bit(const uint8_t *bits, size_t i)
{
    return (unsigned)bits[i >> 3] >> (i & 7) & 1u;
}

/* Value i of those packed with `width` bits. */
static inline uint32_t pq_unpack_one(const uint8_t *in, unsigned width, size_t i)
{
    size_t bit = i * width;
    uint64_t mask = (1ull << width) - 1;
    return (uint32_t)(pq_load64(in + (bit >> 3)) >> (bit & 7) & mask);
}

#endif
