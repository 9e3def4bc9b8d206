/* SPDX-License-Identifier: Apache-2.0 */
/* io/digest.h - the digests that signatures are made of (libcrypto). Any thread. */
#ifndef IO_DIGEST_H
#define IO_DIGEST_H

#include <stddef.h>

#include "base/str.h"

#define DIGEST_SHA256 32
#define DIGEST_SHA1 20
#define DIGEST_MD5 16
#define DIGEST_HEX (2 * DIGEST_SHA256 + 1)

void digest_sha256(const void *p, size_t n, unsigned char out[DIGEST_SHA256]);
void digest_md5(const void *p, size_t n, unsigned char out[DIGEST_MD5]);
void digest_hmac_sha256(const void *key, size_t n_key, struct str text,
                        unsigned char out[DIGEST_SHA256]);
void digest_hmac_sha1(const void *key, size_t n_key, struct str text,
                      unsigned char out[DIGEST_SHA1]);

/* Lower case, with a NUL: 2 * n + 1 bytes. */
void digest_hex(const unsigned char *p, size_t n, char *out);
/* With padding and a NUL: (n + 2) / 3 * 4 + 1 bytes. */
void digest_base64(const unsigned char *p, size_t n, char *out);

#endif
