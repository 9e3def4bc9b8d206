/* SPDX-License-Identifier: Apache-2.0 */
/* job/contract.h - what a job's program may rely on: the tree below /ml and the
 * variables.
 *
 * The names are those of PAI's training jobs (docs/jobs.md). Paths in variables begin
 * with the root under which the job sees its tree: "/ml", or the real directory where no
 * private view is possible.
 */
#ifndef JOB_CONTRACT_H
#define JOB_CONTRACT_H

#include "base/vec.h"
#include "job/inputs.h"
#include "job/spec.h"

#define CONTRACT_VARIABLE_MAX (100 << 10) /* longer ones are left to the files */

/* Makes the tree below `ml`, with the configuration files in it. Outputs that are there
 * stay. Channels are links to what they name, or empty places for job_contract_mounts().
 */
enum rc job_contract_stage(const char *ml, const struct job_spec *s,
                           const struct job_channels *c, bool links,
                           struct err *err) MUST_CHECK;

/* What has to appear where, beside the tree itself at /ml. */
struct job_contract_mount {
    const char *from, *to;
    bool read_only, is_file;
};
struct job_contract_mounts {
    struct arena arena;
    VEC(struct job_contract_mount) list;
};
void job_contract_mounts(const char *ml, const struct job_channels *c,
                         struct job_contract_mounts *out);
void job_contract_mounts_release(struct job_contract_mounts *m);

struct job_contract_worker {
    const char *job;
    int64_t index, count; /* of workers, or nodes in DLC's words */
    int64_t attempt, restarts;
    const char *const
        *hosts; /* [count]: addresses of the workers, the first is MASTER_ADDR */
    int64_t port;
    const char *gpus; /* of this worker, "2,3"; NULL: none asked for */
    const char *root; /* of the tree as the job sees it, no '/' behind */
    const char *work; /* working directory as the job sees it */
};

struct job_contract_env {
    struct arena arena;
    VEC(const char *) list;     /* NAME=value; NULL behind the last */
    VEC(const char *) warnings; /* what the user should know */
};
/* Sets or replaces. */
void job_contract_env_put(struct job_contract_env *e, const char *name,
                          const char *value);
const char *job_contract_env_get(const struct job_contract_env *e, const char *name);
/* Adds all variables of the contract and the spec's own behind what is there. */
void job_contract_env_fill(struct job_contract_env *e, const struct job_spec *s,
                           const struct job_channels *c,
                           const struct job_contract_worker *w);
/* The list with its NULL; valid until the next change. */
const char *const *job_contract_env_list(struct job_contract_env *e);
void job_contract_env_release(struct job_contract_env *e);

#endif
