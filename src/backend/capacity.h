/* SPDX-License-Identifier: Apache-2.0 */
/* backend/capacity.h - what this machine has to give to jobs. */
#ifndef BACKEND_CAPACITY_H
#define BACKEND_CAPACITY_H

#include "backend/queue.h"
#include "base/err.h"

/* Processors that this process may use, memory, GPUs (NVIDIA's device files). `slots`
 * ("cpu=4,memory=16g,gpu=0"; may be NULL) replaces what was found. RC_INVAL (E0603).
 */
enum rc backend_capacity_find(const char *slots, struct backend_queue_need *out,
                              struct err *err) MUST_CHECK;
/* The agent's answer, kept beside its lock for others to read. */
enum rc backend_capacity_write(const char *dir, const struct backend_queue_need *c,
                               struct err *err) MUST_CHECK;
bool backend_capacity_read(const char *dir, struct backend_queue_need *out);

/* Whether workers can have a private view of the tree (view.h): found out once for all
 * jobs, and kept in `dir`.
 */
enum rc backend_capacity_probe_view(const char *dir, struct err *err) MUST_CHECK;
bool backend_capacity_view(const char *dir);

#endif
