/* SPDX-License-Identifier: Apache-2.0 */
/* Order of writing: the row of the run, the job, the row again, and last the schedule's
 * `next`. Whoever comes after a death in between finds the schedule still due and the row
 * there, and goes on with the same token. What is planned while its owner may not run it
 * (team/standing.h) is passed over, as if it were paused. What needs files that one server
 * has is left to that server; while it is away it is late, and made up for as its policy says.
 */
#include "team/fire.h"

#include <stdio.h>
#include <string.h>

#include "backend/agent.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "job/submit.h"
#include "store/leases.h"
#include "team/fire_private.h"
#include "team/schedule_secrets.h"
#include "team/standing.h"

#define LOG_AREA "schedule"
#define LOOK_BACK 20     /* runs whose jobs may be alive still */
#define WAITING_MAX 1000 /* runs that may wait for others to end */
#define JUMP_NS CLOCK_SECOND
#define SWEEP_NS (60 * CLOCK_SECOND)

#define CLAIMED "claimed"
#define WAITING "waiting"
#define SUBMITTED "submitted"

struct firing {
    const struct job_place *p;
    const char *const *env;
    int64_t now;
    int64_t fired;
};

/* The row of a planned time, added with `outcome` when it was not there. */
static enum rc claim(const struct firing *g, const char *name, int64_t planned,
                     const char *outcome, struct store_run_rows *out, struct err *err)
{
    struct store_run_row row = {.schedule = name,
                                .planned = planned,
                                .fired = g->now,
                                .job = "",
                                .outcome = outcome};
    bool first = false;
    enum rc rc = store_fence_begin(g->p->store, err);
    if (rc)
        return rc;
    rc = store_schedule_claim(g->p->store, &row, &first, err);
    rc = store_fence_end(g->p->store, rc, err);
    if (!rc)
        rc = store_schedule_runs(g->p->store, name, planned + 1, 1, out, err);
    return rc;
}

static enum rc settle(const struct firing *g, const char *name, int64_t planned,
                      const char *job, const char *outcome, struct err *err)
{
    struct store_run_row row = {
        .schedule = name, .planned = planned, .job = job, .outcome = outcome};
    enum rc rc = store_fence_begin(g->p->store, err);
    if (rc)
        return rc;
    rc = store_schedule_settle(g->p->store, &row, err);
    return store_fence_end(g->p->store, rc, err);
}

static enum rc submit_spec(const struct job_place *p, const struct store_schedule *x,
                           struct job_spec *s, const char *const *env,
                           struct job_submit_result *r, struct err *err)
{
    struct arena a = {0};
    const char *cwd = s->s->has_workdir ? s->s->workdir : "/", *const *sent = NULL;
    enum rc rc = team_schedule_secrets_read(p, x, &a, &sent, err);
    if (!rc && sent)
        rc = job_submit_with(p, s, env, sent, cwd, r, err);
    else if (!rc)
        rc = job_submit(p, s, env, cwd, r, err);
    team_schedule_secrets_wipe(sent);
    arena_release(&a);
    return rc;
}

static enum rc submit(const struct firing *g, const struct team_fire_plan *f,
                      int64_t planned, char id[JOB_ID_SIZE], struct err *err)
{
    struct job_place own = *g->p;
    struct job_spec s;
    struct job_submit_result r;
    own.owner = f->x->owner;
    enum rc rc = team_fire_spec(f, planned, &s, err);
    if (rc)
        return rc;
    rc = submit_spec(&own, f->x, &s, g->env, &r, err);
    job_spec_release(&s);
    if (rc)
        return rc;
    snprintf(id, JOB_ID_SIZE, "%s", r.id);
    struct err asleep = {0};
    if (backend_agent_wake(g->p,
                           &asleep)) /* the job is there; the next command wakes one */
        log_warn("schedule %s: %s", f->x->name, asleep.msg);
    return RC_OK;
}

/* Submits a run that is claimed, and writes down what became of it: *id, or "" and *why.
 * Fails only when it could not be written: whoever comes next goes on.
 */
static enum rc carry_out(struct firing *g, const struct team_fire_plan *f,
                         int64_t planned, char id[JOB_ID_SIZE], struct err *why,
                         struct err *err)
{
    id[0] = '\0';
    if (submit(g, f, planned, id, why) == RC_OK) {
        g->fired++;
        return settle(g, f->x->name, planned, id, SUBMITTED, err);
    }
    log_warn("schedule %s: %s", f->x->name, why->msg);
    char *text = mem_printf("failed: %.1000s", why->msg);
    enum rc rc = settle(g, f->x->name, planned, "", text, err);
    mem_free(text);
    return rc;
}

/* The job of an earlier run that has not ended: *id, or "". */
static enum rc live_job(const struct firing *g, const struct store_schedule *x,
                        int64_t planned, char id[JOB_ID_SIZE], struct err *err)
{
    struct store_run_rows l = {0};
    enum rc rc = store_schedule_runs(g->p->store, x->name, 0, LOOK_BACK, &l, err);
    id[0] = '\0';
    for (size_t i = 0; i < l.n && !rc && !id[0]; i++) {
        struct store_jobs jobs = {0};
        enum job_state state;
        if (!*l.at[i].job || l.at[i].planned == planned)
            continue;
        if (store_get(g->p->store, l.at[i].job, &jobs, NULL))
            continue; /* removed since */
        if (!job_state_find(jobs.at[0].state, &state) || !job_state_ended(state))
            snprintf(id, JOB_ID_SIZE, "%s", l.at[i].job);
        store_jobs_release(&jobs);
    }
    store_run_rows_release(&l);
    return rc;
}

static enum rc stop_live(const struct firing *g, const struct store_schedule *x,
                         int64_t planned, struct err *err)
{
    char id[JOB_ID_SIZE];
    struct job_request_result r;
    enum rc rc = live_job(g, x, planned, id, err);
    if (rc || !id[0])
        return rc;
    rc = job_request_stop(g->p, id, false, &r, err);
    if (!rc && r.alone)
        rc = backend_agent_wake(g->p, err);
    return rc;
}

/* A run whose row is CLAIMED or WAITING: submitted, skipped or left to wait. */
static enum rc decide(struct firing *g, const struct team_fire_plan *f, int64_t planned,
                      const char *outcome, struct err *err)
{
    char live[JOB_ID_SIZE], id[JOB_ID_SIZE];
    enum rc rc = live_job(g, f->x, planned, live, err);
    if (rc)
        return rc;
    if (live[0] && f->policy.overlap == SCHEDULE_OVERLAP_SKIP) {
        char *text = mem_printf("skipped: job %s had not ended", live);
        rc = settle(g, f->x->name, planned, "", text, err);
        mem_free(text);
        return rc;
    }
    if (live[0] && f->policy.overlap == SCHEDULE_OVERLAP_QUEUE)
        return strcmp(outcome, WAITING) == 0
                   ? RC_OK
                   : settle(g, f->x->name, planned, "", WAITING, err);
    if (live[0] && f->policy.overlap == SCHEDULE_OVERLAP_REPLACE)
        rc = stop_live(g, f->x, planned, err);
    struct err why = {0};
    return rc ? rc : carry_out(g, f, planned, id, &why, err);
}

static enum rc fire_one(struct firing *g, const struct team_fire_plan *f, int64_t planned,
                        struct err *err)
{
    struct store_run_rows l = {0};
    enum rc rc = claim(g, f->x->name, planned, CLAIMED, &l, err);
    if (!rc && l.n && l.at[0].planned == planned && strcmp(l.at[0].outcome, CLAIMED) == 0)
        rc = decide(g, f, planned, CLAIMED, err);
    store_run_rows_release(&l);
    return rc;
}

static enum rc move_next(const struct firing *g, const struct store_schedule *x,
                         int64_t next, struct err *err)
{
    bool moved;
    if (next == x->next)
        return RC_OK;
    enum rc rc = store_fence_begin(g->p->store, err);
    if (rc)
        return rc;
    rc = store_schedule_move(g->p->store, x->name, x->next, next, &moved, err);
    return store_fence_end(g->p->store, rc, err);
}

static enum rc fire_due(struct firing *g, const struct team_fire_plan *f, struct err *err)
{
    struct team_schedule_due d;
    struct store_run_rows l = {0};
    enum rc rc = RC_OK;
    team_schedule_due_at(&f->cron, f->zone, &f->policy, f->x->next, g->now, &d);
    if (d.missed)
        rc = claim(g, f->x->name, d.missed, "missed", &l, err);
    store_run_rows_release(&l);
    for (size_t i = 0; i < d.fire.n && !rc; i++)
        rc = fire_one(g, f, d.fire.at[i], err);
    if (!rc)
        rc = move_next(g, f->x, d.next, err);
    team_schedule_due_release(&d);
    return rc;
}

/* Runs that wait for an earlier one: the oldest may go when it has ended. */
static enum rc fire_waiting(struct firing *g, const struct team_fire_plan *f,
                            struct err *err)
{
    struct store_run_rows l = {0};
    enum rc rc = store_schedule_runs(g->p->store, f->x->name, 0, WAITING_MAX, &l, err);
    for (size_t i = l.n; i-- > 0 && !rc;)
        if (strcmp(l.at[i].outcome, WAITING) == 0) {
            int64_t before = g->fired;
            rc = decide(g, f, l.at[i].planned, WAITING, err);
            if (g->fired == before)
                break; /* those behind it wait for it */
        }
    store_run_rows_release(&l);
    return rc;
}

/* The clock was set back: what was planned behind it comes again, and finds its rows. */
static enum rc look_again(const struct firing *g, const struct team_fire_plan *f,
                          struct err *err)
{
    int64_t next = team_schedule_next(&f->cron, f->zone, g->now);
    return next && next < f->x->next ? move_next(g, f->x, next, err) : RC_OK;
}

bool team_fire_elsewhere(const struct job_place *p, const struct store_schedule *x)
{
    return *x->node && p->node && strcmp(x->node, p->node) != 0;
}

static enum rc tick_one(struct firing *g, const struct store_schedule *x, bool jumped,
                        struct err *err)
{
    struct team_fire_plan f;
    struct err why = {0};
    bool due = x->next && x->next <= g->now;
    if (x->paused)
        return RC_OK;
    if (!due && !jumped && !strstr(x->catch_up, "queue"))
        return RC_OK;
    enum rc rc = team_fire_plan_open(x, &f, &why);
    if (rc) {
        log_warn("schedule %s: %s", x->name, why.msg);
        return RC_OK;
    }
    if (x->stopped) {
        rc = due ? move_next(g, x, team_schedule_next(&f.cron, f.zone, g->now), err)
                 : RC_OK;
        team_fire_plan_close(&f);
        return rc;
    }
    if (f.policy.overlap == SCHEDULE_OVERLAP_QUEUE)
        rc = fire_waiting(g, &f, err);
    if (!rc && due)
        rc = fire_due(g, &f, err);
    else if (!rc && jumped)
        rc = look_again(g, &f, err);
    team_fire_plan_close(&f);
    return rc;
}

enum rc team_schedule_tick(struct team_schedule_ticker *t, const struct job_place *p,
                           const char *const *env, bool leads, int64_t now,
                           int64_t *fired, struct err *err)
{
    struct firing g = {.p = p, .env = env, .now = now};
    struct store_schedules l = {0};
    int64_t mono = clock_mono_ns();
    bool jumped = !t->mono || now - t->wall < mono - t->mono - JUMP_NS;
    struct team_standing people = {0};
    enum rc rc = store_schedule_get(p->store, NULL, &l, err);
    if (!rc && l.n)
        rc = team_standing_open(p->store, p->account, &people, err);
    team_standing_schedules(&people, &l);
    for (size_t i = 0; i < l.n && !rc; i++)
        if (*l.at[i].node ? !team_fire_elsewhere(p, &l.at[i]) : leads)
            rc = tick_one(&g, &l.at[i], jumped, err);
    team_standing_close(&people);
    store_schedules_release(&l);
    *fired = g.fired;
    if (now / SWEEP_NS != t->wall / SWEEP_NS)
        team_schedule_secrets_sweep(p, now);
    if (!rc)
        *t = (struct team_schedule_ticker){.wall = now, .mono = mono};
    return rc;
}

static enum rc run_now(struct firing *g, const struct team_fire_plan *f, int64_t planned,
                       char id[JOB_ID_SIZE], struct err *err)
{
    struct err why = {0};
    enum rc rc = carry_out(g, f, planned, id, &why, err);
    if (rc || id[0])
        return rc;
    return err_coded(err, RC_INVAL, why.code ? why.code : E5106, "%s", why.msg);
}

/* In whose name it would be submitted decides, not who asks. */
static enum rc check_owner(const struct job_place *p, struct store_schedules *l,
                           struct err *err)
{
    struct team_standing people;
    enum rc rc = team_standing_open(p->store, p->account, &people, err);
    if (!rc)
        team_standing_schedules(&people, l);
    if (!rc && l->at[0].stopped)
        rc = err_coded(err, RC_INVAL, E5107, "schedule '%.100s' is stopped: %s",
                       l->at[0].name, l->at[0].stopped);
    team_standing_close(&people);
    return rc;
}

enum rc team_schedule_run(const struct job_place *p, const char *const *env,
                          const char *name, int64_t planned, char id[JOB_ID_SIZE],
                          bool *existed, struct err *err)
{
    struct firing g = {.p = p, .env = env, .now = clock_wall_ns()};
    struct store_schedules l = {0};
    struct store_run_rows rows = {0};
    struct team_fire_plan f;
    enum rc rc = team_schedule_get(p, name, &l, err);
    if (rc)
        return rc;
    rc = check_owner(p, &l, err);
    if (!rc && team_fire_elsewhere(p, &l.at[0]))
        rc =
            err_coded(err, RC_INVAL, E5108,
                      "the files of schedule '%.100s' are at %.200s", name, l.at[0].node);
    if (!rc)
        rc = team_fire_plan_open(&l.at[0], &f, err);
    if (!rc) {
        rc = claim(&g, name, planned, CLAIMED, &rows, err);
        *existed = !rc && rows.n && *rows.at[0].job;
        if (!rc && *existed)
            snprintf(id, JOB_ID_SIZE, "%s", rows.at[0].job);
        else if (!rc)
            rc = run_now(&g, &f, planned, id, err);
        team_fire_plan_close(&f);
    }
    store_run_rows_release(&rows);
    store_schedules_release(&l);
    return rc;
}
