/* SPDX-License-Identifier: Apache-2.0 */
/* backend/confine.h - what is different for a job of a server's user; each does nothing,
 * or what is usual, for a job without `isolation`.
 */
#ifndef BACKEND_CONFINE_H
#define BACKEND_CONFINE_H

#include "backend/backend.h"
#include "backend/cgroup.h"
#include "backend/jail.h"

/* Gives the tree to the job, makes its /tmp. */
enum rc confine_tree(const struct backend_job *j, struct err *err) MUST_CHECK;
/* In the job's directory, where the job itself cannot write: its packages are installed. */
#define CONFINE_READY "packages.ready"
bool confine_packages_ready(const struct backend_job *j);
/* What a worker (NULL: a helper) of an isolated job is put into, in `a`. */
enum rc confine_jail(struct backend_job *j, const struct backend_worker *w,
                     struct arena *a, const struct jail **out,
                     struct err *err) MUST_CHECK;
/* The job's tree as its view has it, in `a`: *n of them. Where the job has our id, only its
 * program and outputs can be written to.
 */
#define CONFINE_MOUNTS 3
void confine_mounts(const struct backend_job *j, struct arena *a,
                    struct backend_view_mount out[CONFINE_MOUNTS], size_t *n);
/* What it may use: memory, and if it is isolated processors and processes. */
struct cgroup_limits confine_limits(const struct backend_job *j,
                                    const struct backend_worker *w);
/* Variables that name the server's own places are replaced. */
void confine_env(const struct backend_job *j, struct job_contract_env *e);
/* The handle of a worker's newest life, the caller's to mem_free(). */
char *confine_run(const struct backend_job *j, int64_t worker) MUST_CHECK;
void confine_release(struct backend_job *j);

#endif
