/* SPDX-License-Identifier: Apache-2.0 */
/* http/api.h - a team's server: jobs, logs, datasets and people over HTTP.
 *
 * It serves what the record of jobs holds and writes requests into it; jobs themselves
 * are admitted by the agent of its directory and go on when the server ends.
 * docs/server.md tells how it is used, /api/v1/openapi.json what it answers.
 */
#ifndef HTTP_API_H
#define HTTP_API_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "http/ldap.h"
#include "http/oidc.h"
#include "job/place.h"

struct api;

struct api_options {
    struct job_place place; /* `store` is not used: the server opens its own */
    const char *listen;     /* "127.0.0.1:8420"; port 0: any */
    const char *url; /* where other servers on the store find this one; NULL: `listen` */
    const char *tls_cert; /* PEM files; NULL: plain HTTP */
    const char *tls_key;
    const char
        *peer_ca; /* PEM file: whom other servers' certificates are checked against;
                            NULL: as io_http_request.ca */
    const char *const *hosts; /* further names of this server, NULL behind the last */
    const char *slots;        /* see backend/capacity.h; NULL: what there is */
    const char *version;      /* of the program */
    const char *const *env;   /* what jobs may inherit, NULL behind the last */
    const char *const
        *runs; /* directories of training runs to show, NULL behind the last */
    const char *const
        *serving; /* "NAME=URL" of model servers to show, NULL behind the last */
    const char *serving_token; /* for them; NULL: they ask for none */
    const char *experiments;   /* directory of experiments' folders; NULL: none */
    int threads;
    int64_t max_body;           /* bytes of a request */
    int64_t user_storage;       /* bytes that one user may store; 0: no limit */
    double rate;                /* requests per second and token; 0: no limit */
    double header_timeout;      /* seconds for the head of a request, and between two */
    double body_timeout;        /* seconds for a body of usual size */
    bool mail;                  /* a program to send mail with is named */
    const char *notify_allow;   /* hosts of webhooks; see team/net_allow.h */
    bool queue;                 /* admit jobs */
    bool others;                /* people beside the owner may be let in */
    bool images_only;           /* jobs of those below admin need an image */
    struct http_oidc_conf oidc; /* issuer NULL: none */
    struct http_ldap_conf ldap; /* url NULL: none */
};

/* Whether a server could be started with this address and these TLS files, as far as can be
 * told beforehand. RC_INVAL (E5001, E5002, E5037), RC_IO.
 */
enum rc api_check(const struct api_options *o, struct err *err) MUST_CHECK;

/* Opens the store, makes the first user and token if there are none, listens. RC_INVAL
 * (E5001: address; E5002: beyond loopback without TLS; E5020: there are other users, and
 * jobs cannot be isolated), RC_IO, RC_* of store_open().
 */
enum rc api_start(const struct api_options *o, struct api **out,
                  struct err *err) MUST_CHECK;
void api_stop(struct api *a); /* NULL is fine */
int api_port(const struct api *a);
/* File with the first admin's token, until somebody has logged in with it; then NULL.
 * Borrowed. */
const char *api_token_file(const struct api *a);
bool api_token_new(const struct api *a); /* this start made it */

/* Deletes experiments that policies no longer keep (tune/retain.h), except those that the server
 * runs. `s`: the store, of the calling thread.
 */
struct tune_removed;
enum rc api_retain_experiments(struct api *a, struct store *s, bool dry,
                               struct tune_removed *out, struct err *err) MUST_CHECK;

/* The OpenAPI document; the caller's, to mem_free(). */
char *api_document(const char *version) MUST_CHECK;

#endif
