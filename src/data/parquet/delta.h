/* SPDX-License-Identifier: Apache-2.0 */
/* data/parquet/delta.h - DELTA_BINARY_PACKED integers, as a stream. */
#ifndef DATA_PARQUET_DELTA_H
#define DATA_PARQUET_DELTA_H

#include <stdbool.h>

#include "data/parquet/kernels.h"

struct delta {
    const struct pq_kernels *kernels;
    const uint8_t *p, *end;   /* borrowed; PQ_PAD readable bytes behind */
    const uint8_t *widths;    /* of the miniblocks of this block */
    uint64_t per_mini, minis; /* values per miniblock, miniblocks per block */
    uint64_t left;            /* values still to come */
    uint64_t last, min;       /* previous value, smallest delta of the block */
    uint64_t mini, mini_left; /* current miniblock, values still packed in it */
    bool has_first;
    unsigned n_ready, at; /* of ready[]: deltas unpacked and not yet added */
    uint64_t ready[32];
};

/* False when the header is malformed. */
bool delta_init(struct delta *d, const struct pq_kernels *kernels, const void *p,
                size_t n);
/* Up to n values; fewer when the stream ends or is malformed. */
size_t delta_i64(struct delta *d, int64_t *out, size_t n);
/* Where the stream ends, found by its block headers alone; NULL when malformed. */
const uint8_t *delta_end(const struct delta *d);

#endif
