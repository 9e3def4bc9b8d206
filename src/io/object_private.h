/* SPDX-License-Identifier: Apache-2.0 */
/* io/object_private.h - one request to a store, shared by object.c and object_call.c. */
#ifndef IO_OBJECT_PRIVATE_H
#define IO_OBJECT_PRIVATE_H

#include <pthread.h>

#include "io/account.h"
#include "io/digest.h"
#include "io/http.h"
#include "io/object.h"
#include "io/object_store.h"

struct object {
    char *url, *bucket, *key, *host; /* host NULL: of the account */
    const struct object_store *store;
    pthread_mutex_t lock; /* guards the account's credentials, which are renewed */
    struct io_account account;
};

/* name=value, values not escaped yet; sorted by name. */
struct object_query {
    const char *name, *value; /* value "": the name alone */
};

struct object_call {
    struct object *o;
    const char *method;
    bool on_bucket; /* not on the key */
    const struct object_query *query;
    size_t n_query;
    const char *range;    /* "bytes=0-9", or NULL */
    const char *if_match; /* or NULL */
    const void *body;
    size_t n_body;
    void *to;
    size_t to_size;
};

/* One request on its way to being signed. */
struct object_signing {
    const struct object_call *call;
    struct buf path, query, host; /* escaped */
    char payload[DIGEST_HEX];     /* hex SHA-256 of the body, or "UNSIGNED-PAYLOAD" */
    char md5[DIGEST_MD5 * 2];     /* of the body, base64; or "" */
};

/* RC_OK when the server answered; its status is not looked at. */
enum rc object_send(const struct object_call *c, struct io_http_reply *r,
                    struct err *err) MUST_CHECK;
/* The message for a status that is not what was hoped for. */
enum rc object_refused(const struct object *o, const struct io_http_reply *r,
                       struct err *err);

#endif
