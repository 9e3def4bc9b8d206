/* SPDX-License-Identifier: Apache-2.0 */
/* base/sha256.h - SHA-256 (FIPS 180-4): names of contents that nobody can forge. */
#ifndef BASE_SHA256_H
#define BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define SHA256_TEXT_SIZE 65 /* 64 hexadecimal digits and a NUL */

struct sha256 {
    uint32_t h[8];
    uint64_t n; /* bytes so far */
    unsigned char block[64];
};

void sha256_init(struct sha256 *s);
void sha256_add(struct sha256 *s, const void *p, size_t n);
void sha256_text(struct sha256 *s, char out[SHA256_TEXT_SIZE]); /* ends it */
/* Of a whole file, read to its end; *bytes (may be NULL) is its length. */
enum rc sha256_file(const char *path, char out[SHA256_TEXT_SIZE], int64_t *bytes,
                    struct err *err) MUST_CHECK;

#endif
