/* SPDX-License-Identifier: Apache-2.0 */
/* team/fire.h - schedules in the store: made, changed, and run when they are due.
 *
 * team_schedule_tick() may be called by any number of processes at once, and may die anywhere:
 * a planned time is one row of the record, and the job of a row has a token of its own,
 * so it is submitted once. Runs are submitted in the name of the schedule's owner.
 *
 * Outcomes of a run, in its row: "claimed" (somebody is about to submit it), "waiting"
 * (for the job before it), "submitted", "skipped: ...", "missed", "failed: ...".
 */
#ifndef TEAM_FIRE_H
#define TEAM_FIRE_H

#include "job/place.h"
#include "store/schedules.h"
#include "team/dates.h"

/* What the caller of a tick remembers; zeroed before the first. */
struct team_schedule_ticker {
    int64_t wall, mono; /* of the last look */
};

/* Runs what is due at `now` (wall clock, ns): schedules whose files only this place has,
 * and those of nobody if it `leads`. `env`: of the jobs. *fired: jobs that were submitted.
 * A schedule that cannot be run does not keep others from it; RC_IO and the like are of
 * the store.
 */
enum rc team_schedule_tick(struct team_schedule_ticker *t, const struct job_place *p,
                           const char *const *env, bool leads, int64_t now,
                           int64_t *fired, struct err *err) MUST_CHECK;

/* Checks name, line, zone, parameters, policy and job, sets x->next behind `now` and
 * x->node, writes it. The owner is x->owner. `secrets`: values that were sent ("NAME=value", NULL behind
 * the last), kept until it is deleted; NULL: they come from the environment of each run.
 */
enum rc team_schedule_create(const struct job_place *p, struct store_schedule *x,
                             const char *const *secrets, int64_t now,
                             struct err *err) MUST_CHECK;
/* What a change of a schedule is about; NULL: stays. */
struct team_schedule_change {
    const char *cron, *zone, *catch_up, *overlap, *params;
    const char *spec, *project; /* a job in place of the old one, with its project */
    int64_t
        created; /* of the schedule that is meant: a later one of its name is not; 0: any */
};
/* Changes a schedule and checks it as a new one; its runs so far stay. `secrets` are those of a
 * new job. RC_NOTFOUND (E5103).
 */
enum rc team_schedule_update(const struct job_place *p, const char *name,
                             const struct team_schedule_change *change,
                             const char *const *secrets, int64_t now,
                             struct err *err) MUST_CHECK;
/* What is planned while it is paused is not made up for. RC_NOTFOUND (E5103). */
enum rc team_schedule_pause(const struct job_place *p, const char *name, bool paused,
                            int64_t now, struct err *err) MUST_CHECK;
/* One schedule; RC_NOTFOUND (E5103). */
enum rc team_schedule_get(const struct job_place *p, const char *name,
                          struct store_schedules *out, struct err *err) MUST_CHECK;
enum rc team_schedule_delete(const struct job_place *p, const char *name,
                             struct err *err) MUST_CHECK;
/* Runs it for `planned`, due or not, whatever else of it runs. A planned time that was
 * run before is not run again: *existed, and the id is of that job. RC_INVAL (E5107): its
 * owner may not run it, or (E5108) its files are elsewhere.
 */
enum rc team_schedule_run(const struct job_place *p, const char *const *env,
                          const char *name, int64_t planned, char id[JOB_ID_SIZE],
                          bool *existed, struct err *err) MUST_CHECK;

/* The planned moment as the schedule's clock shows it. */
enum rc team_schedule_clock(const struct store_schedule *x, int64_t planned,
                            struct team_civil *out, struct err *err) MUST_CHECK;

#endif
