/* SPDX-License-Identifier: Apache-2.0 */
/* http/tls_files.h - the certificate and the key that a server is given, looked at before it
 * does anything: the TLS library below would only say that it cannot start.
 */
#ifndef HTTP_TLS_FILES_H
#define HTTP_TLS_FILES_H

#include "base/err.h"

/* The content of the files `cert` and `key`, whose paths are for messages. RC_INVAL (E5037):
 * one is no certificate or no key, is encrypted, or they do not belong together.
 */
enum rc http_tls_files_check(const char *cert_path, const char *cert,
                             const char *key_path, const char *key,
                             struct err *err) MUST_CHECK;

#endif
