/* SPDX-License-Identifier: Apache-2.0 */
/* io/sign.h - signatures of requests to object stores.
 *
 * AWS Signature Version 4, and version 4 of OSS's own signature, which is built alike.
 * Functions of their arguments alone; any thread may call.
 */
#ifndef IO_SIGN_H
#define IO_SIGN_H

#include <stdint.h>

#include "base/str.h"

enum sign_kind { SIGN_AWS4, SIGN_OSS4 };

struct sign_key {
    enum sign_kind kind;
    const char *id, *secret;
    const char *region;  /* "us-east-1" */
    const char *service; /* "s3"; OSS: always "oss" */
};

struct sign_header {
    const char *name; /* lower case */
    const char *value;
};

struct sign_request {
    const char *method;
    const char *path;  /* escaped; OSS: with the bucket in front, wherever it is sent */
    const char *query; /* escaped, sorted by name, every name with its '=' (AWS) */
    const struct sign_header *headers; /* all that are signed, sorted by name */
    size_t n_headers;
    const char *payload; /* hex SHA-256 of the body, or "UNSIGNED-PAYLOAD" */
    int64_t wall_ns;     /* the moment, as in the date header */
};

#define SIGN_DATE_SIZE 17 /* "20130524T000000Z" */
void sign_date(int64_t wall_ns, char out[SIGN_DATE_SIZE]);
/* The value of the Authorization header, added to `out`, which has failed when memory ran
 * out on the way.
 */
void sign_authorize(const struct sign_key *key, const struct sign_request *q,
                    struct buf *out);
/* What is hashed first; for tests. */
void sign_canonical(const struct sign_key *key, const struct sign_request *q,
                    struct buf *out);

#endif
