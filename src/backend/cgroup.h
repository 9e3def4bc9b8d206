/* SPDX-License-Identifier: Apache-2.0 */
/* backend/cgroup.h - memory, processors and processes of a worker, limited by the kernel
 * where it lets us.
 *
 * A group for one worker is made below our own (root, or a subtree that was delegated to
 * this user), in the unified hierarchy or one in each controller of the older kind. What
 * is not allowed is not limited; the supervisor then measures memory instead.
 */
#ifndef BACKEND_CGROUP_H
#define BACKEND_CGROUP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct cgroup_limits {
    int64_t memory;    /* bytes; 0: no limit, in all of them */
    int64_t cpu_milli; /* thousandths of a processor */
    int64_t processes; /* and threads, at a time */
};

/* *path (directories, a line each) is the caller's, to mem_free(); *got has those limits
 * that could be set. RC_UNSUPPORTED: none is allowed here.
 */
enum rc backend_cgroup_create(const char *name, const struct cgroup_limits *want,
                              struct cgroup_limits *got, char **path,
                              struct err *err) MUST_CHECK;
/* The calling process, which has one thread, and what it will start. 0, or an errno.
 * Allocates nothing.
 */
int backend_cgroup_enter(const char *path);
/* As fork(), of a process with one thread and without handlers of pthread_atfork(): the
 * child is in the group. There *errnum is 0, or why it is not.
 */
pid_t backend_cgroup_fork(const char *path, int *errnum);
/* How often the kernel ended a process of the group for its memory. */
int64_t backend_cgroup_kills(const char *path);
/* Does it hold its processes to an amount of memory? */
bool backend_cgroup_holds_memory(const char *path);
/* Removes the group; its processes must have ended. */
void backend_cgroup_destroy(const char *path);

#endif
