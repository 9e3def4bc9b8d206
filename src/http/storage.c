/* SPDX-License-Identifier: Apache-2.0 */
/* Room on the disk: who takes it, what is kept how long, and what goes. Jobs, contents and models
 * are counted and collected by job/, experiments by tune/retain.h, and both go into one answer;
 * an experiment that a thread of this server runs is left alone. Policies are checked by
 * team/retention.h before they are kept.
 */
#include "http/api_private.h"

#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "http/handlers.h"
#include "http/runs.h"
#include "job/remove.h"
#include "job/report.h"
#include "store/retention.h"
#include "team/retention.h"
#include "tune/retain.h"

static bool sees_row(const struct http_call *c, bool by_project, const char *name)
{
    return http_role_sees_all(c->who.role) ||
           (by_project ? *name && http_call_in_project(c, name)
                       : strcmp(name, c->who.name) == 0);
}

static void put_row(struct json_out *j, const struct job_report_row *r)
{
    json_open(j, NULL, '{');
    json_put_str(j, "name", r->name);
    json_put_int(j, "jobs", r->jobs);
    json_put_int(j, "job_bytes", r->job_bytes);
    json_put_int(j, "models", r->models);
    json_put_int(j, "stored_bytes", r->stored_bytes);
    json_put_int(j, "experiments", r->experiments);
    json_put_int(j, "experiment_bytes", r->experiment_bytes);
    json_close(j, '}');
}

enum rc http_get_storage(struct http_call *c, struct err *err)
{
    struct job_report r;
    struct json_out *j = &c->json;
    bool by_project = strcmp(http_schema_text(c->query, "by", "owner"), "project") == 0;
    enum rc rc = job_report_read(&c->place, by_project, &r, err);
    if (rc)
        return rc;
    tune_report_room(c->api->o.experiments, by_project, &r);
    json_open(j, NULL, '{');
    json_put_int(j, "total", r.disk.total);
    json_put_int(j, "free", r.disk.free);
    json_put_int(j, "min_free", r.disk.min_free);
    json_put_bool(j, "admits", r.disk.free >= r.disk.min_free);
    json_put_int(j, "here_bytes", r.here_bytes);
    json_open(j, "use", '[');
    for (size_t i = 0; i < r.rows.n; i++)
        if (sees_row(c, by_project, r.rows.at[i].name))
            put_row(j, &r.rows.at[i]);
    json_close(j, ']');
    json_close(j, '}');
    job_report_release(&r);
    return RC_OK;
}

static bool is_run(void *arg, const char *dir)
{
    return http_runs_has(arg, dir);
}

enum rc api_retain_experiments(struct api *a, struct store *s, bool dry,
                               struct tune_removed *out, struct err *err)
{
    enum rc rc =
        tune_retain(s, a->o.experiments, clock_wall_ns(), is_run, a->runs, dry, out, err);
    return rc ? rc : tune_note_code(s, a->o.place.node, a->o.experiments, err);
}

static enum rc collect_all(struct http_call *c, int64_t young, bool dry,
                           struct job_removed *out, struct tune_removed *gone,
                           struct err *err)
{
    enum rc rc = job_retain(&c->place, clock_wall_ns(), dry, out, err);
    if (!rc)
        rc = api_retain_experiments(c->api, c->place.store, dry, gone, err);
    return rc ? rc : job_collect(&c->place, young, dry, out, err);
}

enum rc http_collect_storage(struct http_call *c, struct err *err)
{
    struct job_removed n = {0};
    struct tune_removed gone = {0};
    bool dry = http_schema_bool(c->body, "dry_run", false);
    int64_t young = http_schema_int(c->body, "older_than_s", COLLECT_YOUNG_S);
    enum rc rc = c->who.role == ROLE_ADMIN
                     ? collect_all(c, young, dry, &n, &gone, err)
                     : job_collect_own(&c->place, young, dry, &n, err);
    if (rc)
        return rc;
    json_open(&c->json, NULL, '{');
    json_put_int(&c->json, "jobs", n.jobs);
    json_put_int(&c->json, "job_bytes", n.job_bytes);
    json_put_int(&c->json, "objects", n.objects);
    json_put_int(&c->json, "object_bytes", n.object_bytes);
    json_put_int(&c->json, "orphans", n.orphans);
    json_put_int(&c->json, "experiments", gone.experiments);
    json_put_int(&c->json, "experiment_bytes", gone.bytes);
    json_close(&c->json, '}');
    return RC_OK;
}

static void put_policy(struct json_out *j, const struct store_retention *x)
{
    json_open(j, NULL, '{');
    json_put_str(j, "name", x->name);
    json_put_int(j, "age_s", x->age_s);
    json_put_int(j, "jobs", x->jobs);
    json_put_int(j, "bytes", x->bytes);
    json_close(j, '}');
}

enum rc http_list_retention(struct http_call *c, struct err *err)
{
    struct store_retentions l = {0};
    enum rc rc = store_retention_get(c->place.store, NULL, &l, err);
    if (rc)
        return rc;
    json_open(&c->json, NULL, '{');
    json_open(&c->json, "policies", '[');
    for (size_t i = 0; i < l.n; i++)
        put_policy(&c->json, &l.at[i]);
    json_close(&c->json, ']');
    json_close(&c->json, '}');
    store_retentions_release(&l);
    return RC_OK;
}

enum rc http_put_retention(struct http_call *c, struct err *err)
{
    struct store_retention x = {.name = c->params[0],
                                .age_s = http_schema_int(c->body, "age_s", -1),
                                .jobs = http_schema_int(c->body, "jobs", -1),
                                .bytes = http_schema_int(c->body, "bytes", -1)};
    enum rc rc = team_retention_put(c->place.store, c->place.account, &x, err);
    if (!rc)
        put_policy(&c->json, &x);
    return rc;
}

enum rc http_delete_retention(struct http_call *c, struct err *err)
{
    return store_retention_delete(c->place.store, c->params[0], err);
}

enum rc http_delete_job(struct http_call *c, struct err *err)
{
    struct store_jobs jobs = {0};
    bool elsewhere = false;
    enum rc rc = http_call_job(c, &jobs, err);
    if (!rc)
        rc = http_call_need_owner(c, "job", jobs.at[0].owner, jobs.at[0].project, err);
    store_jobs_release(&jobs);
    if (!rc)
        rc = http_call_files(c, &jobs, &elsewhere, err);
    if (!rc && !elsewhere)
        rc = job_delete(&c->place, c->params[0], err);
    store_jobs_release(&jobs);
    return rc;
}
