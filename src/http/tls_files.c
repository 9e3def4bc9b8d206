/* SPDX-License-Identifier: Apache-2.0 */
#include "http/tls_files.h"

#include <limits.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <stdbool.h>
#include <string.h>

/* Nobody is asked for a passphrase. */
static int no_passphrase(char *out, int size, int writing, void *asked)
{
    *(bool *)asked = true;
    return -1;
}

static BIO *text_open(const char *text)
{
    size_t n = strlen(text);
    return n <= INT_MAX ? BIO_new_mem_buf(text, (int)n) : NULL;
}

static X509 *read_cert(const char *path, const char *text, struct err *err)
{
    BIO *in = text_open(text);
    X509 *cert = in ? PEM_read_bio_X509(in, NULL, NULL, NULL) : NULL;
    BIO_free(in);
    if (!cert)
        err_coded(err, RC_INVAL, E5037, "--tls-cert: '%.200s' holds no certificate (PEM)",
                  path);
    return cert;
}

static EVP_PKEY *read_key(const char *path, const char *text, struct err *err)
{
    bool asked = false;
    BIO *in = text_open(text);
    EVP_PKEY *key = in ? PEM_read_bio_PrivateKey(in, NULL, no_passphrase, &asked) : NULL;
    BIO_free(in);
    if (!key && asked)
        err_coded(err, RC_INVAL, E5037,
                  "--tls-key: '%.200s' is encrypted with a passphrase; `openssl pkey -in "
                  "OLD -out NEW` writes it without",
                  path);
    else if (!key)
        err_coded(err, RC_INVAL, E5037, "--tls-key: '%.200s' holds no private key (PEM)",
                  path);
    return key;
}

enum rc http_tls_files_check(const char *cert_path, const char *cert,
                             const char *key_path, const char *key, struct err *err)
{
    X509 *c = read_cert(cert_path, cert, err);
    EVP_PKEY *k = c ? read_key(key_path, key, err) : NULL;
    enum rc rc = c && k ? RC_OK : RC_INVAL;
    if (!rc && X509_check_private_key(c, k) != 1)
        rc = err_coded(err, RC_INVAL, E5037,
                       "--tls-key: '%.150s' is not the key of the certificate '%.150s'",
                       key_path, cert_path);
    if (!rc && X509_cmp_current_time(X509_get0_notAfter(c)) < 0)
        rc = err_coded(err, RC_INVAL, E5037, "--tls-cert: '%.200s' has expired",
                       cert_path);
    ERR_clear_error();
    EVP_PKEY_free(k);
    X509_free(c);
    return rc;
}
