/* SPDX-License-Identifier: Apache-2.0 */
/* team/fire_private.h - a schedule's row, read and understood. */
#ifndef TEAM_FIRE_PRIVATE_H
#define TEAM_FIRE_PRIVATE_H

#include "job/place.h"
#include "job/spec.h"
#include "store/schedules.h"
#include "team/schedule.h"

struct team_fire_plan {
    const struct store_schedule *x; /* borrowed */
    struct team_cron cron;
    struct team_zone *zone;
    struct team_schedule_policy policy;
};

/* RC_INVAL, RC_NOTFOUND: a row that cannot be meant (E5101, E5102, E5105). */
enum rc team_fire_plan_open(const struct store_schedule *x, struct team_fire_plan *out,
                            struct err *err) MUST_CHECK;
void team_fire_plan_close(struct team_fire_plan *f);
struct team_civil team_fire_clock(const struct team_fire_plan *f, int64_t planned);

/* The job of a planned time, with its token; the caller's to release. */
enum rc team_fire_spec(const struct team_fire_plan *f, int64_t planned,
                       struct job_spec *out, struct err *err) MUST_CHECK;

/* Another server has its files. */
bool team_fire_elsewhere(const struct job_place *p, const struct store_schedule *x);

/* Of a name that is not there: in the words of schedules. */
enum rc team_fire_unknown(enum rc rc, const char *name, struct err *err);

#endif
