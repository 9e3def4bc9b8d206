/* SPDX-License-Identifier: Apache-2.0 */
/* data/odps/client.h - signed requests to MaxCompute and its tunnel. */
#ifndef DATA_ODPS_CLIENT_H
#define DATA_ODPS_CLIENT_H

#include "data/odps/odps.h"
#include "io/http.h"

/* name=value; sorted by name. NULL value: the name alone. */
struct odps_param {
    const char *name, *value;
};

struct odps_call {
    const char *method;
    const struct odps_path *path;
    const struct odps_param *params;
    size_t n_params;
    const void *body; /* sent in chunks, as a block of rows */
    size_t n_body;
    size_t max;      /* of the answer; 0: 16 MiB */
    bool compressed; /* the answer may be, as odps_conf says */
};

const char *odps_quota(const struct odps *o); /* NULL: the project's */
/* To the service itself; `resource` follows the project's, "/instances". A body is XML. */
enum rc odps_ask(struct odps *o, const struct odps_call *c, const char *resource,
                 struct io_http_reply *r, struct err *err) MUST_CHECK;

/* To the tunnel. RC_OK when a server answered; `r` is to be released in any case. */
enum rc odps_send(struct odps *o, const struct odps_call *c, struct io_http_reply *r,
                  struct err *err) MUST_CHECK;
/* The message for an answer that is no success. */
enum rc odps_refused(const struct odps_path *path, const struct io_http_reply *r,
                     struct err *err);
bool odps_lacks_table(const struct io_http_reply *r); /* it says so */
/* What is signed; for tests. `lines` are headers "x-odps-..:value", sorted. */
void odps_canonical(const char *method, const char *type, const char *date,
                    const char *const *lines, size_t n, const char *resource,
                    const struct odps_param *params, size_t n_params, struct buf *out);

#endif
