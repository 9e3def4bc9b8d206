/* SPDX-License-Identifier: Apache-2.0 */
/* io/snappy.h - decompression of one Snappy block.
 *
 * The library's own decoder calls memmove() for each short literal, and data of short
 * strings consists of them; this one copies 16 bytes inline.
 */
#ifndef IO_SNAPPY_H
#define IO_SNAPPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* True when `in` is a well-formed block of exactly `size` bytes, which are then in `out`.
 * Nothing outside of out[size] is written, nothing outside of in[n] is read.
 */
bool snappy_block(const uint8_t *in, size_t n, uint8_t *out, size_t size);

#endif
