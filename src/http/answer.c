/* SPDX-License-Identifier: Apache-2.0 */
/* From a whole request to an answer, on a thread of the server: the body is read and
 * checked against the table of its route, the handler writes into c->out, and changes and
 * refusals go to the audit log. Handlers that change something queue on one lock where
 * the store is SQLite, which has one writer. An error throws away what was written and
 * becomes JSON; its code gives the status, its rc where the code has none of its own.
 * What handlers share stands here as well: which job or project the caller may see.
 */
#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "http/api_private.h"
#include "http/experiments.h"
#include "http/forward.h"
#include "http/handlers.h"
#include "job/archive.h"
#include "store/audit.h"
#include "text/diag.h"
#include "text/json.h"

#define LOG_AREA "server"
#define AUDIT_MAX 2000
#define OUT_MAX ((size_t)64 << 20)

static const struct {
    enum code code;
    unsigned status;
} by_code[] = {
    {E3011, 409}, {E3014, 409}, {E3102, 503}, {E3103, 404}, {E3104, 409}, {E3106, 409},
    {E3107, 404}, {E3108, 507}, {E3110, 409}, {E3111, 404}, {E5103, 404}, {E5104, 409},
    {E5202, 404}, {E5304, 404}, {E3204, 422}, {E5003, 400}, {E5006, 400}, {E5008, 401},
    {E5009, 401}, {E5010, 403}, {E5014, 400}, {E4002, 500}, {E4005, 500}, {E4008, 404},
    {E4014, 409}, {E4021, 409}, {E4015, 500}, {E5501, 413}, {E5502, 404}, {E5510, 503},
    {E5033, 503}, {E5038, 403}, {E3023, 429},
};

static unsigned status_of(enum rc rc, enum code code)
{
    for (size_t i = 0; i < ARRAY_LEN(by_code); i++)
        if (by_code[i].code == code)
            return by_code[i].status;
    switch (rc) {
    case RC_NOTFOUND: /* something that the request names, not the address itself */
    case RC_INVAL:
    case RC_FORMAT:
    case RC_UNSUPPORTED:
        return 422;
    case RC_CANCELED:
        return 409;
    case RC_NOMEM:
        return 503;
    default:
        return 500;
    }
}

static void put_problems(struct http_call *c)
{
    struct json_out *j = &c->json;
    json_open(j, "problems", '[');
    for (size_t i = 0; i < c->problems->list.n && i < 100; i++) {
        const struct diag *d = &c->problems->list.at[i];
        const struct code_info *info = code_info(d->code);
        uint32_t line = 0, column = 0;
        if (d->severity != DIAG_ERROR)
            continue;
        json_open(j, NULL, '{');
        if (info)
            json_put_str(j, "code", info->id);
        if (d->at.src) {
            source_locate(d->at.src, d->at.off, &line, &column);
            json_put_int(j, "line", line);
            json_put_int(j, "column", column);
        }
        json_put_str(j, "message", d->msg);
        if (d->hint)
            json_put_str(j, "hint", d->hint);
        json_close(j, '}');
    }
    json_close(j, ']');
}

/* Whoever met the full disk said so in the system's words. */
static bool disk_full(enum rc rc, const struct err *err)
{
    return rc == RC_IO && strstr(err->msg, strerror(ENOSPC));
}

void api_fail(struct http_call *c, enum rc rc, const struct err *err)
{
    enum code code = disk_full(rc, err) ? E3108 : err_code_of(err, rc);
    const struct code_info *info = code_info(code);
    if (!c->status)
        c->status = status_of(rc, code);
    buf_clear(&c->out);
    c->n_headers = 0;
    c->policy = c->cache = NULL;
    c->type = "application/json";
    c->json = (struct json_out){.out = &c->out};
    json_open(&c->json, NULL, '{');
    json_put_str(&c->json, "code", info ? info->id : "E0001");
    json_put_str(&c->json, "title", info ? info->title : "failure");
    json_put_str(&c->json, "message", err->msg);
    if (c->problems && c->problems->list.n)
        put_problems(c);
    json_close(&c->json, '}');
    buf_putc(&c->out, '\n');
    if (c->status >= 500)
        log_error("%s %s: %s", c->route ? c->route->id : "request", c->address, err->msg);
}

static enum rc body_too_large(struct http_call *c, struct err *err)
{
    c->status = 413;
    return err_coded(err, RC_INVAL, E5012, "the body has more than %zu bytes",
                     c->raw.max);
}

static enum rc parse_json(struct http_call *c, struct err *err)
{
    struct diags diags = {0};
    enum rc rc =
        source_from("body", c->raw.n ? c->raw.p : "", c->raw.n, &c->doc.src, err);
    if (rc) {
        c->status = 400;
        return err_coded(err, rc, E5014, "the body: %.300s", err->msg);
    }
    rc = json_parse(&c->doc, &diags);
    if (rc) {
        uint32_t line = 0, column = 0;
        const struct diag *d = diags.list.n ? &diags.list.at[0] : NULL;
        if (d && d->at.src)
            source_locate(d->at.src, d->at.off, &line, &column);
        err_coded(err, rc, E5014, "the body is not JSON: line %u, column %u: %.300s",
                  line, column, d ? d->msg : "unreadable");
    }
    diags_release(&diags);
    if (!rc)
        c->body = c->doc.root;
    return rc;
}

static enum rc read_body(struct http_call *c, struct err *err)
{
    enum http_schema_kind kind = c->route->body->kind;
    if (c->raw.too_large)
        return body_too_large(c, err);
    if (c->over) {
        c->status = 429;
        return err_coded(err, RC_INVAL, E5011,
                         "your requests hold more than %jd MiB already; wait for some",
                         (intmax_t)(http_user_most(c->api) >> 20));
    }
    if (c->raw.no_memory)
        return err_set(err, RC_NOMEM, "no memory for the body");
    if (kind != SCHEMA_OBJECT && kind != SCHEMA_JOB_SPEC)
        return RC_OK;
    if (c->raw.n == 0 && http_schema_optional(c->route->body))
        return RC_OK; /* a request without details */
    enum rc rc = parse_json(c, err);
    if (!rc && kind == SCHEMA_OBJECT)
        rc = http_schema_check(c->route->body, c->body, err);
    else if (!rc)
        rc = c->body->kind == NODE_MAP
                 ? http_schema_no_nul(c->body, err)
                 : err_coded(err, RC_INVAL, E5006, "a JSON object is required");
    return rc;
}

static bool answer_changes(const struct http_route *r)
{
    return strcmp(r->method, "GET") != 0;
}

/* On what: its address, of something new the one that it got, and with users, tokens and
 * quotas what was asked for. Other bodies may hold secrets.
 */
static const char *audit_object(struct http_call *c)
{
    const char *mark = strchr(c->uri, '?');
    bool made = c->location && c->location[0] == '/' && c->status < 300;
    const char *path =
        made ? c->location
             : arena_strndup(&c->arena, c->uri,
                             mark ? (size_t)(mark - c->uri) : strlen(c->uri));
    if (!c->body || strcmp(c->route->tag, "people") != 0 || c->route->role == ROLE_NONE)
        return path;
    struct buf b;
    buf_init(&b, AUDIT_MAX);
    json_print(c->body, 0, &b);
    path = arena_printf(&c->arena, "%s %s", path, buf_str(&b));
    buf_release(&b);
    return path;
}

/* What was done, always; what was not, as often as its user, or address, may fill the log. */
static bool is_recorded(const struct http_call *c)
{
    return c->status < 400 ||
           http_limit_take(c->api->refusals, *c->who.name ? c->who.name : c->address,
                           clock_mono_ns());
}

/* Changes, and everything that was refused for want of permission. */
void api_audit(struct http_call *c, struct http_db *d)
{
    bool refused = c->status == 401 || c->status == 403;
    if (!c->route || (!answer_changes(c->route) && !refused))
        return;
    if (c->route->fn == http_write_exec && !refused)
        return; /* every key that is pressed: that the program was started is recorded */
    struct err err = {0};
    struct store_audit row = {.time = clock_wall_ns(),
                              .who = c->who.name,
                              .action = c->route->id,
                              .object = audit_object(c),
                              .outcome = arena_printf(&c->arena, "%u", c->status),
                              .address = c->address};
    if (is_recorded(c) && store_audit_add(d->store, &row, 1, &err))
        log_error("audit log: %s", err.msg);
    log_info("%s by '%s' from %s: %u", row.action, row.who, row.address, c->status);
}

void http_call_lock(struct http_call *c)
{
    if (c->locks && !c->locked)
        pthread_mutex_lock(&c->api->writer);
    c->locked = c->locks;
}

void http_call_unlock(struct http_call *c)
{
    if (c->locked)
        pthread_mutex_unlock(&c->api->writer);
    c->locked = false;
}

/* Reads or writes files, or waits for others; nobody else is to wait for that. */
static bool may_wait(const struct http_call *c)
{
    return c->aside || c->route->fn == http_put_object ||
           c->route->fn == http_put_snapshot;
}

static enum rc run_locked(struct http_call *c, struct err *err)
{
    if (!may_wait(c))
        http_call_lock(c);
    enum rc rc = c->route->fn(c, err);
    http_call_unlock(c);
    return rc;
}

static bool is_of_experiment(const struct http_route *r)
{
    return str_starts(r->path, "/api/v1/experiments/{experiment}");
}

static void run_handler(struct http_call *c, struct err *err)
{
    struct api *a = c->api;
    c->locks =
        answer_changes(c->route) && strcmp(store_kind(c->db->store), "sqlite") == 0;
    c->place = a->o.place;
    c->place.store = c->db->store;
    c->place.owner = c->who.name;
    c->place.served = true;
    c->type = "application/json";
    c->json = (struct json_out){.out = &c->out};
    enum rc rc = read_body(c, err);
    const char *away =
        !rc && is_of_experiment(c->route) ? http_experiments_away(c) : NULL;
    if (!rc)
        rc = away ? http_forward(c, away, err) : run_locked(c, err);
    if (!rc)
        rc = buf_check(&c->out, err);
    if (rc)
        api_fail(c, rc, err);
    else if (!c->status)
        c->status = c->route->status;
    http_call_lock(c);
    api_audit(c, c->db);
    http_call_unlock(c);
}

void api_answer(struct http_call *c)
{
    struct err err = {0};
    buf_release(&c->out);
    buf_init(&c->out, OUT_MAX);
    c->db = api_db(c->api);
    run_handler(c, &err);
    api_db_back(c->api, c->db);
    c->db = NULL;
}

enum rc http_call_forbid(struct http_call *c, struct err *err, const char *fmt, ...)
{
    char text[300];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    c->status = 403;
    return err_coded(err, RC_INVAL, E5010, "%s", text);
}

void http_call_header(struct http_call *c, const char *name, const char *value)
{
    assert(c->n_headers < HTTP_HEADERS_MAX);
    c->headers[c->n_headers][0] = name;
    c->headers[c->n_headers++][1] = value;
}

bool http_call_in_project(const struct http_call *c, const char *project)
{
    return c->who.role == ROLE_ADMIN ||
           store_user_in_project(c->who.projects, project, NULL);
}

bool http_call_owns(const struct http_call *c, const char *owner, const char *project)
{
    return c->who.role == ROLE_ADMIN || strcmp(owner, c->who.name) == 0 ||
           (*project && store_user_in_project(c->who.leads, project, NULL));
}

enum rc http_call_need_owner(struct http_call *c, const char *what, const char *owner,
                             const char *project, struct err *err)
{
    if (http_call_owns(c, owner, project))
        return RC_OK;
    return http_call_forbid(c, err,
                            "the %s is %.100s's: only its owner, admins of its project "
                            "and admins may do that",
                            what, owner);
}

enum rc http_call_job(struct http_call *c, struct store_jobs *out, struct err *err)
{
    const char *id = c->params[0];
    enum rc rc = store_get(c->place.store, id, out, err);
    if (rc)
        return rc;
    const struct store_job *j = &out->at[0];
    bool seen = http_role_sees_all(c->who.role) || strcmp(j->owner, c->who.name) == 0 ||
                (*j->project && http_call_in_project(c, j->project));
    if (!seen) {
        store_jobs_release(out);
        rc = err_coded(err, RC_NOTFOUND, E3103, "no job '%.64s'", id);
    }
    return rc;
}

bool http_call_elsewhere(const struct http_call *c, const struct store_job *j)
{
    if (strcmp(j->node, c->place.node) == 0)
        return false;
    char *dir = job_place_dir(&c->place, j->id); /* the machine may have a new name */
    bool here = fs_is_dir(dir);
    mem_free(dir);
    return !here;
}

enum rc http_call_files(struct http_call *c, struct store_jobs *out, bool *elsewhere,
                        struct err *err)
{
    enum rc rc = http_call_job(c, out, err);
    *elsewhere = !rc && http_call_elsewhere(c, &out->at[0]);
    return *elsewhere ? http_forward(c, out->at[0].node, err) : rc;
}

void http_call_drop_body(struct http_call *c)
{
    if (c->held)
        http_budget_give(c->api->budget, c->who.name, c->held);
    c->api->body_bytes -= c->held;
    c->held = 0;
    if (c->raw.p)
        explicit_bzero(c->raw.p, c->raw.n); /* it may have held a secret */
    httpd_body_release(&c->raw);
}

void http_call_destroy(struct http_call *c)
{
    if (!c)
        return;
    if (c->problems) {
        diags_release(c->problems);
        mem_free(c->problems);
    }
    if (c->streaming)
        MHD_destroy_response(c->streaming);
    if (c->doc.src)
        doc_release(&c->doc);
    http_call_drop_body(c);
    buf_release(&c->out);
    arena_release(&c->arena);
    mem_free(c);
}

/* Whoever has lost the directory of a job still has what the store keeps. */
enum rc http_call_outputs(struct http_call *c, struct store_jobs *out,
                          enum http_files *where, struct err *err)
{
    enum rc rc = http_call_job(c, out, err);
    *where = FILES_HERE;
    if (rc)
        return rc;
    char *dir = job_place_dir(&c->place, c->params[0]);
    if (!fs_is_dir(dir) && job_archive_has(&c->place, c->params[0]))
        *where = FILES_STORED;
    else if (http_call_elsewhere(c, &out->at[0]))
        *where = FILES_AWAY;
    mem_free(dir);
    return RC_OK;
}
