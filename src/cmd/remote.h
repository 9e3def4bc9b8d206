/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/remote.h - talking to a server: which one, with which token, and its errors. */
#ifndef CMD_REMOTE_H
#define CMD_REMOTE_H

#include "base/err.h"
#include "io/http.h"
#include "text/node.h"

struct remote {
    char *url;   /* owned; without '/' at the end */
    char *token; /* owned */
    char *ca;    /* owned: certificates to check the server's against, PEM; or NULL */
};

/* `given` (may be NULL) is --server: a URL, or "local" for none; then TRAINYARD_SERVER;
 * then, with `stored`, what `trainyard login` wrote. The token is TRAINYARD_TOKEN's or
 * the stored one of that URL. *out stays empty when there is no server. E5019.
 */
enum rc remote_server(const char *given, bool stored, struct remote *out,
                      struct err *err) MUST_CHECK;
/* What login stored; url NULL: nothing. E5019. */
enum rc remote_stored(struct remote *out, struct err *err) MUST_CHECK;
/* Reads certificates for remote.ca out of a PEM file. RC_INVAL (E5031): there are none. */
enum rc remote_read_ca(const char *path, char **out, struct err *err) MUST_CHECK;
/* https, or http to this machine: tokens never travel in the clear. RC_INVAL (E5017). */
enum rc remote_check_url(const char *url, struct err *err) MUST_CHECK;
void remote_release(struct remote *r);
/* Both change the file of logins (0600). */
enum rc remote_store(const struct remote *r, char **path, struct err *err) MUST_CHECK;
enum rc remote_forget(bool *was, struct err *err) MUST_CHECK;

/* One request. `path` begins with '/'. A JSON answer goes to *doc (may be NULL; released
 * by the caller with doc_release() when doc->src is set); any other stays in `reply`
 * (may be NULL; released by the caller). RC_IO (E5017), or what the server said with its
 * own code.
 */
struct remote_ask {
    const char *method, *path;
    const char *type; /* of the body */
    const void *body;
    size_t n;
    const char *range; /* of the answer, or NULL */
    size_t max;        /* bytes of the answer; 0: as io/http.h */
    bool patient; /* a part of a file: worth waiting for a server that starts again */
};
enum rc remote_call(const struct remote *r, const struct remote_ask *q, struct doc *doc,
                    struct io_http_reply *reply, struct err *err) MUST_CHECK;

/* A part of a file: bytes behind `at`, at most `most`, added to `out`. `version` is "" for
 * the first part, which sets it; RC_CANCELED (E5503): the server has another one by now.
 */
enum rc remote_part(const struct remote *r, const char *path, int64_t at, size_t most,
                    char version[80], struct buf *out, struct err *err) MUST_CHECK;

#endif
