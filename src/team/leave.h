/* SPDX-License-Identifier: Apache-2.0 */
/* team/leave.h - the end of what belongs to a name, so that it can be given out again. */
#ifndef TEAM_LEAVE_H
#define TEAM_LEAVE_H

#include "job/place.h"
#include "store/users.h"

/* Creates a user of the name u->name, to whom nothing belongs that was made before: uploads
 * that nothing refers to are deleted, and the account of jobs is another. With u->inherits all
 * of it stays. RC_INVAL (E3110, E3112).
 */
enum rc team_leave_enter(const struct job_place *p, const struct store_user *u,
                         struct err *err) MUST_CHECK;
/* Asks every job of `name` that has not ended to stop; *n counts them. */
enum rc team_leave_stop(const struct job_place *p, const char *name, int64_t *n,
                        struct err *err) MUST_CHECK;
/* Deletes jobs, schedules, rules, models, uploads and names of datasets of `name`; *any says
 * whether there were some. RC_CANCELED (E5022): a job has not ended, and nothing was deleted.
 */
enum rc team_leave_purge(const struct job_place *p, const char *name, bool *any,
                         struct err *err) MUST_CHECK;

#endif
