/* SPDX-License-Identifier: Apache-2.0 */
/* kube/credential.h - what a request shows to the API server: a token that may be renewed, or
 * a certificate. Tokens of files are read again every minute, those of programs when they
 * are over or were refused.
 */
#ifndef KUBE_CREDENTIAL_H
#define KUBE_CREDENTIAL_H

#include <stdint.h>

#include "kube/config.h"

struct kube_credential {
    struct arena arena;     /* of what was fetched last */
    const char *token;      /* or NULL */
    const char *cert, *key; /* or NULL */
    int64_t until;          /* wall clock, ns: good so long; 0: for ever */
};

/* Brings it up to date; `refused`: what there is was not accepted, and another is wanted.
 * RC_CANCELED: the program or the file gives none now.
 */
enum rc kube_credential_renew(struct kube_credential *c, const struct kube_config *conf,
                              bool refused, struct err *err) MUST_CHECK;
void kube_credential_release(struct kube_credential *c);

/* RFC 3339 as wall clock in ns; 0: it is none. */
int64_t kube_time_read(const char *text);

#endif
