/* SPDX-License-Identifier: Apache-2.0 */
/* io/object_store.h - what differs between object stores: where they are, who we are
 * there, and how requests are signed.
 */
#ifndef IO_OBJECT_STORE_H
#define IO_OBJECT_STORE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "io/sign.h"

struct io_account;
struct io_credentials;
struct object_signing;

#define OBJECT_HEADERS_MAX 10

struct object_store {
    const char *scheme;          /* of URLs, and the service that is signed for: "s3" */
    const char *region_variable; /* what to set when the region is wrong */
    const char *own_hosts; /* a bucket with this end names its endpoint itself; or NULL */
    enum sign_kind sign;
    bool signs_bucket; /* the path that is signed begins with the bucket, always */
    bool bare_names;   /* a name without a value has no '=' in a query */
    bool signs_all;    /* If-Match and Range are signed, too */
    /* Fills a zeroed account. `host` non-NULL: an endpoint that the URL names. */
    enum rc (*load)(struct io_account *a, const char *host, struct err *err);
    /* Sets payload and md5 of the body. */
    void (*hash)(struct object_signing *s);
    /* The headers that are signed, sorted by name; their number. */
    size_t (*headers)(const struct object_signing *s, const struct io_credentials *who,
                      const char *date, struct sign_header *h);
};

#define OBJECT_STORE(name) extern const struct object_store object_store_##name;
#include "io/object_stores.def"
#undef OBJECT_STORE

/* By the scheme of a URL; NULL when there is none. */
const struct object_store *object_store_of(const char *url);

#endif
