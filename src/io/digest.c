/* SPDX-License-Identifier: Apache-2.0 */
#include "io/digest.h"

#include <assert.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

static void digest(const EVP_MD *kind, const void *p, size_t n, unsigned char *out)
{
    /* Fails only when the library is built without the digest. */
    int ok = EVP_Digest(p, n, out, NULL, kind, NULL);
    assert(ok == 1);
    (void)ok;
}

void digest_sha256(const void *p, size_t n, unsigned char out[DIGEST_SHA256])
{
    digest(EVP_sha256(), p, n, out);
}

void digest_md5(const void *p, size_t n, unsigned char out[DIGEST_MD5])
{
    digest(EVP_md5(), p, n, out);
}

static void hmac(const EVP_MD *kind, const void *key, size_t n_key, struct str text,
                 unsigned char *out)
{
    const unsigned char *done =
        HMAC(kind, key, (int)n_key, (const unsigned char *)text.p, text.n, out, NULL);
    assert(done);
    (void)done;
}

void digest_hmac_sha256(const void *key, size_t n_key, struct str text,
                        unsigned char out[DIGEST_SHA256])
{
    hmac(EVP_sha256(), key, n_key, text, out);
}

void digest_hmac_sha1(const void *key, size_t n_key, struct str text,
                      unsigned char out[DIGEST_SHA1])
{
    hmac(EVP_sha1(), key, n_key, text, out);
}

void digest_hex(const unsigned char *p, size_t n, char *out)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < n; i++) {
        out[2 * i] = digits[p[i] >> 4];
        out[2 * i + 1] = digits[p[i] & 15];
    }
    out[2 * n] = '\0';
}

void digest_base64(const unsigned char *p, size_t n, char *out)
{
    (void)EVP_EncodeBlock((unsigned char *)out, p, (int)n);
}
