/* SPDX-License-Identifier: Apache-2.0 */
/* kube/config.h - where a Kubernetes cluster is and who we are there: a kubeconfig, or the
 * service account of the pod that we run in.
 */
#ifndef KUBE_CONFIG_H
#define KUBE_CONFIG_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"

/* A program that prints a credential. */
struct kube_exec {
    const char *const *argv; /* NULL behind the last; NULL: there is none */
    const char *const *env;  /* "NAME=value" on top of ours, NULL behind the last */
    const char *api;         /* version of what it reads and prints */
};

/* Texts lie in the arena. */
struct kube_config {
    struct arena arena;
    const char *name;               /* for people: "context 'dev'" */
    const char *server;             /* "https://host:port", no '/' behind */
    const char *ca;                 /* PEM; NULL: those of the machine */
    const char *cert, *key;         /* PEM, or NULL */
    const char *token, *token_file; /* or NULL; the file is read again and again */
    const char *user, *password;    /* or NULL */
    const char *ns;                 /* namespace; never NULL */
    struct kube_exec exec;
};

struct kube_options {
    const char
        *files; /* "a:b", as KUBECONFIG; NULL: KUBECONFIG, ~/.kube/config, the pod's */
    const char *context; /* NULL: the current one */
    const char *ns;      /* NULL: that of the context, or "default" */
};

/* To be released in either case. RC_NOTFOUND: there is no configuration; RC_FORMAT,
 * RC_INVAL: the file, the name and what is wrong; RC_UNSUPPORTED: a setting that we refuse
 * (an unchecked certificate, a proxy, an authentication provider).
 */
enum rc kube_config_load(const struct kube_options *o, struct kube_config *out,
                         struct err *err) MUST_CHECK;
void kube_config_release(struct kube_config *c);

/* The bytes of base64 text, with a NUL behind them, in `a`; NULL: it is none. */
char *kube_base64_read(const char *text, size_t n, struct arena *a);

#endif
