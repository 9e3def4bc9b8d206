/* SPDX-License-Identifier: Apache-2.0 */
/* data/parquet/rle.h - the hybrid of run lengths and bit packing: levels, dictionary
 * codes, booleans.
 *
 * Decoders stop where the input does: they return how many values they got, and fewer
 * than asked for means that the page is malformed. The input has PQ_PAD readable bytes
 * behind it.
 */
#ifndef DATA_PARQUET_RLE_H
#define DATA_PARQUET_RLE_H

#include <stdbool.h>

#include "data/parquet/kernels.h"

struct rle {
    const struct pq_kernels *kernels;
    const uint8_t *p, *end; /* borrowed; the next run */
    /* Bits, 0 to 32; 0: all values are 0, stored as runs of no bytes or, when there are
     * no bytes at all, unlimited.
     */
    unsigned width;
    uint32_t value;        /* of the current run */
    uint64_t repeat;       /* how often it is still to come */
    const uint8_t *packed; /* group of 8 values that the next one is in */
    unsigned at;           /* its place in that group */
    uint64_t packed_left;  /* values */
};

void rle_init(struct rle *r, const struct pq_kernels *kernels, const void *p, size_t n,
              unsigned width);
/* Writes up to PQ_PAD bytes behind out[n]. */
size_t rle_u32(struct rle *r, uint32_t *out, size_t n);
size_t rle_u8(struct rle *r, uint8_t *out, size_t n); /* width at most 8 */
size_t rle_skip(struct rle *r, size_t n);
/* For width 1: bits to place `at` of a bitmap that is zero from there on; *set grows by
 * those set. */
size_t rle_bits(struct rle *r, uint8_t *bits, size_t at, size_t n, size_t *set);

/* Levels are stored in one of two ways, or not at all when they can only be 0. */
struct levels {
    bool is_rle;
    unsigned width;
    struct rle rle;
    const uint8_t *p; /* bit-packed, most significant bit first */
    size_t bit, bits;
};
size_t levels_u8(struct levels *l, uint8_t *out, size_t n);
/* For levels of 0 and 1. */
size_t levels_bits(struct levels *l, uint8_t *bits, size_t at, size_t n, size_t *set);

/* Places `at` to `at + n` become set; they were clear. */
void bits_set(uint8_t *bits, size_t at, size_t n);
size_t bits_count(const uint8_t *bits, size_t n);

#endif
