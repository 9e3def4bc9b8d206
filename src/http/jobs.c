/* SPDX-License-Identifier: Apache-2.0 */
/* Looking at jobs: lists, counts, one job with its specification and last metrics,
 * events, points of metrics, the script that a job amounts to. Who is no admin sees their
 * own jobs and those of their projects; the store filters lists, http_call_job() guards
 * the rest. Pages go by a cursor (`next`), not by an offset, so jobs that come in between
 * shift nothing; the list of jobs asks for one row more than it shows, to know whether
 * there is another page.
 */
#include <string.h>

#include "backend/agent.h"
#include "backend/capacity.h"
#include "base/clock.h"
#include "base/mem.h"
#include "http/api_private.h"
#include "http/handlers.h"
#include "http/job_body.h"
#include "job/spec.h"
#include "job/state.h"
#include "job/status.h"

#define PAGE 50

/* Which job of an array it is, so that one that was run again is known to take its place. */
static void put_array(struct json_out *o, const struct store_job *j)
{
    struct doc doc = {0};
    if (!strstr(j->status, "\"array_index\": "))
        return;
    const struct node *terms = node_find(job_json_open(j->status, &doc), "terms");
    if (node_find(terms, "array_index")) {
        json_put_str(o, "array", node_get_text(terms, "array", ""));
        json_put_int(o, "array_index", node_get_int(terms, "array_index", 0));
    }
    if (doc.src)
        doc_release(&doc);
}

static void put_row(struct json_out *o, const struct store_job *j)
{
    json_put_str(o, "id", j->id);
    json_put_str(o, "name", j->name);
    json_put_str(o, "owner", j->owner);
    json_put_str(o, "project", j->project);
    json_put_str(o, "state", j->state);
    json_put_str(o, "reason", j->reason);
    json_put_str(o, "queue", j->queue);
    json_put_str(o, "backend", j->backend);
    json_put_int(o, "priority", j->priority);
    json_put_int(o, "workers", j->workers);
    json_put_int(o, "attempt", j->attempt);
    json_put_int(o, "cpu_milli", j->cpu_milli);
    json_put_int(o, "memory", j->memory);
    json_put_int(o, "gpu", j->gpu);
    json_put_int(o, "timeout_s", j->timeout_s);
    json_put_int(o, "events", j->seq);
    json_put_int(o, "cursor", j->num);
    put_array(o, j);
    json_put_time(o, "created", j->created);
    json_put_time(o, "started", j->started);
    json_put_time(o, "finished", j->finished);
}

void http_call_put_job(struct http_call *c, const char *key, const struct store_job *j)
{
    json_open(&c->json, key, '{');
    put_row(&c->json, j);
    json_close(&c->json, '}');
}

static enum rc check_states(const char *states, struct arena *a, struct err *err)
{
    struct str rest = str_c(states), part;
    enum job_state s;
    while (rest.n && str_split(&rest, ',', &part))
        if (!job_state_find(arena_strndup(a, part.p, part.n), &s))
            return err_coded(err, RC_INVAL, E5006,
                             "'state': no state '%.*s'; there are %s,Succeeded,Failed,"
                             "Stopped",
                             (int)(part.n < 40 ? part.n : 40), part.p, job_live_states());
    return RC_OK;
}

static void take_filter(struct http_call *c, struct store_filter *f)
{
    const struct node *q = c->query;
    const char *label = http_schema_text(q, "label", NULL);
    const char *eq = label ? strchr(label, '=') : NULL;
    *f =
        (struct store_filter){.states = http_schema_text(q, "state", NULL),
                              .owner = http_schema_text(q, "owner", NULL),
                              .project = http_schema_text(q, "project", NULL),
                              .queue = http_schema_text(q, "queue", NULL),
                              .backend = http_schema_text(q, "backend", NULL),
                              .name = http_schema_text(q, "name", NULL),
                              .id = http_schema_text(q, "id", NULL),
                              .without_label = http_schema_text(q, "without_label", NULL),
                              .since = http_schema_time(q, "since"),
                              .until = http_schema_time(q, "until"),
                              .before = http_schema_int(q, "cursor", 0),
                              .limit = (size_t)http_schema_int(q, "limit", PAGE) + 1};
    if (label)
        f->label_key =
            arena_strndup(&c->arena, label, eq ? (size_t)(eq - label) : strlen(label));
    if (eq)
        f->label_value = eq + 1;
    if (!http_role_sees_all(c->who.role)) {
        f->seen_by = c->who.name;
        f->seen_projects = c->who.projects;
    }
}

enum rc http_list_jobs(struct http_call *c, struct err *err)
{
    struct store_filter f;
    struct store_jobs jobs = {0};
    take_filter(c, &f);
    enum rc rc = f.states ? check_states(f.states, &c->arena, err) : RC_OK;
    if (!rc)
        rc = store_list(c->place.store, &f, &jobs, err);
    if (rc)
        return rc;
    size_t n = jobs.n < f.limit ? jobs.n : f.limit - 1;
    json_open(&c->json, NULL, '{');
    json_open(&c->json, "jobs", '[');
    for (size_t i = 0; i < n; i++)
        http_call_put_job(c, NULL, &jobs.at[i]);
    json_close(&c->json, ']');
    if (n < jobs.n)
        json_put_int(&c->json, "next", jobs.at[n - 1].num);
    json_close(&c->json, '}');
    store_jobs_release(&jobs);
    return RC_OK;
}

enum rc http_count_jobs(struct http_call *c, struct err *err)
{
    struct store_count counts[JOB_STATES];
    struct store_filter mine = {.seen_by =
                                    http_role_sees_all(c->who.role) ? NULL : c->who.name,
                                .seen_projects = c->who.projects};
    size_t n = 0;
    enum rc rc =
        store_counts_of(c->place.store, &mine, counts, ARRAY_LEN(counts), &n, err);
    if (rc)
        return rc;
    json_open(&c->json, NULL, '{');
    json_open(&c->json, "counts", '{');
    for (size_t i = 0; i < n; i++)
        json_put_int(&c->json, counts[i].state, counts[i].n);
    json_close(&c->json, '}');
    json_close(&c->json, '}');
    return RC_OK;
}

static enum rc put_last_points(struct http_call *c, const char *id, struct err *err)
{
    struct store_points points = {0};
    enum rc rc = store_points_last(c->place.store, id, &points, err);
    if (rc)
        return rc;
    json_open(&c->json, "metrics", '{');
    for (size_t i = 0; i < points.n; i++) {
        json_open(&c->json, points.at[i].name, '{');
        json_put_num(&c->json, "value", points.at[i].value);
        json_put_int(&c->json, "step", points.at[i].step);
        json_close(&c->json, '}');
    }
    json_close(&c->json, '}');
    store_points_release(&points);
    return RC_OK;
}

enum rc http_get_job(struct http_call *c, struct err *err)
{
    struct store_jobs jobs = {0};
    char *spec = NULL;
    enum rc rc = http_call_job(c, &jobs, err);
    if (!rc)
        rc = store_spec(c->place.store, c->params[0], &spec, err);
    if (!rc) {
        json_open(&c->json, NULL, '{');
        put_row(&c->json, &jobs.at[0]);
        char *shown = http_job_body_shown(spec);
        json_put_raw(&c->json, "spec", shown);
        mem_free(shown);
        json_put_raw(&c->json, "status", *jobs.at[0].status ? jobs.at[0].status : "{}");
        rc = put_last_points(c, c->params[0], err);
        json_close(&c->json, '}');
    }
    mem_free(spec);
    store_jobs_release(&jobs);
    return rc;
}

enum rc http_list_events(struct http_call *c, struct err *err)
{
    struct store_jobs jobs = {0};
    struct store_events ev = {0};
    size_t limit = (size_t)http_schema_int(c->query, "limit", 200);
    enum rc rc = http_call_job(c, &jobs, err);
    store_jobs_release(&jobs);
    if (!rc)
        rc = store_events_get(c->place.store, c->params[0],
                              http_schema_int(c->query, "after", 0), limit, &ev, err);
    if (rc)
        return rc;
    json_open(&c->json, NULL, '{');
    json_open(&c->json, "events", '[');
    for (size_t i = 0; i < ev.n; i++) {
        const struct store_event *e = &ev.at[i];
        json_open(&c->json, NULL, '{');
        json_put_int(&c->json, "seq", e->seq);
        json_put_time(&c->json, "time", e->time);
        json_put_str(&c->json, "type", e->type);
        json_put_int(&c->json, "attempt", e->attempt);
        if (e->worker >= 0)
            json_put_int(&c->json, "worker", e->worker);
        if (*e->reason)
            json_put_str(&c->json, "reason", e->reason);
        if (*e->message)
            json_put_str(&c->json, "message", e->message);
        if (*e->data)
            json_put_raw(&c->json, "data", e->data);
        json_close(&c->json, '}');
    }
    json_close(&c->json, ']');
    if (ev.n == limit)
        json_put_int(&c->json, "next", ev.at[ev.n - 1].seq);
    json_close(&c->json, '}');
    store_events_release(&ev);
    return RC_OK;
}

enum rc http_list_points(struct http_call *c, struct err *err)
{
    struct store_jobs jobs = {0};
    struct store_points l = {0};
    size_t limit = (size_t)http_schema_int(c->query, "limit", 1000);
    enum rc rc = http_call_job(c, &jobs, err);
    store_jobs_release(&jobs);
    if (!rc)
        rc = store_points_get(c->place.store, c->params[0],
                              http_schema_text(c->query, "name", NULL),
                              http_schema_int(c->query, "after", 0), limit, &l, err);
    if (rc)
        return rc;
    json_open(&c->json, NULL, '{');
    json_open(&c->json, "points", '[');
    for (size_t i = 0; i < l.n; i++) {
        const struct store_point *x = &l.at[i];
        json_open(&c->json, NULL, '{');
        json_put_str(&c->json, "name", x->name);
        if (x->value - x->value == 0) /* finite */
            json_put_num(&c->json, "value", x->value);
        json_put_int(&c->json, "step", x->step);
        json_put_int(&c->json, "attempt", x->attempt);
        json_put_int(&c->json, "worker", x->worker);
        json_put_time(&c->json, "time", x->time);
        json_close(&c->json, '}');
    }
    json_close(&c->json, ']');
    if (l.n == limit)
        json_put_int(&c->json, "next", l.next);
    json_close(&c->json, '}');
    store_points_release(&l);
    return RC_OK;
}

enum rc http_script_job(struct http_call *c, struct err *err)
{
    struct store_jobs jobs = {0};
    struct job_spec spec = {0};
    char *text = NULL;
    enum rc rc = http_call_job(c, &jobs, err);
    store_jobs_release(&jobs);
    if (!rc)
        rc = store_spec(c->place.store, c->params[0], &text, err);
    if (!rc)
        rc = job_spec_from_json(text, &spec, err);
    if (!rc) {
        c->type = "text/plain; charset=utf-8";
        job_spec_script(&spec, &c->out);
    }
    job_spec_release(&spec);
    mem_free(text);
    return rc;
}
