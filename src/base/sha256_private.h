/* SPDX-License-Identifier: Apache-2.0 */
/* base/sha256_private.h - blocks of SHA-256 by the processor's own instructions. */
#ifndef BASE_SHA256_PRIVATE_H
#define BASE_SHA256_PRIVATE_H

#include <stddef.h>
#include <stdint.h>

extern const uint32_t sha256_rounds[64]; /* constants of the standard */
/* `n` blocks of 64 bytes; only where cpu_has(CPU_SHA_NI). */
void sha256_blocks_ni(uint32_t h[8], const unsigned char *p, size_t n);

#endif
