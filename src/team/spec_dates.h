/* SPDX-License-Identifier: Apache-2.0 */
/* team/spec_dates.h - the job of a planned time: a specification with its dates filled
 * in.
 */
#ifndef TEAM_SPEC_DATES_H
#define TEAM_SPEC_DATES_H

#include "base/arena.h"
#include "job/spec.h"
#include "team/dates.h"

/* Parameters from JSON, {"day": "${yyyymmdd-1}"}. Texts lie in the arena. RC_INVAL
 * (E5105).
 */
enum rc team_spec_dates_params(const char *json, struct arena *a,
                               struct team_dates_param **out, size_t *n,
                               struct err *err) MUST_CHECK;
/* `text` is the JSON of a job; dates are put into its command, hyper-parameters, inputs,
 * outputs, variables and labels. On success *out is the caller's to release.
 */
enum rc team_spec_dates_fill(const char *text, const struct team_dates *d,
                             struct job_spec *out, struct err *err) MUST_CHECK;

#endif
