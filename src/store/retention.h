/* SPDX-License-Identifier: Apache-2.0 */
/* store/retention.h - how long jobs that have ended are kept, and their removal. */
#ifndef STORE_RETENTION_H
#define STORE_RETENTION_H

#include "store/store.h"

#define RETENTION_EXPERIMENTS "experiments:" /* begins the name of a policy for them */

/* A policy. Of jobs that have ended, those are removed that are older, or more, or larger
 * together than it says; -1: no limit.
 */
struct store_retention {
    const char
        *name;     /* "user:ann", "project:ads", or "default": users without their own */
    int64_t age_s; /* since the end */
    int64_t jobs;  /* the latest so many are kept */
    int64_t bytes; /* of their directories together */
};
struct store_retentions {
    struct arena arena;
    struct store_retention *at;
    size_t n;
};
void store_retentions_release(struct store_retentions *l);
enum rc store_retention_put(struct store *s, const struct store_retention *x,
                            struct err *err) MUST_CHECK;
/* NULL: all, by name. RC_NOTFOUND (E3111) for one that is not there. */
enum rc store_retention_get(struct store *s, const char *name,
                            struct store_retentions *out, struct err *err) MUST_CHECK;
enum rc store_retention_delete(struct store *s, const char *name,
                               struct err *err) MUST_CHECK;

/* Removes a job with its events, metrics, labels and specification, if event `seq` is its
 * last; what it used still counts (store_usage_get()). RC_CANCELED (E3104) when it changed
 * meanwhile or is gone.
 */
enum rc store_delete(struct store *s, const char *id, int64_t seq,
                     struct err *err) MUST_CHECK;

#endif
