/* SPDX-License-Identifier: Apache-2.0 */
/* backend/pods_alloc.h - one object of Kubernetes' with pods (pods_kind.h): it has all workers of
 * an attempt, or, a Job then, one that starts again alone. Its files lie in `run`:
 *
 *     pods.ATTEMPT[.WORKER-LIFE].object, .before, .secret, .service   written before the handles
 *     BASE.lock      held by the process that makes them in the cluster
 *     BASE.answer    the object's uid: it is made, and is never made again
 *     BASE.error     why not: a reason, or an empty line where it may pass, and words
 *     BASE.stop      it is not to be made any more
 *
 * Names of objects come from the job's id, so whoever makes them a second time, because the
 * first was killed before it could say so, changes nothing.
 */
#ifndef BACKEND_PODS_ALLOC_H
#define BACKEND_PODS_ALLOC_H

#include <sys/types.h>

#include "backend/pods_kind.h"
#include "kube/config.h"

struct pods_alloc {
    char *base, *name;            /* owned */
    const struct kube_options *o; /* borrowed */
    const struct pods_row *row;   /* its kind */
    bool made;                    /* the object is, or was, in the cluster */
    int64_t made_at;              /* wall clock, ns */
    bool stopped;
    enum job_reason why; /* refused for good, or never made (UserStopped) */
    char text[400];      /* why it is not made yet, or never */
    pid_t child;         /* makes it; 0: none */
    int64_t again;       /* monotonic ns: the next try */
    int failures;
};

/* Writes everything, handles last, and begins to make the objects. */
enum rc pods_alloc_create(struct backend_job *j, struct backend_launch *at, size_t n,
                          const struct kube_options *o, struct pods_alloc **out,
                          struct err *err) MUST_CHECK;
/* That of a handle. RC_FORMAT: the file is no handle. */
enum rc pods_alloc_open(const struct backend_job *j, const char *handle,
                        const struct kube_options *o, struct pods_alloc **out,
                        struct err *err) MUST_CHECK;
void pods_alloc_destroy(struct pods_alloc *a);
/* Goes on with what is begun; never waits. */
void pods_alloc_advance(struct pods_alloc *a);
/* From now on it is not made if it was not. */
void pods_alloc_forbid(struct pods_alloc *a);
/* The directory of requests to workers of an attempt, for mem_free(). */
char *pods_alloc_ask(const struct backend_job *j);

#endif
