/* SPDX-License-Identifier: Apache-2.0 */
/* Routine runs: made, shown, paused, run by hand. Handlers here check who may see a
 * schedule and turn bodies into rows; cron, time zones and catching up are the affair of
 * team/, where what is due is submitted. The job of a schedule passes the same rules as
 * one that is submitted (http/job_body.c), but when the schedule is made, and is kept as
 * it was then: its uploads are not collected, its secrets lie in a file, while it lives. A schedule that the caller may not see is answered like one that does not
 * exist.
 */
#include "store/schedules.h"

#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "http/api_private.h"
#include "http/forward.h"
#include "http/handlers.h"
#include "http/job_body.h"
#include "job/snapshot.h"
#include "job/status.h"
#include "team/fire.h"
#include "team/schedule.h"
#include "team/schedule_json.h"
#include "team/standing.h"
#include "text/json.h"

static bool schedules_seen(const struct http_call *c, const struct store_schedule *x)
{
    return http_role_sees_all(c->who.role) || strcmp(x->owner, c->who.name) == 0 ||
           (*x->project && http_call_in_project(c, x->project));
}

/* params[0], if the caller may see it. */
static enum rc schedules_find(struct http_call *c, struct store_schedules *out,
                              struct err *err)
{
    enum rc rc = team_schedule_get(&c->place, c->params[0], out, err);
    if (!rc && !schedules_seen(c, &out->at[0])) {
        store_schedules_release(out);
        rc = err_coded(err, RC_NOTFOUND, E5103, "no schedule '%.128s'", c->params[0]);
    }
    if (rc == RC_NOTFOUND)
        c->status = 404;
    return rc;
}

/* Without the path that the server filled in. */
static void put_schedule(struct http_call *c, const struct store_schedule *x,
                         const struct store_run_rows *runs)
{
    struct store_schedule shown = *x;
    char *spec = http_job_body_shown(x->spec);
    shown.spec = spec;
    team_schedule_json(&shown, runs, &c->out);
    mem_free(spec);
}

enum rc http_list_schedules(struct http_call *c, struct err *err)
{
    struct store_schedules l = {0};
    struct team_standing people = {0};
    bool any = false;
    enum rc rc = store_schedule_get(c->place.store, NULL, &l, err);
    if (!rc)
        rc = team_standing_open(c->place.store, c->place.account, &people, err);
    if (rc) {
        store_schedules_release(&l);
        return rc;
    }
    team_standing_schedules(&people, &l);
    buf_puts(&c->out, "{\"schedules\":[");
    for (size_t i = 0; i < l.n; i++) {
        if (!schedules_seen(c, &l.at[i]))
            continue;
        buf_puts(&c->out, any ? "," : "");
        put_schedule(c, &l.at[i], NULL);
        any = true;
    }
    buf_puts(&c->out, "]}");
    team_standing_close(&people);
    store_schedules_release(&l);
    return RC_OK;
}

static enum rc schedules_answer(struct http_call *c, const char *name, struct err *err)
{
    struct store_schedules l = {0};
    struct store_run_rows runs = {0};
    struct team_standing people = {0};
    enum rc rc = team_schedule_get(&c->place, name, &l, err);
    if (!rc)
        rc = team_standing_open(c->place.store, c->place.account, &people, err);
    team_standing_schedules(&people, &l);
    if (!rc)
        rc = store_schedule_runs(c->place.store, name, 0, 10, &runs, err);
    if (!rc)
        put_schedule(c, &l.at[0], &runs);
    team_standing_close(&people);
    store_run_rows_release(&runs);
    store_schedules_release(&l);
    return rc;
}

enum rc http_get_schedule(struct http_call *c, struct err *err)
{
    struct store_schedules l = {0};
    enum rc rc = schedules_find(c, &l, err);
    store_schedules_release(&l);
    return rc ? rc : schedules_answer(c, c->params[0], err);
}

/* Inputs that were sent are there: it would be too late to say so at night. */
static enum rc check_uploads(struct http_call *c, const struct job_spec *spec,
                             struct err *err)
{
    char *objects = job_place_objects(&c->place);
    enum rc rc = RC_OK;
    for (int64_t i = 0; i < spec->s->n_input && !rc; i++) {
        struct job_snapshot s;
        const char *uri = spec->s->input[i].value, *id = uri + strlen(SNAPSHOT_PREFIX);
        if (!str_starts(uri, SNAPSHOT_PREFIX))
            continue;
        id = arena_strndup(&c->arena, id, strcspn(id, "/"));
        rc = job_snapshot_need(objects, id, true, &s, err);
        if (rc)
            rc = err_wrap(err, rc, "input '%.100s'", spec->s->input[i].key);
    }
    mem_free(objects);
    return rc;
}

static enum rc write_row(struct http_call *c, const struct job_spec *spec,
                         const char *const *secrets, struct err *err)
{
    const struct node *b = c->body, *params = node_find(b, "params");
    const char *catch_up = http_schema_text(b, "catch_up", "last"),
               *overlap = http_schema_text(b, "overlap", "skip");
    struct team_schedule_policy policy;
    struct buf job, given;
    buf_init(&job, (size_t)64 << 20);
    buf_init(&given, (size_t)1 << 20);
    job_spec_print(spec, &job);
    if (params)
        json_print(params, 0, &given);
    enum rc rc = buf_check(&job, err);
    if (!rc)
        rc = buf_check(&given, err);
    if (!rc)
        rc = team_schedule_policy_read(catch_up, overlap, &policy, err);
    if (!rc) {
        struct store_schedule x = {
            .name = http_schema_text(b, "name", ""),
            .owner = c->who.name,
            .project = spec->s->has_project ? spec->s->project : "",
            .cron = http_schema_text(b, "cron", ""),
            .zone = http_schema_text(b, "zone", "UTC"),
            .spec = buf_str(&job),
            .params = params ? buf_str(&given) : "{}",
            .catch_up = arena_printf(&c->arena, "%s %s", catch_up, overlap),
            .paused = http_schema_bool(b, "paused", false)};
        rc = team_schedule_create(&c->place, &x, secrets, clock_wall_ns(), err);
    }
    buf_release(&given);
    buf_release(&job);
    return rc;
}

enum rc http_create_schedule(struct http_call *c, struct err *err)
{
    struct job_spec spec = {0};
    const char *name = http_schema_text(c->body, "name", "");
    struct node *job = node_find(c->body, "job");
    const struct node *secrets = NULL;
    const char *const *values = NULL;
    enum rc rc = http_job_body_secrets(c, job, &secrets, &values, err);
    if (rc)
        return rc;
    rc = http_job_body_read(c, job, secrets, &spec, err);
    if (!rc)
        rc = check_uploads(c, &spec, err);
    if (!rc)
        rc = write_row(c, &spec, values, err);
    if (!rc) {
        c->location = arena_printf(&c->arena, "/api/v1/schedules/%s", name);
        rc = schedules_answer(c, name, err);
    }
    return http_job_body_end(c, &spec, rc, err);
}

/* params[0], if the caller may act as its owner. */
static enum rc schedules_own(struct http_call *c, struct store_schedules *out,
                             struct err *err)
{
    enum rc rc = schedules_find(c, out, err);
    return rc ? rc
              : http_call_need_owner(c, "schedule", out->at[0].owner, out->at[0].project,
                                     err);
}

/* A new job runs in the name of the owner, whose files and secrets it needs; parameters become
 * part of its command.
 */
static enum rc read_new_job(struct http_call *c, const char *owner, struct job_spec *out,
                            const char *const **values, struct err *err)
{
    struct node *job = node_find(c->body, "job");
    const struct node *secrets = NULL;
    if ((job || node_find(c->body, "params")) && strcmp(owner, c->who.name) != 0)
        return http_call_forbid(
            c, err, "only '%.100s' may change the job or the parameters of this schedule",
            owner);
    if (!job)
        return RC_OK;
    enum rc rc = http_job_body_secrets(c, job, &secrets, values, err);
    if (!rc)
        rc = http_job_body_read(c, job, secrets, out, err);
    return rc ? rc : check_uploads(c, out, err);
}

static enum rc change_row(struct http_call *c, const struct job_spec *spec,
                          const char *const *secrets, int64_t created, struct err *err)
{
    const struct node *b = c->body, *params = node_find(b, "params");
    struct buf job, given;
    buf_init(&job, (size_t)64 << 20);
    buf_init(&given, (size_t)1 << 20);
    if (spec->s)
        job_spec_print(spec, &job);
    if (params)
        json_print(params, 0, &given);
    enum rc rc = buf_check(&job, err);
    if (!rc)
        rc = buf_check(&given, err);
    struct team_schedule_change change = {
        .cron = http_schema_text(b, "cron", NULL),
        .zone = http_schema_text(b, "zone", NULL),
        .catch_up = http_schema_text(b, "catch_up", NULL),
        .overlap = http_schema_text(b, "overlap", NULL),
        .params = params ? buf_str(&given) : NULL,
        .created = created,
        .spec = spec->s ? buf_str(&job) : NULL,
        .project = spec->s && spec->s->has_project ? spec->s->project : ""};
    if (!rc)
        rc = team_schedule_update(&c->place, c->params[0], &change, secrets,
                                  clock_wall_ns(), err);
    buf_release(&given);
    buf_release(&job);
    return rc;
}

enum rc http_update_schedule(struct http_call *c, struct err *err)
{
    struct store_schedules l = {0};
    struct job_spec spec = {0};
    const char *const *values = NULL;
    enum rc rc = schedules_own(c, &l, err);
    if (rc)
        return rc;
    rc = read_new_job(c, l.at[0].owner, &spec, &values, err);
    http_call_lock(c); /* if it was answered aside for a model */
    if (!rc)
        rc = change_row(c, &spec, values, l.at[0].created, err);
    if (!rc)
        rc = schedules_answer(c, c->params[0], err);
    store_schedules_release(&l);
    return http_job_body_end(c, &spec, rc, err);
}

enum rc http_delete_schedule(struct http_call *c, struct err *err)
{
    struct store_schedules l = {0};
    enum rc rc = schedules_own(c, &l, err);
    store_schedules_release(&l);
    return rc ? rc : team_schedule_delete(&c->place, c->params[0], err);
}

static enum rc set_paused(struct http_call *c, bool paused, struct err *err)
{
    struct store_schedules l = {0};
    enum rc rc = schedules_find(c, &l, err);
    store_schedules_release(&l);
    if (!rc)
        rc = team_schedule_pause(&c->place, c->params[0], paused, clock_wall_ns(), err);
    return rc ? rc : schedules_answer(c, c->params[0], err);
}

enum rc http_pause_schedule(struct http_call *c, struct err *err)
{
    return set_paused(c, true, err);
}

enum rc http_resume_schedule(struct http_call *c, struct err *err)
{
    return set_paused(c, false, err);
}

enum rc http_run_schedule(struct http_call *c, struct err *err)
{
    struct store_schedules l = {0};
    char id[JOB_ID_SIZE];
    bool existed = false;
    int64_t planned = c->body ? http_schema_time(c->body, "planned") : 0;
    enum rc rc = schedules_own(c, &l, err);
    const char *node = rc ? "" : arena_strdup(&c->arena, l.at[0].node);
    store_schedules_release(&l);
    if (!rc && *node && strcmp(node, c->place.node) != 0)
        return http_forward(c, node, err);
    if (!rc)
        rc = team_schedule_run(&c->place, c->api->job_env, c->params[0],
                               planned ? planned : clock_wall_ns(), id, &existed, err);
    if (rc)
        return rc;
    backend_watchdog_poke(c->api->watchdog);
    json_open(&c->json, NULL, '{');
    json_put_str(&c->json, "job", id);
    json_put_bool(&c->json, "existed", existed);
    json_close(&c->json, '}');
    return RC_OK;
}

enum rc http_list_runs(struct http_call *c, struct err *err)
{
    struct store_schedules l = {0};
    struct store_run_rows runs = {0};
    size_t limit = (size_t)http_schema_int(c->query, "limit", 50);
    enum rc rc = schedules_find(c, &l, err);
    store_schedules_release(&l);
    if (!rc)
        rc = store_schedule_runs(c->place.store, c->params[0],
                                 http_schema_time(c->query, "before"), limit, &runs, err);
    if (rc)
        return rc;
    buf_puts(&c->out, "{\"runs\":[");
    for (size_t i = 0; i < runs.n; i++) {
        buf_puts(&c->out, i ? "," : "");
        team_schedule_run_json(&runs.at[i], &c->out);
    }
    buf_putc(&c->out, ']');
    if (runs.n == limit) {
        c->json.comma = true;
        json_put_time(&c->json, "next", runs.at[runs.n - 1].planned);
    }
    buf_putc(&c->out, '}');
    store_run_rows_release(&runs);
    return RC_OK;
}
