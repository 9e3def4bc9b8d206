/* SPDX-License-Identifier: Apache-2.0 */
/* io/account.h - where an object store is and who we are there.
 *
 * From the environment variables and files that the stores' own tools read;
 * docs/sources.md lists them all. Secrets never appear in messages.
 */
#ifndef IO_ACCOUNT_H
#define IO_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

enum store_kind { STORE_S3, STORE_OSS };

/* A key pair, or nothing at all for requests that are not signed. */
struct credentials {
    char *id, *secret, *token; /* owned; token NULL: a lasting key */
    int64_t expires_ns;        /* wall clock; 0: never */
};
void credentials_release(struct credentials *c);
/* Those of Alibaba Cloud: ALIBABA_CLOUD_* variables, also the local service that
 * ALIBABA_CLOUD_CREDENTIALS_URI names. Found: *out is filled. Not found: RC_OK and
 * out->id == NULL. RC_IO, RC_FORMAT E1602 when the service fails.
 */
enum rc credentials_aliyun(struct credentials *out, struct err *err) MUST_CHECK;
bool credentials_fresh(const struct credentials *c); /* not about to expire */

struct account {
    enum store_kind kind;
    char *scheme; /* "https" */
    char *host;   /* of the endpoint, with its port if it has one */
    char *region;
    bool virtual_host; /* the bucket is part of the host name */
    bool anonymous;
    struct credentials who;
    int attempts, timeout_s;
};

/* `host` non-NULL: an endpoint that the URL itself names. RC_INVAL E1602 (no
 * credentials), E1603 (no endpoint or region).
 */
enum rc account_load(enum store_kind kind, const char *host, struct account *out,
                     struct err *err) MUST_CHECK;
void account_release(struct account *a);

/* A value of a file of sections: `[section]`, `key = value`, '#' and ';' start comments.
 * Keys and sections compare without case when `fold`. To mem_free(); NULL when there is
 * none.
 */
char *ini_get(struct str text, const char *section, const char *key, bool fold);
/* The text of a member of a flat JSON object, to mem_free(); NULL when there is none. */
char *flat_json_get(struct str text, const char *key);

#endif
