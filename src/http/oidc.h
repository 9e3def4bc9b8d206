/* SPDX-License-Identifier: Apache-2.0 */
/* http/oidc.h - who somebody is, by an OpenID Connect provider.
 *
 * The server is the client of the provider: it exchanges codes at the token endpoint itself,
 * over TLS, so an identity token comes from the provider directly and needs no signature
 * check (OpenID Connect Core, 3.1.3.7); issuer, audience, time and nonce are checked. The
 * provider's addresses are looked up when they are first needed. Any thread may call.
 */
#ifndef HTTP_OIDC_H
#define HTTP_OIDC_H

#include "base/arena.h"
#include "base/err.h"
#include "text/node.h"

struct http_oidc_conf {
    const char *issuer; /* URL; NULL: there is no provider */
    const char *client_id;
    const char *secret; /* of the client; NULL: a public one */
    const char *claim;  /* that names the user: preferred_username, email, ... */
    const char *domain; /* of addresses, which then lose it; NULL: none are taken */
    const char *role;   /* of users who come for the first time; NULL: they are refused */
    int64_t lifetime_s; /* of a token that a login gets */
};

struct http_oidc;
/* RC_INVAL (E5032): no https address, or no client id. `c` is borrowed. */
enum rc http_oidc_open(const struct http_oidc_conf *c, struct http_oidc **out,
                       struct err *err) MUST_CHECK;
void http_oidc_close(struct http_oidc *o); /* NULL is fine */

/* Where browsers are sent, and (NULL: none) whether devices may ask. Texts lie in `a`.
 * RC_IO (E5033): the provider cannot be reached, or answers nonsense. */
enum rc http_oidc_endpoints(struct http_oidc *o, struct arena *a, const char **browser,
                            const char **device, struct err *err) MUST_CHECK;
/* The provider's answer to a device that asks, to doc_release(). */
enum rc http_oidc_device(struct http_oidc *o, struct doc *out,
                         struct err *err) MUST_CHECK;

/* What a client brings. */
struct http_oidc_proof {
    const char *code, *verifier, *redirect, *nonce; /* from a browser */
    const char *device_code;                        /* or from a device; NULL: not */
};
struct http_oidc_person {
    const char *name;    /* for a user here */
    const char *subject; /* who it is for the provider, for good */
};
/* Texts lie in `a`. *pending: nobody has confirmed the device yet. RC_INVAL (E5034): the
 * provider says no, or says it of somebody else; RC_IO (E5033). */
enum rc http_oidc_person(struct http_oidc *o, const struct http_oidc_proof *p,
                         struct arena *a, struct http_oidc_person *out, bool *pending,
                         struct err *err) MUST_CHECK;

/* Whether the claims of an identity token hold for us now (ns); RC_INVAL (E5034). */
enum rc http_oidc_check(const struct http_oidc_conf *c, const struct node *claims,
                        const char *nonce, int64_t now, struct err *err) MUST_CHECK;
/* The claims of an identity token; to doc_release(). RC_INVAL (E5034). */
enum rc http_oidc_claims(const char *token, struct doc *out, struct err *err) MUST_CHECK;

#endif
