/* SPDX-License-Identifier: Apache-2.0 */
/* backend/pods_place.h - how the directories of a job come into its pods: on the file system
 * that the nodes share, in a PersistentVolumeClaim, or over NFS (`volume`), and other
 * volumes that the job names (`mounts`).
 */
#ifndef BACKEND_PODS_PLACE_H
#define BACKEND_PODS_PLACE_H

#include "backend/backend.h"
#include "text/json_out.h"

/* Writes "volumes" of a pod and "volumeMounts" of its container, `secret` and the directory
 * `ask` among them. RC_INVAL: a directory that is not on the volume, an option that is wrong.
 */
enum rc pods_place_put(const struct backend_job *j, const char *secret, const char *ask,
                       struct json_out *volumes, struct json_out *mounts,
                       struct err *err) MUST_CHECK;

#endif
