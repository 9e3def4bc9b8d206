/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules are made, paused, looked at and deleted; what is due is fire.c's business. */
#include <string.h>

#include "team/fire.h"
#include "team/fire_private.h"
#include "team/schedule_secrets.h"
#include "text/job/job.h"

enum rc team_fire_unknown(enum rc rc, const char *name, struct err *err)
{
    return rc == RC_NOTFOUND ? err_coded(err, rc, E5103, "no schedule '%.128s'", name)
                             : rc;
}

/* A job that could never be submitted is refused now, not at night. */
static enum rc try_spec(const struct team_fire_plan *f, int64_t planned, struct err *err)
{
    struct job_spec s;
    enum rc rc = team_fire_spec(f, planned, &s, err);
    if (rc)
        return rc;
    if (!s.shell && !s.argv)
        rc = err_coded(err, RC_INVAL, E3001, "the job has no command");
    job_spec_release(&s);
    return rc;
}

static enum rc write_schedule(const struct job_place *p, const struct store_schedule *x,
                              const char *const *secrets, struct err *err)
{
    enum rc rc = team_schedule_secrets_keep(p, x, secrets, err);
    if (!rc)
        rc = store_schedule_create(p->store, x, err);
    if (rc)
        team_schedule_secrets_forget(p, x);
    if (rc == RC_INVAL && err && err->code == E3110)
        err->code = E5104;
    return rc;
}

enum rc team_schedule_create(const struct job_place *p, struct store_schedule *x,
                             const char *const *secrets, int64_t now, struct err *err)
{
    struct team_fire_plan f;
    const char *wrong = jobspec_check_name(str_c(x->name));
    if (wrong)
        return err_coded(err, RC_INVAL, E5105, "name '%.100s': %s", x->name, wrong);
    if (*x->project && (wrong = jobspec_check_name(str_c(x->project))))
        return err_coded(err, RC_INVAL, E5105, "project '%.100s': %s", x->project, wrong);
    enum rc rc = team_fire_plan_open(x, &f, err);
    if (rc)
        return rc;
    x->created = now;
    x->next = team_schedule_next(&f.cron, f.zone, now);
    if (!x->next)
        rc =
            err_coded(err, RC_INVAL, E5101, "cron line '%.80s' never comes due", x->cron);
    else
        rc = try_spec(&f, x->next, err);
    if (!rc)
        rc = write_schedule(p, x, secrets, err);
    team_fire_plan_close(&f);
    return rc;
}

enum rc team_schedule_get(const struct job_place *p, const char *name,
                          struct store_schedules *out, struct err *err)
{
    return team_fire_unknown(store_schedule_get(p->store, name, out, err), name, err);
}

enum rc team_schedule_delete(const struct job_place *p, const char *name, struct err *err)
{
    struct store_schedules l = {0};
    enum rc rc = team_schedule_get(p, name, &l, err);
    if (!rc)
        rc = team_fire_unknown(store_schedule_delete(p->store, name, err), name, err);
    if (!rc)
        team_schedule_secrets_forget(p, &l.at[0]);
    store_schedules_release(&l);
    return rc;
}

enum rc team_schedule_pause(const struct job_place *p, const char *name, bool paused,
                            int64_t now, struct err *err)
{
    struct store_schedules l = {0};
    struct team_fire_plan f;
    enum rc rc = team_schedule_get(p, name, &l, err);
    if (rc)
        return rc;
    struct store_schedule *x = &l.at[0];
    if (x->paused != paused) {
        rc = team_fire_plan_open(x, &f, err);
        if (!rc) {
            x->paused = paused;
            x->next = team_schedule_next(&f.cron, f.zone, now);
            rc = store_schedule_update(p->store, x, err);
            team_fire_plan_close(&f);
        }
    }
    store_schedules_release(&l);
    return rc;
}

enum rc team_schedule_clock(const struct store_schedule *x, int64_t planned,
                            struct team_civil *out, struct err *err)
{
    struct team_fire_plan f;
    enum rc rc = team_fire_plan_open(x, &f, err);
    if (rc)
        return rc;
    *out = team_fire_clock(&f, planned);
    team_fire_plan_close(&f);
    return RC_OK;
}
