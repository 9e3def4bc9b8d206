/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs at a server: its answers become the rows that the store of this machine would
 * have given.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cmd/job_common.h"
#include "cmd/job_exec.h"
#include "cmd/job_send.h"
#include "job/name.h"
#include "job/status.h"
#include "text/json.h"

static enum rc call_server(const struct cmd_place *p, const char *method, char *path,
                           const char *body, struct doc *doc, struct err *err)
{
    struct remote_ask q = {.method = method,
                           .path = path,
                           .type = body ? "application/json" : NULL,
                           .body = body,
                           .n = body ? strlen(body) : 0};
    enum rc rc = remote_call(&p->remote, &q, doc, NULL, err);
    mem_free(path);
    return rc;
}

static int64_t time_of(const struct node *n, const char *key)
{
    int64_t ns = 0;
    const char *text = node_get_text(n, key, "");
    return clock_from_rfc3339(str_c(text), &ns) ? ns : 0;
}

static const char *json_text_of(const struct node *n, struct arena *a)
{
    struct buf b;
    if (!n)
        return "";
    buf_init(&b, (size_t)64 << 20);
    json_print(n, 0, &b);
    const char *text = arena_strdup(a, buf_str(&b));
    buf_release(&b);
    return text;
}

/* Of a job in a list: what the list says of it. */
static const char *status_of(const struct node *n, struct arena *a)
{
    const struct node *status = node_find(n, "status");
    if (status)
        return json_text_of(status, a);
    if (!node_find(n, "array_index"))
        return "{}";
    char *text = mem_printf("{\"terms\": {\"array_index\": %jd}}",
                            (intmax_t)node_get_int(n, "array_index", 0));
    const char *kept = arena_strdup(a, text);
    mem_free(text);
    return kept;
}

static void take_job(const struct node *n, struct store_jobs *out)
{
    struct store_job *j = &out->at[out->n++];
    const struct {
        const char *name;
        const char **to;
    } texts[] = {
        {"id", &j->id},           {"name", &j->name},       {"owner", &j->owner},
        {"project", &j->project}, {"state", &j->state},     {"reason", &j->reason},
        {"queue", &j->queue},     {"backend", &j->backend}, {"client_token", &j->token},
        {"node", &j->node}};
    const struct {
        const char *name;
        int64_t *to;
    } numbers[] = {
        {"priority", &j->priority},   {"workers", &j->workers}, {"attempt", &j->attempt},
        {"cpu_milli", &j->cpu_milli}, {"memory", &j->memory},   {"gpu", &j->gpu},
        {"timeout_s", &j->timeout_s}, {"events", &j->seq},      {"cursor", &j->num}};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        *texts[i].to = arena_strdup(&out->arena, node_get_text(n, texts[i].name, ""));
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        *numbers[i].to = node_get_int(n, numbers[i].name, 0);
    j->created = time_of(n, "created");
    j->started = time_of(n, "started");
    j->finished = time_of(n, "finished");
    j->status = status_of(n, &out->arena);
}

static enum rc take_jobs(const struct node *list, size_t n, struct store_jobs *out,
                         struct err *err)
{
    out->at = arena_try_alloc(&out->arena, n + 1, sizeof(*out->at));
    if (!out->at)
        return err_set(err, RC_NOMEM, "out of memory for %zu jobs", n);
    for (size_t i = 0; i < n; i++)
        take_job(list->kind == NODE_LIST ? list->list.at[i] : list, out);
    return RC_OK;
}

static enum rc remote_get(const struct cmd_place *p, const char *id,
                          struct store_jobs *out, struct err *err)
{
    struct doc doc = {0};
    if (!job_id_ok(id))
        return err_coded(err, RC_NOTFOUND, E3103, "no job '%.64s'", id);
    enum rc rc =
        call_server(p, "GET", mem_printf("/api/v1/jobs/%s", id), NULL, &doc, err);
    *out = (struct store_jobs){.n = 0};
    if (!rc)
        rc = take_jobs(doc.root, 1, out, err);
    if (doc.src)
        doc_release(&doc);
    return rc;
}

static void put_param(struct buf *b, const char *name, const char *value)
{
    if (!value || !*value)
        return;
    buf_printf(b, "&%s=", name);
    io_http_escape(b, str_c(value), false);
}

static void put_moment(struct buf *b, const char *name, int64_t ns)
{
    char text[CLOCK_TEXT_SIZE];
    if (!ns)
        return;
    clock_rfc3339(ns, text);
    put_param(b, name, text);
}

static char *list_path(const struct store_filter *f, size_t limit, int64_t before)
{
    struct buf b;
    buf_init(&b, 1 << 16);
    buf_printf(&b, "/api/v1/jobs?limit=%zu", limit);
    put_param(&b, "state", f->states);
    put_param(&b, "owner", f->owner);
    put_param(&b, "project", f->project);
    put_param(&b, "queue", f->queue);
    put_param(&b, "backend", f->backend);
    put_param(&b, "name", f->name);
    put_param(&b, "id", f->id);
    if (f->label_key && *f->label_key) {
        char *label = f->label_value ? mem_printf("%s=%s", f->label_key, f->label_value)
                                     : mem_strdup(f->label_key);
        put_param(&b, "label", label);
        mem_free(label);
    }
    put_moment(&b, "since", f->since);
    put_moment(&b, "until", f->until);
    if (before)
        buf_printf(&b, "&cursor=%jd", (intmax_t)before);
    char *path = buf_take(&b);
    buf_release(&b);
    return path;
}

/* The server gives a thousand at a time. */
static enum rc remote_list(const struct cmd_place *p, const struct store_filter *f,
                           struct store_jobs *out, struct err *err)
{
    struct store_jobs l = {0};
    size_t limit = f->limit && f->limit < STORE_ROWS_MAX ? f->limit : STORE_ROWS_MAX;
    int64_t before = f->before;
    enum rc rc = RC_OK;
    l.at = arena_try_alloc(&l.arena, limit + 1, sizeof(*l.at));
    if (!l.at)
        return err_set(err, RC_NOMEM, "out of memory for %zu jobs", limit);
    do {
        struct doc doc = {0};
        size_t want = limit - l.n < 1000 ? limit - l.n : 1000;
        rc = call_server(p, "GET", list_path(f, want, before), NULL, &doc, err);
        const struct node *jobs = rc ? NULL : node_find(doc.root, "jobs");
        for (size_t i = 0;
             jobs && jobs->kind == NODE_LIST && i < jobs->list.n && l.n < limit; i++)
            take_job(jobs->list.at[i], &l);
        before = rc ? 0 : node_get_int(doc.root, "next", 0);
        if (doc.src)
            doc_release(&doc);
    } while (!rc && before && l.n < limit);
    if (rc)
        store_jobs_release(&l);
    else
        *out = l;
    return rc;
}

static enum rc remote_counts(const struct cmd_place *p, struct store_count *out,
                             size_t max, size_t *n, struct err *err)
{
    struct doc doc = {0};
    enum rc rc = call_server(p, "GET", mem_strdup("/api/v1/counts"), NULL, &doc, err);
    const struct node *map = rc ? NULL : node_find(doc.root, "counts");
    *n = 0;
    for (size_t i = 0; map && map->kind == NODE_MAP && i < map->map.n && *n < max; i++) {
        snprintf(out[*n].state, sizeof(out[*n].state), "%.*s", (int)map->map.at[i].key.n,
                 map->map.at[i].key.p);
        out[*n].n = 0;
        if (node_i64(map->map.at[i].value, &out[*n].n))
            ++*n;
    }
    if (doc.src)
        doc_release(&doc);
    return rc;
}

static enum rc remote_spec_of(const struct cmd_place *p, const char *id, char **out,
                              struct err *err)
{
    struct doc doc = {0};
    struct arena a = {0};
    if (!job_id_ok(id))
        return err_coded(err, RC_NOTFOUND, E3103, "no job '%.64s'", id);
    enum rc rc =
        call_server(p, "GET", mem_printf("/api/v1/jobs/%s", id), NULL, &doc, err);
    if (!rc)
        *out = mem_strdup(json_text_of(node_find(doc.root, "spec"), &a));
    arena_release(&a);
    if (doc.src)
        doc_release(&doc);
    return rc;
}

static void take_event(const struct node *n, struct store_events *out)
{
    struct arena *a = &out->arena;
    out->at[out->n++] =
        (struct store_event){.seq = node_get_int(n, "seq", 0),
                             .time = time_of(n, "time"),
                             .type = arena_strdup(a, node_get_text(n, "type", "")),
                             .reason = arena_strdup(a, node_get_text(n, "reason", "")),
                             .message = arena_strdup(a, node_get_text(n, "message", "")),
                             .data = json_text_of(node_find(n, "data"), a),
                             .attempt = node_get_int(n, "attempt", 0),
                             .worker = node_get_int(n, "worker", -1)};
}

static enum rc remote_events(const struct cmd_place *p, const char *id, int64_t after,
                             struct store_events *out, struct err *err)
{
    struct store_events l = {0};
    enum rc rc = RC_OK;
    l.at = arena_try_alloc(&l.arena, STORE_ROWS_MAX, sizeof(*l.at));
    if (!l.at)
        return err_set(err, RC_NOMEM, "out of memory for events");
    do {
        struct doc doc = {0};
        rc = call_server(p, "GET",
                         mem_printf("/api/v1/jobs/%s/events?limit=1000&after=%jd", id,
                                    (intmax_t)after),
                         NULL, &doc, err);
        const struct node *list_ = rc ? NULL : node_find(doc.root, "events");
        for (size_t i = 0; list_ && list_->kind == NODE_LIST && i < list_->list.n &&
                           l.n < STORE_ROWS_MAX;
             i++)
            take_event(list_->list.at[i], &l);
        after = rc ? 0 : node_get_int(doc.root, "next", 0);
        if (doc.src)
            doc_release(&doc);
    } while (!rc && after && l.n < STORE_ROWS_MAX);
    if (rc)
        store_events_release(&l);
    else
        *out = l;
    return rc;
}

static enum rc remote_points(const struct cmd_place *p, const char *id, int64_t after,
                             struct store_points *out, struct err *err)
{
    struct doc doc = {0};
    struct store_points l = {0};
    enum rc rc = call_server(
        p, "GET",
        mem_printf("/api/v1/jobs/%s/metrics?limit=10000&after=%jd", id, (intmax_t)after),
        NULL, &doc, err);
    const struct node *list_ = rc ? NULL : node_find(doc.root, "points");
    size_t n = list_ && list_->kind == NODE_LIST ? list_->list.n : 0;
    l.at = arena_try_alloc(&l.arena, n + 1, sizeof(*l.at));
    if (!rc && !l.at)
        rc = err_set(err, RC_NOMEM, "out of memory for %zu values", n);
    for (size_t i = 0; i < n && !rc; i++) {
        const struct node *x = list_->list.at[i];
        l.at[l.n++] = (struct store_point){
            .name = arena_strdup(&l.arena, node_get_text(x, "name", "")),
            .attempt = node_get_int(x, "attempt", 0),
            .worker = node_get_int(x, "worker", 0),
            .time = time_of(x, "time"),
            .step = node_get_int(x, "step", -1),
            .value = node_get_num(x, "value", 0)};
    }
    l.next = rc ? 0 : node_get_int(doc.root, "next", 0);
    if (doc.src)
        doc_release(&doc);
    if (rc)
        store_points_release(&l);
    else
        *out = l;
    return rc;
}

static enum rc remote_last_points(const struct cmd_place *p, const char *id,
                                  struct store_points *out, struct err *err)
{
    struct doc doc = {0};
    struct store_points l = {0};
    enum rc rc =
        call_server(p, "GET", mem_printf("/api/v1/jobs/%s", id), NULL, &doc, err);
    const struct node *map = rc ? NULL : node_find(doc.root, "metrics");
    size_t n = map && map->kind == NODE_MAP ? map->map.n : 0;
    l.at = arena_alloc(&l.arena, (n + 1) * sizeof(*l.at));
    for (size_t i = 0; i < n; i++)
        l.at[l.n++] = (struct store_point){
            .name = arena_strndup(&l.arena, map->map.at[i].key.p, map->map.at[i].key.n),
            .step = node_get_int(map->map.at[i].value, "step", -1),
            .value = node_get_num(map->map.at[i].value, "value", 0)};
    if (doc.src)
        doc_release(&doc);
    if (rc)
        store_points_release(&l);
    else
        *out = l;
    return rc;
}

static enum rc remote_ask(const struct cmd_place *p, const char *id, enum job_ask what,
                          struct job_request_result *out, struct err *err)
{
    static const char *const verbs[] = {"stop", "stop", "suspend", "resume"};
    struct doc doc = {0};
    *out = (struct job_request_result){.alone = false};
    if (!job_id_ok(id))
        return err_coded(err, RC_NOTFOUND, E3103, "no job '%.64s'", id);
    enum rc rc = call_server(p, "POST", mem_printf("/api/v1/jobs/%s/%s", id, verbs[what]),
                             what == JOB_ASK_KILL   ? "{\"force\": true}"
                             : what == JOB_ASK_STOP ? "{}"
                                                    : NULL,
                             &doc, err);
    if (!rc) {
        const struct node *ended = node_find(doc.root, "ended");
        if (!job_state_find(node_get_text(doc.root, "state", ""), &out->state))
            out->state = JOB_Unknown;
        out->ended = ended && ended->kind == NODE_BOOL && ended->flag;
    }
    if (doc.src)
        doc_release(&doc);
    return rc;
}

static enum rc remote_rerun(const struct cmd_place *p, const char *id,
                            struct job_submit_result *out, struct err *err)
{
    struct doc doc = {0};
    if (!job_id_ok(id))
        return err_coded(err, RC_NOTFOUND, E3103, "no job '%.64s'", id);
    *out = (struct job_submit_result){.existed = false};
    enum rc rc =
        call_server(p, "POST", mem_printf("/api/v1/jobs/%s/rerun", id), NULL, &doc, err);
    if (!rc)
        snprintf(out->id, sizeof(out->id), "%s", node_get_text(doc.root, "id", ""));
    if (doc.src)
        doc_release(&doc);
    return rc;
}

static enum rc remote_why(const struct cmd_place *p, const char *id, struct buf *out,
                          struct err *err)
{
    struct doc doc = {0};
    if (!job_id_ok(id))
        return err_coded(err, RC_NOTFOUND, E3103, "no job '%.64s'", id);
    enum rc rc =
        call_server(p, "GET", mem_printf("/api/v1/jobs/%s/why", id), NULL, &doc, err);
    if (!rc)
        buf_puts(out, node_get_text(doc.root, "why", ""));
    if (doc.src)
        doc_release(&doc);
    return rc;
}

void remote_take_outputs(const struct node *list, struct job_outputs *out)
{
    *out = (struct job_outputs){.list = {0}};
    struct arena *a = &out->arena;
    for (size_t i = 0; list && list->kind == NODE_LIST && i < list->list.n; i++) {
        const struct node *n = list->list.at[i];
        struct job_output o = {.channel =
                                   arena_strdup(a, node_get_text(n, "channel", "")),
                               .path = job_name_read(n, a),
                               .bytes = node_get_int(n, "bytes", 0),
                               .changed = time_of(n, "changed"),
                               .sha256 = arena_strdup(a, node_get_text(n, "sha256", "")),
                               .where = arena_strdup(a, node_get_text(n, "where", ""))};
        VEC_PUSH(&out->list, o);
    }
}

static enum rc log_call(const struct cmd_place *p, char *path,
                        struct io_http_reply *reply, struct err *err)
{
    struct remote_ask q = {.method = "GET", .path = path};
    enum rc rc = remote_call(&p->remote, &q, NULL, reply, err);
    mem_free(path);
    return rc;
}

static void log_name(int64_t worker, char out[24])
{
    if (worker == JOB_LOG_PREPARE)
        snprintf(out, 24, "prepare");
    else
        snprintf(out, 24, "%jd", (intmax_t)worker);
}

static enum rc remote_log_part(const struct cmd_place *p, const char *id, int64_t worker,
                               int64_t attempt, int64_t *at, struct buf *out,
                               struct err *err)
{
    struct io_http_reply reply = {0};
    int64_t next = 0;
    char log[24];
    log_name(worker, log);
    enum rc rc = log_call(
        p,
        mem_printf("/api/v1/jobs/%s/logs/%s?attempt=%jd&offset=%jd&limit=1048576", id,
                   log, (intmax_t)attempt, (intmax_t)*at),
        &reply, err);
    if (!rc && reply.body.n) {
        buf_add(out, reply.body.p, reply.body.n);
        bool told = str_to_i64(io_http_header(&reply, "Log-Next"), &next);
        *at = told ? next : *at + (int64_t)reply.body.n;
    }
    io_http_reply_release(&reply);
    return rc;
}

static enum rc remote_log_tail(const struct cmd_place *p, const char *id, int64_t worker,
                               int64_t attempt, int64_t lines, int64_t *at,
                               struct err *err)
{
    struct io_http_reply reply = {0};
    int64_t size = 0;
    char log[24];
    log_name(worker, log);
    enum rc rc = log_call(
        p,
        mem_printf("/api/v1/jobs/%s/logs/%s?attempt=%jd&tail=%jd&limit=4194304", id, log,
                   (intmax_t)attempt, (intmax_t)(lines > 100000 ? 100000 : lines)),
        &reply, err);
    *at = 0;
    if (!rc && str_to_i64(io_http_header(&reply, "Log-Size"), &size))
        *at = size - (int64_t)reply.body.n;
    io_http_reply_release(&reply);
    return rc;
}

static enum rc remote_log_moment(const struct cmd_place *p, const char *id,
                                 int64_t worker, int64_t attempt, int64_t ms, int64_t *at,
                                 struct err *err)
{
    struct io_http_reply reply = {0};
    int64_t size = 0, next = 0;
    char log[24];
    log_name(worker, log);
    enum rc rc =
        log_call(p,
                 mem_printf("/api/v1/jobs/%s/logs/%s?attempt=%jd&since=%jd&limit=1", id,
                            log, (intmax_t)attempt, (intmax_t)ms),
                 &reply, err);
    *at = 0;
    if (!rc && reply.body.n && str_to_i64(io_http_header(&reply, "Log-Next"), &next))
        *at = next - 1;
    else if (!rc && str_to_i64(io_http_header(&reply, "Log-Size"), &size))
        *at = size;
    io_http_reply_release(&reply);
    return rc;
}

static enum rc remote_outputs(const struct cmd_place *p, const char *id,
                              struct job_outputs *out, struct err *err)
{
    struct doc doc = {0};
    if (!job_id_ok(id))
        return err_coded(err, RC_NOTFOUND, E3103, "no job '%.64s'", id);
    enum rc rc =
        call_server(p, "GET", mem_printf("/api/v1/jobs/%s/outputs", id), NULL, &doc, err);
    if (!rc)
        remote_take_outputs(node_find(doc.root, "outputs"), out);
    if (doc.src)
        doc_release(&doc);
    return rc;
}

static enum rc remote_output(const struct cmd_place *p, const char *id,
                             const struct job_output *o, int64_t at, char version[80],
                             struct buf *out, struct err *err)
{
    struct buf path;
    buf_init(&path, 1 << 16);
    buf_printf(&path, "/api/v1/jobs/%s/outputs/", id);
    io_http_escape(&path, str_c(o->channel), false);
    bool plain = job_name_is_plain(o->path);
    buf_puts(&path, plain ? "?path=" : "?path_hex=");
    if (plain)
        io_http_escape(&path, str_c(o->path), false);
    else
        job_name_hex(o->path, &path);
    enum rc rc =
        remote_part(&p->remote, buf_str(&path), at, JOB_OUTPUT_PART, version, out, err);
    buf_release(&path);
    return rc;
}

static void take_dataset(const struct node *n, struct arena *a, struct store_dataset *d)
{
    *d = (struct store_dataset){
        .name = arena_strdup(a, node_get_text(n, "name", "")),
        .id = arena_strdup(a, node_get_text(n, "id", "")),
        .type = arena_strdup(a, node_get_text(n, "type", "")),
        .uri = arena_strdup(a, node_get_text(n, "path", "")),
        .mount = arena_strdup(a, node_get_text(n, "mount", "")),
        .options = node_get_bool(n, "writable", false) ? STORE_DATASET_WRITABLE : "",
        .owner = arena_strdup(a, node_get_text(n, "owner", "")),
        .created = time_of(n, "created")};
}

static enum rc remote_dataset_create(const struct cmd_place *p, struct store_dataset *d,
                                     struct arena *a, struct err *err)
{
    struct buf body;
    struct doc doc = {0};
    buf_init(&body, 1 << 16);
    struct json_out j = {.out = &body};
    json_open(&j, NULL, '{');
    json_put_str(&j, "name", d->name);
    json_put_str(&j, "type", d->type);
    json_put_str(&j, "path", d->uri);
    json_put_str(&j, "mount", d->mount);
    if (store_dataset_writable(d))
        json_put_bool(&j, "writable", true);
    json_close(&j, '}');
    enum rc rc =
        call_server(p, "POST", mem_strdup("/api/v1/datasets"), buf_str(&body), &doc, err);
    if (!rc)
        take_dataset(doc.root, a, d);
    if (doc.src)
        doc_release(&doc);
    buf_release(&body);
    return rc;
}

static char *dataset_path(const char *name)
{
    struct buf b;
    buf_init(&b, 1 << 14);
    buf_puts(&b, "/api/v1/datasets/");
    io_http_escape(&b, str_c(name), false);
    char *path = buf_take(&b);
    buf_release(&b);
    return path;
}

static enum rc remote_dataset_get(const struct cmd_place *p, const char *name,
                                  struct store_datasets *out, struct err *err)
{
    struct doc doc = {0};
    struct store_datasets l = {0};
    enum rc rc =
        call_server(p, "GET", name ? dataset_path(name) : mem_strdup("/api/v1/datasets"),
                    NULL, &doc, err);
    const struct node *list_ = rc || name ? NULL : node_find(doc.root, "datasets");
    size_t n = name ? 1 : list_ && list_->kind == NODE_LIST ? list_->list.n : 0;
    l.at = arena_alloc(&l.arena, (n + 1) * sizeof(*l.at));
    for (size_t i = 0; i < n && !rc; i++)
        take_dataset(name ? doc.root : list_->list.at[i], &l.arena, &l.at[l.n++]);
    if (doc.src)
        doc_release(&doc);
    if (rc)
        store_datasets_release(&l);
    else
        *out = l;
    return rc;
}

static enum rc remote_dataset_delete(const struct cmd_place *p, const char *name,
                                     struct err *err)
{
    return call_server(p, "DELETE", dataset_path(name), NULL, NULL, err);
}

const struct job_ops job_ops_remote = {
    .name = "server",
    .team = &team_ops_remote,
    .storage = &storage_ops_remote,
    .models = &registry_ops_remote,
    .nap_ns = 300000000,
    .get = remote_get,
    .list = remote_list,
    .counts = remote_counts,
    .spec = remote_spec_of,
    .events = remote_events,
    .points = remote_points,
    .last_points = remote_last_points,
    .submit = job_send,
    .ask = remote_ask,
    .rerun = remote_rerun,
    .why = remote_why,
    .exec = job_exec_remote,
    .log = remote_log_part,
    .log_tail = remote_log_tail,
    .log_moment = remote_log_moment,
    .outputs = remote_outputs,
    .output = remote_output,
    .dataset_create = remote_dataset_create,
    .dataset_get = remote_dataset_get,
    .dataset_delete = remote_dataset_delete,
};
