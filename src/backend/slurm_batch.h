/* SPDX-License-Identifier: Apache-2.0 */
/* backend/slurm_batch.h - the batch script, and the command that submits it. */
#ifndef BACKEND_SLURM_BATCH_H
#define BACKEND_SLURM_BATCH_H

#include "backend/backend.h"

extern const char slurm_batch_script[];

/* "NAME.TAG", for mem_free(). */
char *slurm_batch_name(const struct backend_job *j, const char *tag) MUST_CHECK;

/* The words of sbatch for `n` workers, in `a`, NULL behind the last. Values are parts of
 * their options ("--partition=VALUE"), so that none can be an option.
 */
const char *const *slurm_batch_argv(const struct backend_job *j,
                                    const struct backend_launch *at, size_t n,
                                    const char *base, const char *tag, struct arena *a);

/* How old news may be (--backend-option poll=10s), ns. */
int64_t slurm_batch_poll_ns(const struct backend_job *j);

#endif
