/* SPDX-License-Identifier: Apache-2.0 */
/* backend/pods_objects.h - the objects of an attempt: one with a pod per worker (pods_kind.h), a
 * headless Service by which they find each other, and a Secret with what they run.
 */
#ifndef BACKEND_PODS_OBJECTS_H
#define BACKEND_PODS_OBJECTS_H

#include "backend/pods_kind.h"

#define PODS_LABEL_JOB "trainyard.io/job"
#define PODS_LABEL_YARD "trainyard.io/yard"
#define PODS_LABEL_OWNER "trainyard.io/object" /* name of the Job that a pod is of */
#define PODS_LABEL_WORKER "trainyard.io/worker"
#define PODS_UID "@UID@" /* stands for that of the object, of which the others are part */
#define PODS_YARD_SIZE 24

/* All jobs of one directory of one machine have this in a label. */
void pods_yard(const char *dir, char out[PODS_YARD_SIZE]);
/* "jb-x-1": of the Job of an attempt; "jb-x-1-3-2" of a worker that starts again alone. */
char *pods_object_name(const struct backend_job *j, int64_t worker, int64_t life);
/* "jb-x-1": of the Service of an attempt, for mem_free(). */
char *pods_service_name(const struct backend_job *j);

/* JSON, into buffers that are there. `ask`: the directory of requests. `before`: what has to be
 * there first, of kinds that need such an object; else it stays empty.
 */
enum rc pods_object_make(const struct backend_job *j, const struct backend_launch *at,
                         size_t n, const struct pods_row *r, const char *name,
                         const char *ask, struct buf *out, struct buf *before,
                         struct err *err) MUST_CHECK;
enum rc pods_object_secret(const struct backend_job *j, const struct backend_launch *at,
                           size_t n, const struct pods_row *r, const char *name,
                           struct buf *out, struct err *err) MUST_CHECK;
void pods_object_service(const struct backend_job *j, const struct pods_row *r,
                         const char *owner, struct buf *out);
/* An element of ownerReferences. */
void pods_object_reference(struct json_out *o, const struct pods_row *r, const char *name,
                           const char *uid);

#endif
