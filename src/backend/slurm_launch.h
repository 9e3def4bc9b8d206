/* SPDX-License-Identifier: Apache-2.0 */
/* backend/slurm_launch.h - what a worker is started with, on its way to a node: the file
 * HANDLE.launch (0600), read there by slurm_task.c. Words, each with a NUL behind it; the
 * first letter says which.
 */
#ifndef BACKEND_SLURM_LAUNCH_H
#define BACKEND_SLURM_LAUNCH_H

#include "backend/backend.h"

/* Everything in one arena. */
struct slurm_launch {
    struct arena arena;
    const char *run, *log, *cwd, *scratch; /* scratch NULL: no view of its own */
    int64_t worker, attempt, log_most;
    double grace_s;
    VEC(const char *) argv, env, secrets; /* each has NULL behind the last, counted */
    VEC(struct backend_view_mount) mounts;
};

enum rc slurm_launch_write(const struct backend_job *j, const struct backend_launch *l,
                           struct err *err) MUST_CHECK;
/* Of a handle; to be released in either case. */
enum rc slurm_launch_read(const char *handle, struct slurm_launch *out,
                          struct err *err) MUST_CHECK;
void slurm_launch_release(struct slurm_launch *l);

#endif
