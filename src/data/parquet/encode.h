/* SPDX-License-Identifier: Apache-2.0 */
/* data/parquet/encode.h - the encodings that the writer uses. */
#ifndef DATA_PARQUET_ENCODE_H
#define DATA_PARQUET_ENCODE_H

#include <stddef.h>
#include <stdint.h>

/* The most bytes that pq_rle_encode() writes. */
size_t pq_rle_bound(size_t n, unsigned width);
/* n values below 2^width as the hybrid of runs and packed groups; the size written. */
size_t pq_rle_encode(const uint32_t *v, size_t n, unsigned width, uint8_t *out);

unsigned pq_bits_for(uint32_t max); /* bits that hold 0..max */

#endif
