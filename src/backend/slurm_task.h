/* SPDX-License-Identifier: Apache-2.0 */
/* backend/slurm_task.h - what srun starts once per worker, on a node. */
#ifndef BACKEND_SLURM_TASK_H
#define BACKEND_SLURM_TASK_H

#include "base/err.h"

/* `list`: BASE.list of slurm_alloc.h. Returns when the worker has ended; however it did,
 * that is RC_OK once it is recorded.
 */
enum rc slurm_task_run(const char *list, struct err *err) MUST_CHECK;

#endif
