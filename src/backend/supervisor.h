/* SPDX-License-Identifier: Apache-2.0 */
/* backend/supervisor.h - one process per job that has its resources: stages its tree,
 * runs its workers, reads its logs, decides about restarts, and is the only one to change
 * its state.
 *
 * It may be killed at any moment. The next one finds the workers again by their run
 * files, or how they ended, and goes on from there; the job's lock makes sure that there
 * are never two.
 */
#ifndef BACKEND_SUPERVISOR_H
#define BACKEND_SUPERVISOR_H

#include "base/err.h"
#include "job/place.h"

/* Returns when the job has ended (or somebody else supervises it: RC_OK as well). */
enum rc backend_supervisor_run(const struct job_place *p, const char *id,
                               struct err *err) MUST_CHECK;

#endif
