/* SPDX-License-Identifier: Apache-2.0 */
/* backend/choose.h - `backend: auto`: which backend takes a job. Those that can run it are
 * asked what they have for it now (room() of backend.h; the machine's own by its queue). The
 * first in the order of the table with room takes it; else one whose service alone knows;
 * else one where it has to wait.
 */
#ifndef BACKEND_CHOOSE_H
#define BACKEND_CHOOSE_H

#include "job/place.h"
#include "job/spec.h"

/* A job_choose_fn: puts the backend into `s`, without the settings of others, and why into
 * `text`. RC_INVAL (E3204), saying why of each, when none can ever run it.
 */
enum rc backend_choose(const struct job_place *p, struct job_spec *s,
                       char text[JOB_CHOSEN_SIZE], struct err *err) MUST_CHECK;

#endif
