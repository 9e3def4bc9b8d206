/* SPDX-License-Identifier: Apache-2.0 */
/* backend/why.h - one sentence about a job: what it waits for, or how it ended. */
#ifndef BACKEND_WHY_H
#define BACKEND_WHY_H

#include "base/str.h"
#include "job/place.h"

/* `slots` as in capacity.h, NULL: what the agent found. */
enum rc backend_why(const struct job_place *p, const char *slots,
                    const struct store_job *j, struct buf *out,
                    struct err *err) MUST_CHECK;

#endif
