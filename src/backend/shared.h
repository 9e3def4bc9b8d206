/* SPDX-License-Identifier: Apache-2.0 */
/* backend/shared.h - one question for all jobs. Every job has a supervisor of its own, and a
 * cluster does not like a thousand of them asking; with this one of them asks for all, and
 * the others read the answer from a file of the directory.
 */
#ifndef BACKEND_SHARED_H
#define BACKEND_SHARED_H

#include <stdint.h>

#include "base/err.h"

/* Asks, of everything at once ("squeue of all our jobs"); *out is text for mem_free(). */
typedef enum rc backend_shared_fn(void *arg, char **out, struct err *err);

struct backend_shared {
    const char *dir;  /* of jobs */
    const char *name; /* of the question: a file's name */
    int64_t age_ns;   /* an answer, or a failure, is good for this long */
    backend_shared_fn *ask;
    void *arg;
};

/* The text, for mem_free(), and when it was asked (wall clock, ns). RC_CANCELED: the one
 * who asked failed, with the same words for all; or nobody has an answer yet. While a new
 * answer is fetched the old one is given.
 */
enum rc backend_shared_get(const struct backend_shared *s, char **out, int64_t *at,
                           struct err *err) MUST_CHECK;

#endif
