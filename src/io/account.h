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

struct object_store;

/* A key pair, or nothing at all for requests that are not signed. */
struct io_credentials {
    char *id, *secret, *token; /* owned; token NULL: a lasting key */
    int64_t expires_ns;        /* wall clock; 0: never */
};
void io_credentials_release(struct io_credentials *c);
/* Those of Alibaba Cloud: ALIBABA_CLOUD_* variables, also the local service that
 * ALIBABA_CLOUD_CREDENTIALS_URI names. Found: *out is filled. Not found: RC_OK and
 * out->id == NULL. RC_IO, RC_FORMAT E1602 when the service fails.
 */
enum rc io_credentials_aliyun(struct io_credentials *out, struct err *err) MUST_CHECK;
bool io_credentials_fresh(const struct io_credentials *c); /* not about to expire */

struct io_account {
    char *scheme; /* "https" */
    char *host;   /* of the endpoint, with its port if it has one */
    char *region;
    bool virtual_host; /* the bucket is part of the host name */
    bool anonymous;
    struct io_credentials who;
    int attempts, timeout_s;
};

/* `host` non-NULL: an endpoint that the URL itself names. RC_INVAL E1602 (no
 * credentials), E1603 (no endpoint or region).
 */
enum rc io_account_load(const struct object_store *store, const char *host,
                        struct io_account *out, struct err *err) MUST_CHECK;
void io_account_release(struct io_account *a);

/* A value of a file of sections: `[section]`, `key = value`, '#' and ';' start comments.
 * Keys and sections compare without case when `fold`. To mem_free(); NULL when there is
 * none.
 */
char *io_ini_get(struct str text, const char *section, const char *key, bool fold);
/* The text of a member of a flat JSON object, to mem_free(); NULL when there is none. */
char *io_json_get(struct str text, const char *key);

#endif
