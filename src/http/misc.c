/* SPDX-License-Identifier: Apache-2.0 */
/* About the server itself: health, readiness, the OpenAPI document, counters, audit log,
 * use of the machine. Health tells that the process answers, readiness that the store
 * does. Counters are printed in the text format of Prometheus: jobs by state are counted
 * in the store at that moment, all else is what this process has counted itself. Of the
 * use, admins see everything, others their own rows and those of their projects.
 */
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "http/api_private.h"
#include "http/handlers.h"
#include "job/state.h"
#include "store/audit.h"
#include "store/projects.h"

#define DAY (86400 * CLOCK_SECOND)

static void put_health(struct http_call *c)
{
    json_open(&c->json, NULL, '{');
    json_put_str(&c->json, "status", "ok");
    json_put_str(&c->json, "version", c->api->o.version);
    json_put_str(&c->json, "store", store_kind(c->place.store));
    json_put_bool(&c->json, "queue", c->api->watchdog != NULL);
    json_close(&c->json, '}');
}

enum rc http_get_health(struct http_call *c, struct err *err)
{
    put_health(c);
    return RC_OK;
}

enum rc http_get_ready(struct http_call *c, struct err *err)
{
    struct store_filter f = {.limit = 1};
    struct store_jobs jobs = {0};
    enum rc rc = store_list(c->place.store, &f, &jobs, err);
    store_jobs_release(&jobs);
    if (rc)
        c->status = 503;
    else
        put_health(c);
    return rc;
}

enum rc http_get_document(struct http_call *c, struct err *err)
{
    buf_puts(&c->out, c->api->document);
    return RC_OK;
}

static void misc_metric(struct buf *b, const char *name, const char *type,
                        const char *help)
{
    buf_printf(b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void put_answers(struct api *a, struct buf *b)
{
    size_t n;
    const struct http_route *all = http_route_all(&n);
    misc_metric(b, "trainyard_http_requests_total", "counter",
                "Answers by operation and kind");
    for (size_t i = 0; i <= n; i++)
        for (int k = 0; k < API_CLASSES; k++) {
            int64_t v = a->answers[i * API_CLASSES + (size_t)k];
            if (v)
                buf_printf(
                    b,
                    "trainyard_http_requests_total{operation=\"%s\",code=\"%dxx\"} "
                    "%jd\n",
                    i < n ? all[i].id : "none", k, (intmax_t)v);
        }
}

enum rc http_get_counters(struct http_call *c, struct err *err)
{
    struct store_count counts[JOB_STATES];
    size_t n = 0;
    struct buf *b = &c->out;
    struct api *a = c->api;
    enum rc rc = store_counts(c->place.store, counts, ARRAY_LEN(counts), &n, err);
    if (rc)
        return rc;
    c->type = "text/plain; version=0.0.4; charset=utf-8";
    misc_metric(b, "trainyard_jobs", "gauge", "Jobs by state");
    for (size_t i = 0; i < n; i++)
        buf_printf(b, "trainyard_jobs{state=\"%s\"} %jd\n", counts[i].state,
                   (intmax_t)counts[i].n);
    misc_metric(b, "trainyard_jobs_submitted_total", "counter",
                "Jobs taken by this server");
    buf_printf(b, "trainyard_jobs_submitted_total %jd\n", (intmax_t)a->submitted);
    misc_metric(b, "trainyard_log_followers", "gauge", "Streams of logs that are open");
    buf_printf(b, "trainyard_log_followers %jd\n",
               (intmax_t)http_follows_count(a->follows));
    misc_metric(b, "trainyard_http_connections", "gauge", "Open connections");
    buf_printf(b, "trainyard_http_connections %jd\n",
               (intmax_t)http_conns_count(a->conns));
    misc_metric(b, "trainyard_http_late_total", "counter",
                "Connections closed for slowness");
    buf_printf(b, "trainyard_http_late_total %jd\n", (intmax_t)http_conns_late(a->conns));
    put_answers(a, b);
    return RC_OK;
}

enum rc http_list_audit(struct http_call *c, struct err *err)
{
    struct store_audits l = {0};
    size_t limit = (size_t)http_schema_int(c->query, "limit", 100);
    struct store_audit_filter f = {.who = http_schema_text(c->query, "who", NULL),
                                   .action = http_schema_text(c->query, "action", NULL),
                                   .since = http_schema_time(c->query, "since"),
                                   .before = http_schema_int(c->query, "cursor", 0),
                                   .limit = limit + 1};
    enum rc rc = store_audit_get(c->place.store, &f, &l, err);
    if (rc)
        return rc;
    struct json_out *j = &c->json;
    size_t n = l.n < limit ? l.n : limit;
    json_open(j, NULL, '{');
    json_open(j, "entries", '[');
    for (size_t i = 0; i < n; i++) {
        json_open(j, NULL, '{');
        json_put_int(j, "cursor", l.at[i].num);
        json_put_time(j, "time", l.at[i].time);
        json_put_str(j, "who", l.at[i].who);
        json_put_str(j, "action", l.at[i].action);
        json_put_str(j, "object", l.at[i].object);
        json_put_str(j, "outcome", l.at[i].outcome);
        json_put_str(j, "address", l.at[i].address);
        json_close(j, '}');
    }
    json_close(j, ']');
    if (n < l.n)
        json_put_int(j, "next", l.at[n - 1].num);
    json_close(j, '}');
    store_audits_release(&l);
    return RC_OK;
}

enum rc http_list_usage(struct http_call *c, struct err *err)
{
    struct store_usages l = {0};
    bool project = strcmp(http_schema_text(c->query, "by", "owner"), "project") == 0;
    int64_t until = http_schema_time(c->query, "until"),
            since = http_schema_time(c->query, "since");
    until = until ? until : clock_wall_ns();
    since = since ? since : until - 30 * DAY;
    enum rc rc =
        store_usage_get(c->place.store, project ? STORE_BY_PROJECT : STORE_BY_OWNER,
                        since, until, &l, err);
    if (rc)
        return rc;
    struct json_out *j = &c->json;
    json_open(j, NULL, '{');
    json_open(j, "usage", '[');
    for (size_t i = 0; i < l.n; i++) {
        const struct store_usage *u = &l.at[i];
        bool mine = http_role_sees_all(c->who.role) ||
                    (project ? http_call_in_project(c, u->name)
                             : strcmp(u->name, c->who.name) == 0);
        if (!mine)
            continue;
        json_open(j, NULL, '{');
        json_put_str(j, "name", u->name);
        json_put_int(j, "jobs", u->jobs);
        json_put_int(j, "running", u->running);
        json_put_num(j, "cpu_s", (double)u->cpu_milli_s / 1000);
        json_put_int(j, "gpu_s", u->gpu_s);
        json_put_int(j, "memory_mib_s", u->memory_mib_s);
        json_close(j, '}');
    }
    json_close(j, ']');
    json_put_time(j, "since", since);
    json_put_time(j, "until", until);
    json_close(j, '}');
    store_usages_release(&l);
    return RC_OK;
}
