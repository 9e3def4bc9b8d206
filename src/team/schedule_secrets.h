/* SPDX-License-Identifier: Apache-2.0 */
/* team/schedule_secrets.h - values of the secrets of schedules that a server was sent.
 *
 * They lie in a file of mode 0600 below the jobs directory, never in the store, until the
 * schedule is deleted. One that is deleted and made again has another birthday, and so
 * another file.
 */
#ifndef TEAM_SCHEDULE_SECRETS_H
#define TEAM_SCHEDULE_SECRETS_H

#include "base/arena.h"
#include "job/place.h"
#include "store/schedules.h"

/* `values`: "NAME=value", NULL behind the last; none or NULL: no file. RC_INVAL (E3019): one
 * is too short.
 */
enum rc team_schedule_secrets_keep(const struct job_place *p,
                                   const struct store_schedule *x,
                                   const char *const *values, struct err *err) MUST_CHECK;
/* What was kept, in `a`, NULL behind the last; *out is NULL when nothing was. The caller
 * overwrites it with team_schedule_secrets_wipe().
 */
enum rc team_schedule_secrets_read(const struct job_place *p,
                                   const struct store_schedule *x, struct arena *a,
                                   const char *const **out, struct err *err) MUST_CHECK;
void team_schedule_secrets_wipe(const char *const *values); /* NULL is fine */
void team_schedule_secrets_forget(const struct job_place *p,
                                  const struct store_schedule *x);
/* Removes files, old enough not to be on their way, whose schedule is gone: another server
 * deleted it.
 */
void team_schedule_secrets_sweep(const struct job_place *p, int64_t now);

#endif
