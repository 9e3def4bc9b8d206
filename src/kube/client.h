/* SPDX-License-Identifier: Apache-2.0 */
/* kube/client.h - requests to an API server. One client belongs to one thread; connections
 * are kept (io/http.h).
 */
#ifndef KUBE_CLIENT_H
#define KUBE_CLIENT_H

#include "io/http_stream.h"
#include "kube/config.h"
#include "text/node.h"

#define KUBE_MANAGER "trainyard" /* who owns the fields that we apply */

struct kube_client;

/* Reads the configuration; asks nobody yet. Failures as of kube_config_load(). */
enum rc kube_client_open(const struct kube_options *o, struct kube_client **out,
                         struct err *err) MUST_CHECK;
void kube_client_close(struct kube_client *c); /* NULL is fine */
const struct kube_config *kube_client_config(const struct kube_client *c);

/* What the server answered; to be released in any case. */
struct kube_reply {
    int status; /* 0: it did not */
    struct doc doc;
    const struct node *object; /* NULL: the body was no JSON */
};
void kube_reply_release(struct kube_reply *r);

struct kube_call {
    const char *method;
    const char *path; /* behind the server's name, escaped */
    const char *type; /* of the body; NULL: application/json */
    const char *body; /* NULL: none */
    int timeout_s;    /* 0: 20 */
    int attempts;     /* 0: 2 */
};

/* RC_OK: 2xx. RC_CANCELED: it may pass (no answer, 401, 409 Conflict, 429, 5xx). RC_NOTFOUND:
 * 404. RC_INVAL: any other refusal. `err` has the server's own words. A 401 is answered once with
 * another credential.
 */
enum rc kube_client_call(struct kube_client *c, const struct kube_call *q,
                         struct kube_reply *r, struct err *err) MUST_CHECK;
/* Server-side apply of a JSON object: made, or made as it says. */
enum rc kube_client_apply(struct kube_client *c, const char *path, const char *json,
                          struct kube_reply *r, struct err *err) MUST_CHECK;
/* Begins to read an answer that goes on; `idle_s` as timeout_s of a request. */
enum rc kube_client_stream(struct kube_client *c, struct io_http_streams *set,
                           const char *path, int idle_s, struct io_http_stream **out,
                           struct err *err) MUST_CHECK;
/* A stream was refused with 401: what is known is out of date. */
void kube_client_forget(struct kube_client *c);

/* The server's words for a failure, from the body of its answer ("" becomes the status). */
void kube_status_words(int status, const char *body, size_t n, struct buf *out);

#endif
