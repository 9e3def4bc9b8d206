/* SPDX-License-Identifier: Apache-2.0 */
/* backend/pods_objects.h - the objects of an attempt: an Indexed Job with one pod per worker, a
 * headless Service by which they find each other, and a Secret with what they run.
 */
#ifndef BACKEND_PODS_OBJECTS_H
#define BACKEND_PODS_OBJECTS_H

#include "backend/backend.h"

#define PODS_LABEL_JOB "trainyard.io/job"
#define PODS_LABEL_YARD "trainyard.io/yard"
#define PODS_LABEL_OWNER "trainyard.io/object" /* name of the Job that a pod is of */
#define PODS_LABEL_WORKER "trainyard.io/worker"
#define PODS_UID "@UID@" /* stands for that of the Job, of which the others are part */
#define PODS_YARD_SIZE 24

/* All jobs of one directory of one machine have this in a label. */
void pods_yard(const char *dir, char out[PODS_YARD_SIZE]);
/* "jb-x-1": of the Job of an attempt; "jb-x-1-3-2" of a worker that starts again alone. */
char *pods_object_name(const struct backend_job *j, int64_t worker, int64_t life);
/* "jb-x-1": of the Service of an attempt, for mem_free(). */
char *pods_service_name(const struct backend_job *j);

/* JSON, into buffers that are there. `ask`: the directory of requests. */
enum rc pods_object_job(const struct backend_job *j, const struct backend_launch *at,
                        size_t n, const char *name, const char *ask, struct buf *out,
                        struct err *err) MUST_CHECK;
enum rc pods_object_secret(const struct backend_job *j, const struct backend_launch *at,
                           size_t n, const char *name, struct buf *out,
                           struct err *err) MUST_CHECK;
void pods_object_service(const struct backend_job *j, const char *owner, struct buf *out);

#endif
