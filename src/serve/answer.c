/* SPDX-License-Identifier: Apache-2.0 */
/* The answers of the model server: scores, health, the model's columns and outputs,
 * reload as JSON, metrics as text for Prometheus. Each holds one version from start to
 * end, so a reload under way changes nothing in it. A request to score is counted first
 * and refused with 503 beyond max_requests; otherwise it waits for a free workspace of
 * its version, reads the rows into it, scores, and prints. What the caller did wrong is
 * 400, what went wrong here is 500, and each has its counter. Nothing of this machine, such
 * as a path, is told to a client: that is for the log.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "serve/server_private.h"

#define LOG_AREA "serve"
#define SAMPLES_MOST ((size_t)16 << 20)

static void put_str(struct buf *b, const char *key, const char *value)
{
    buf_printf(b, "\"%s\": ", key);
    buf_json_str(b, value, strlen(value));
}

void serve_answer_error(struct serve_answer *a, unsigned status, enum code code,
                        const char *fmt, ...)
{
    char text[ERR_MSG_SIZE];
    const struct code_info *info = code_info(code);
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    a->status = status;
    a->type = "application/json";
    buf_clear(&a->body);
    buf_puts(&a->body, "{\"error\": {");
    if (info) {
        put_str(&a->body, "code", info->id);
        buf_puts(&a->body, ", ");
    }
    put_str(&a->body, "message", text);
    buf_puts(&a->body, "}}\n");
}

static const char *model_of(const struct serve_version *v)
{
    return train_export_session(serve_version_export(v))->model->ops->name;
}

static int64_t step_of(const struct serve_version *v)
{
    const struct node *n =
        node_find(train_export_manifest(serve_version_export(v)), "step");
    int64_t step = -1;
    return n && node_i64(n, &step) ? step : -1;
}

static void put_version(const struct serve_version *v, struct buf *b)
{
    put_str(b, "model", model_of(v));
    buf_puts(b, ", ");
    put_str(b, "version", train_export_id(serve_version_export(v)));
    buf_printf(b, ", \"step\": %jd", (intmax_t)step_of(v));
}

char *serve_answer_describe(const struct serve_version *v)
{
    return mem_printf("%s, step %jd, version %s, %s", model_of(v), (intmax_t)step_of(v),
                      train_export_id(serve_version_export(v)), serve_version_dir(v));
}

/* Items whose scores are no numbers; the others keep theirs. */
static void put_errors(struct serve_server *s, const struct serve_workspace *d,
                       struct buf *b)
{
    struct buf list;
    buf_init(&list, ANSWER_MAX);
    int64_t n = serve_workspace_print_errors(d, &list);
    if (n)
        buf_printf(b, ", \"errors\": %s", buf_str(&list));
    s->metrics.not_finite += n;
    buf_release(&list);
}

static enum rc score_body(struct serve_server *s, struct serve_version *v,
                          struct serve_workspace *d, char *body, size_t n,
                          struct serve_answer *a, struct err *err)
{
    enum rc rc = serve_workspace_read(d, body, n, s->o.max_items, err);
    if (!rc)
        rc = serve_workspace_score(d, err);
    if (rc)
        return rc;
    a->status = 200;
    a->type = "application/json";
    buf_putc(&a->body, '{');
    put_version(v, &a->body);
    buf_printf(&a->body, ", \"items\": %jd, \"outputs\": ", (intmax_t)d->rows.n);
    serve_workspace_print(d, &a->body);
    put_errors(s, d, &a->body);
    buf_puts(&a->body, "}\n");
    s->metrics.items += d->rows.n;
    serve_version_count_outside(v, d);
    return buf_check(&a->body, err);
}

void serve_answer_score(struct serve_server *s, char *body, size_t n,
                        struct serve_answer *a)
{
    struct err err = {0};
    int64_t start = clock_mono_ns();
    if (s->metrics.in_flight++ >= s->o.max_requests) {
        s->metrics.in_flight--;
        s->metrics.busy++;
        serve_answer_error(a, 503, E2106, "%jd requests are under way already",
                           (intmax_t)s->o.max_requests);
        return;
    }
    struct serve_version *v = serve_versions_hold(s->versions);
    struct serve_workspace *d = serve_version_workspace(v);
    enum rc rc = score_body(s, v, d, body, n, a, &err);
    serve_version_give_back(v, d);
    serve_versions_drop(s->versions, v);
    if (rc == RC_INVAL) {
        serve_answer_error(a, 400, err.code, "%s", err.msg);
        s->metrics.refused++;
    } else if (rc) {
        serve_answer_error(a, 500, err.code, "%s", err.msg);
        s->metrics.failed++;
    } else {
        s->metrics.ok++;
    }
    s->metrics.in_flight--;
    serve_metrics_time(&s->metrics, clock_mono_ns() - start);
}

static void put_model(struct serve_server *s, const struct serve_version *v,
                      struct buf *b)
{
    const struct data_schema *columns = train_export_columns(serve_version_export(v));
    size_t n;
    struct train_score_output *outputs =
        train_scorer_outputs(train_export_session(serve_version_export(v)), &n);
    struct buf type;
    buf_init(&type, 4096);
    buf_putc(b, '{');
    put_version(v, b);
    buf_printf(b, ", \"max_items\": %jd, \"max_body\": %jd,\n \"outputs\": [",
               (intmax_t)s->o.max_items, (intmax_t)s->o.max_body);
    for (size_t i = 0; i < n; i++) {
        buf_puts(b, i ? ", {" : "{");
        put_str(b, "name", outputs[i].name);
        buf_printf(b, ", \"width\": %jd%s}", (intmax_t)outputs[i].width,
                   outputs[i].axis != AXIS_BATCH ? ", \"per\": \"candidate\"" : "");
    }
    buf_puts(b, "],\n \"columns\": [");
    for (size_t i = 0; columns && i < columns->n; i++) {
        buf_clear(&type);
        type_print(&columns->at[i].type, &type);
        buf_puts(b, i ? ", {" : "{");
        put_str(b, "name", columns->at[i].name);
        buf_puts(b, ", ");
        put_str(b, "type", buf_str(&type));
        buf_putc(b, '}');
    }
    buf_puts(b, "]}\n");
    buf_release(&type);
    mem_free(outputs);
}

/* Lines of JSON become a list of their objects. False: there is no such file. */
static bool put_lines(struct buf *b, const char *dir, const char *name)
{
    char *path = fs_join(dir, name), *text = NULL;
    size_t n = 0;
    bool first = true;
    bool there = fs_read(path, SAMPLES_MOST, &text, &n, NULL) == RC_OK;
    struct str rest = str_of(there ? text : "", n), line;
    buf_putc(b, '[');
    while (rest.n && str_split(&rest, '\n', &line)) {
        if (!line.n)
            continue;
        buf_puts(b, first ? "" : ",\n");
        buf_add(b, line.p, line.n);
        first = false;
    }
    buf_putc(b, ']');
    mem_free(path);
    mem_free(text);
    return there;
}

/* Rows to try, and what the export made of them when it was made. */
static void put_samples(const struct serve_version *v, struct serve_answer *a)
{
    const char *dir = serve_version_dir(v);
    struct buf *b = &a->body;
    buf_putc(b, '{');
    put_version(v, b);
    buf_puts(b, ", \"rows\": ");
    bool there = put_lines(b, dir, "samples.jsonl");
    buf_puts(b, ",\n \"outputs\": ");
    there = put_lines(b, dir, "samples.outputs.jsonl") && there;
    buf_puts(b, "}\n");
    if (!there)
        serve_answer_error(a, 404, E2107, "the export has no sample rows as JSON");
}

void serve_answer_get(struct serve_server *s, const char *path, struct serve_answer *a)
{
    struct serve_version *v = serve_versions_hold(s->versions);
    a->status = 200;
    a->type = "application/json";
    if (strcmp(path, "/healthz") == 0) {
        buf_puts(&a->body, "{\"status\": \"ok\", ");
        put_version(v, &a->body);
        buf_puts(&a->body, "}\n");
    } else if (strcmp(path, "/model") == 0) {
        put_model(s, v, &a->body);
    } else if (strcmp(path, "/samples") == 0) {
        put_samples(v, a);
    } else if (strcmp(path, "/metrics") == 0) {
        a->type = "text/plain; version=0.0.4";
        serve_metrics_print(&s->metrics, &a->body);
        buf_printf(&a->body,
                   "# HELP trainyard_model_info What serves now.\n"
                   "# TYPE trainyard_model_info gauge\n"
                   "trainyard_model_info{model=\"%s\",version=\"%s\",step=\"%jd\"} 1\n",
                   model_of(v), train_export_id(serve_version_export(v)),
                   (intmax_t)step_of(v));
        serve_version_print_outside(v, &a->body);
    } else {
        serve_answer_error(a, 404, E2107, "there is no '%.100s'", path);
    }
    serve_versions_drop(s->versions, v);
}

void serve_answer_reload(struct serve_server *s, struct serve_answer *a)
{
    struct err err = {0};
    char *what = NULL;
    if (serve_reload(s, false, &what, &err)) {
        log_warn("%s; the version before serves", err.msg);
        serve_answer_error(a, 500, err.code,
                           "the new version was not loaded; the log of the server says "
                           "why");
        return;
    }
    struct serve_version *v = serve_versions_hold(s->versions);
    a->status = 200;
    a->type = "application/json";
    buf_printf(&a->body, "{\"changed\": %s, ", what ? "true" : "false");
    put_version(v, &a->body);
    buf_puts(&a->body, "}\n");
    serve_versions_drop(s->versions, v);
    mem_free(what);
}
