/* SPDX-License-Identifier: Apache-2.0 */
/* backend/pods_requests.h - what is asked of the API server for a job: to make its objects, to
 * stop its pods, to delete all. Each may be done twice, by whoever comes next.
 */
#ifndef BACKEND_PODS_REQUESTS_H
#define BACKEND_PODS_REQUESTS_H

#include "backend/pods_kind.h"
#include "kube/client.h"

/* Objects of an attempt, as JSON; `before` and `service` may be NULL: none is needed. */
struct pods_objects {
    const struct pods_row *row;
    const char *name; /* of the object and of its Secret */
    const char *object, *secret, *service, *before;
};
/* Makes them, what the others belong to first. *uid: of the object, for mem_free(). RC_CANCELED:
 * it may pass; else *why says which end of the job this is, and none of them is left.
 */
enum rc pods_request_submit(struct kube_client *c, const struct pods_objects *o,
                            char **uid, enum job_reason *why, struct err *err) MUST_CHECK;

/* Ends a pod: TERM, with its grace time, and it stays to be looked at. */
enum rc pods_request_stop(struct kube_client *c, const char *pod,
                          struct err *err) MUST_CHECK;
/* Deletes it; it has so many seconds (0: at once, without asking its node). */
enum rc pods_request_kill(struct kube_client *c, const char *pod, int grace_s,
                          struct err *err) MUST_CHECK;
/* Deletes an object and all that is part of it. */
enum rc pods_request_delete(struct kube_client *c, const struct pods_row *r,
                            const char *name, struct err *err) MUST_CHECK;
/* Deletes all objects of one of our jobs, which are of this kind; *left: pods that are still
 * there.
 */
enum rc pods_request_remove(struct kube_client *c, const struct pods_row *r,
                            const char *id, int64_t worker, int grace_s, size_t *left,
                            struct err *err) MUST_CHECK;

#endif
