/* SPDX-License-Identifier: Apache-2.0 */
/* backend/cgroup.h - memory of a worker, limited by the kernel where it lets us.
 *
 * A group for one worker is made below our own (root, or a subtree that was delegated to
 * this user), in the unified hierarchy or in the memory controller of the older kind.
 * Nothing of it is there when that is not allowed; the supervisor then measures instead.
 */
#ifndef BACKEND_CGROUP_H
#define BACKEND_CGROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* *path is the caller's, to mem_free(). RC_UNSUPPORTED: not allowed here. */
enum rc backend_cgroup_create(const char *name, int64_t memory, char **path,
                              struct err *err) MUST_CHECK;
/* The calling process and what it will start. 0, or an errno. Allocates nothing. */
int backend_cgroup_enter(const char *path);
/* How often the kernel ended a process of the group for its memory. */
int64_t backend_cgroup_kills(const char *path);
/* Removes the group; its processes must have ended. */
void backend_cgroup_destroy(const char *path);

#endif
