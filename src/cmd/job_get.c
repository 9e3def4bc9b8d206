/* SPDX-License-Identifier: Apache-2.0 */
/* One job, for people or as JSON: its row, its status, and on request its events and
 * metrics.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cmd/cmd.h"
#include "cmd/job_common.h"
#include "job/quote.h"
#include "job/spec.h"
#include "job/status.h"

struct get_conf {
    struct job_where where;
    const char *format, *pod;
    bool json, events, metrics;
};

static const struct opt opts[] = {
    {OPT_BOOL(struct get_conf, events, "false", "list its events")},
    {OPT_BOOL(struct get_conf, metrics, "false", "list all metric values")},
    {OPT_BOOL(struct get_conf, json, "false", "print one JSON object")},
    {OPT_CHOICE(struct get_conf, format, "own", "own|dlc", "words of the answer"),
     .hidden = true},
    {OPT_TEXT(struct get_conf, pod, NULL, "with --format dlc: this worker alone"),
     .hidden = true},
    JOB_WHERE_OPTS(struct get_conf),
    JOB_SERVER_OPT(struct get_conf),
    {0},
};

static void put_line(struct buf *out, const char *name, const char *text)
{
    if (!*text)
        return;
    buf_printf(out, "%-10s ", name);
    job_quote_terminal(str_c(text), out);
    buf_putc(out, '\n');
}

static void put_moment(struct buf *out, const char *name, int64_t ns)
{
    char text[CLOCK_TEXT_SIZE];
    if (!ns)
        return;
    clock_rfc3339(ns, text);
    put_line(out, name, text);
}

static void put_workers(const struct node *st, struct buf *out)
{
    const struct node *list = node_find(st, "workers");
    for (size_t i = 0; list && list->kind == NODE_LIST && i < list->list.n; i++) {
        const struct node *w = list->list.at[i];
        const char *state = node_get_text(w, "state", "");
        bool stopped = strcmp(state, "Stopped") == 0; /* by us: its status says nothing */
        buf_printf(out, "worker %-3zu %s", i, state);
        if (node_find(w, "node")) {
            buf_puts(out, " on ");
            job_quote_terminal(str_c(node_get_text(w, "node", "")), out);
        }
        if (node_find(w, "code") && !stopped)
            buf_printf(out, ", exit %jd",
                       (intmax_t)(node_get_int(w, "signal", 0)
                                      ? 128 + node_get_int(w, "signal", 0)
                                      : node_get_int(w, "code", 0)));
        if (node_find(w, "code"))
            buf_printf(out, "%s, %.2f s of processor time, %.1f MiB",
                       stopped ? " when the others had ended" : "",
                       node_get_num(w, "cpu_s", 0),
                       (double)node_get_int(w, "rss_bytes", 0) / (1 << 20));
        buf_putc(out, '\n');
    }
}

static void put_status(const struct store_job *j, struct buf *out)
{
    struct doc doc = {0};
    const struct node *st = job_json_open(j->status, &doc);
    char text[100];
    put_line(out, "message", node_get_text(st, "message", ""));
    if (node_find(st, "percent")) {
        snprintf(text, sizeof(text), "%.1f %%", node_get_num(st, "percent", 0));
        put_line(out, "progress", text);
    }
    if (node_find(st, "eta_s")) {
        snprintf(text, sizeof(text), "%jd s left",
                 (intmax_t)node_get_int(st, "eta_s", 0));
        put_line(out, "eta", text);
    }
    if (node_get_int(st, "restarts", 0)) {
        snprintf(text, sizeof(text), "%jd", (intmax_t)node_get_int(st, "restarts", 0));
        put_line(out, "restarts", text);
    }
    put_workers(st, out);
    if (doc.src)
        doc_release(&doc);
}

static void put_value(struct buf *out, const char *field, const char *key,
                      const struct node *v)
{
    struct buf b;
    buf_init(&b, 16 << 20);
    if (key)
        buf_printf(&b, "%s=", key);
    if (v->kind == NODE_BOOL)
        buf_puts(&b, v->flag ? "true" : "false");
    else
        buf_add(&b, v->text.p, v->text.n);
    put_line(out, field, buf_str(&b));
    buf_release(&b);
}

static void put_field(struct buf *out, const char *field, const struct node *v)
{
    if (v->kind == NODE_MAP)
        for (size_t i = 0; i < v->map.n; i++)
            put_value(out, field, v->map.at[i].key.p, v->map.at[i].value);
    else if (v->kind == NODE_LIST)
        for (size_t i = 0; i < v->list.n; i++)
            put_value(out, field, NULL, v->list.at[i]);
    else
        put_value(out, field, NULL, v);
}

static void put_command(const struct job_spec *s, struct buf *out)
{
    struct buf b;
    buf_init(&b, 16 << 20);
    buf_puts(&b, s->shell ? s->shell : "");
    for (size_t i = 0; s->argv && s->argv[i]; i++) {
        buf_puts(&b, i ? " " : "");
        job_quote_shell(str_c(s->argv[i]), &b);
    }
    put_line(out, "command", buf_str(&b));
    buf_release(&b);
}

/* What was asked for: all fields that the submitter gave, by their names in job files. */
static enum rc put_spec(const struct cmd_place *p, const struct store_job *j,
                        struct buf *out, struct err *err)
{
    static const char *const elsewhere[] = {
        "name", "command", "project",       "priority",     "cpu", "memory",
        "gpu",  "workdir", "array_element", "client_token", "hp"};
    struct job_spec spec;
    enum rc rc = job_asked(p, j->id, &spec, err);
    if (rc)
        return rc;
    put_command(&spec, out);
    const struct node *root = spec.conf.doc.root;
    for (size_t i = 0; i < root->map.n; i++) {
        bool shown = false;
        for (size_t k = 0; k < ARRAY_LEN(elsewhere); k++)
            shown = shown || str_is(root->map.at[i].key, elsewhere[k]);
        if (!shown)
            put_field(out, root->map.at[i].key.p, root->map.at[i].value);
    }
    for (size_t i = 0; i < spec.n_hp; i++) {
        struct node v = {.kind = NODE_STR, .text = str_c(spec.hp[i].value)};
        put_value(out, "hp", spec.hp[i].name, &v);
    }
    job_spec_release(&spec);
    return RC_OK;
}

static void put_wanted(const struct store_job *j, struct buf *out)
{
    buf_printf(out, "%-10s %jd worker%s, %g processors", "asks for", (intmax_t)j->workers,
               j->workers == 1 ? "" : "s", (double)j->cpu_milli / 1000);
    if (j->memory)
        buf_printf(out, ", %.1f MiB of memory", (double)j->memory / (1 << 20));
    if (j->gpu)
        buf_printf(out, ", %jd GPUs", (intmax_t)j->gpu);
    buf_printf(out, ", priority %jd\n", (intmax_t)j->priority);
}

static enum rc put_last_metrics(const struct cmd_place *p, const char *id,
                                struct buf *out, struct err *err)
{
    struct store_points l = {0};
    char number[32];
    enum rc rc = p->ops->last_points(p, id, &l, err);
    for (size_t i = 0; i < l.n && !rc; i++) {
        str_from_f64(l.at[i].value, number);
        buf_puts(out, "metric     ");
        job_quote_terminal(str_c(l.at[i].name), out);
        buf_printf(out, " %s\n", number);
    }
    store_points_release(&l);
    return rc;
}

static enum rc put_text(const struct cmd_place *p, const struct store_job *j,
                        struct buf *out, struct err *err)
{
    char took[32];
    char *dir = p->dir ? job_place_dir(&p->p, j->id) : mem_strdup(p->remote.url);
    put_line(out, "id", j->id);
    put_line(out, "name", j->name);
    put_line(out, "owner", j->owner);
    put_line(out, "project", j->project);
    put_line(out, "state", j->state);
    put_line(out, "reason", j->reason);
    put_status(j, out);
    put_moment(out, "created", j->created);
    put_moment(out, "started", j->started);
    put_moment(out, "finished", j->finished);
    job_span(j->started, j->finished, took);
    put_line(out, "ran", j->started ? took : "");
    put_line(out, p->dir ? "directory" : "server", dir);
    mem_free(dir);
    put_wanted(j, out);
    enum rc rc = put_spec(p, j, out, err);
    return rc ? rc : put_last_metrics(p, j->id, out, err);
}

static enum rc put_events(const struct cmd_place *p, const char *id, struct buf *out,
                          struct err *err)
{
    struct store_events ev = {0};
    char time[CLOCK_TEXT_SIZE];
    enum rc rc = p->ops->events(p, id, 0, &ev, err);
    for (size_t i = 0; i < ev.n && !rc; i++) {
        const struct store_event *e = &ev.at[i];
        clock_rfc3339(e->time, time);
        buf_printf(out, "%4jd  %s  %-16s ", (intmax_t)e->seq, time, e->type);
        job_quote_terminal(str_c(e->reason), out);
        buf_puts(out, *e->reason ? " " : "");
        job_quote_terminal(str_c(e->data), out);
        buf_puts(out, *e->data ? " " : "");
        job_quote_terminal(str_c(e->message), out);
        buf_putc(out, '\n');
    }
    store_events_release(&ev);
    return rc;
}

static enum rc put_metrics(const struct cmd_place *p, const char *id, bool json,
                           struct buf *out, struct err *err)
{
    int64_t after = 0;
    char number[32], time[CLOCK_TEXT_SIZE];
    bool any = false;
    buf_puts(out, json ? "[" : "");
    for (;;) {
        struct store_points l = {0};
        enum rc rc = p->ops->points(p, id, after, &l, err);
        if (rc)
            return rc;
        for (size_t i = 0; i < l.n; i++) {
            const struct store_point *x = &l.at[i];
            str_from_f64(x->value, number);
            clock_rfc3339(x->time, time);
            if (json) {
                buf_puts(out, any ? ",\n{\"name\": " : "{\"name\": ");
                buf_json_str(out, x->name, strlen(x->name));
                buf_printf(
                    out,
                    ", \"value\": %s, \"step\": %jd, \"attempt\": %jd, \"worker\": "
                    "%jd, \"time\": \"%s\"}",
                    number, (intmax_t)x->step, (intmax_t)x->attempt, (intmax_t)x->worker,
                    time);
            } else {
                buf_printf(out, "%s  %jd.%jd  %8jd  %-20s %s\n", time,
                           (intmax_t)x->worker, (intmax_t)x->attempt, (intmax_t)x->step,
                           x->name, number);
            }
            any = true;
        }
        size_t n = l.n;
        after = l.next;
        store_points_release(&l);
        if (n < STORE_ROWS_MAX)
            break;
    }
    buf_puts(out, json ? "]\n" : "");
    return RC_OK;
}

static enum rc show_job(const struct get_conf *c, const struct cmd_place *p,
                        const struct store_job *j, struct buf *out, struct err *err)
{
    if (c->metrics)
        return put_metrics(p, j->id, c->json, out, err);
    if (strcmp(c->format, "dlc") == 0 || c->json) {
        enum rc rc = c->json  ? job_json(p, j, true, c->events, out, err)
                     : c->pod ? job_dlc_pod_json(p, j, c->pod, out, err)
                              : job_dlc_json(p, j, out, err);
        buf_putc(out, '\n');
        return rc;
    }
    return c->events ? put_events(p, j->id, out, err) : put_text(p, j, out, err);
}

static enum rc run_job_get(const void *conf, const struct opt_args *args, struct err *err)
{
    const struct get_conf *c = conf;
    struct cmd_place p;
    struct store_jobs jobs = {0};
    struct buf out;
    char id[JOB_ID_SIZE];
    enum rc rc = job_open(&c->where, &p, err);
    if (rc)
        return rc;
    buf_init(&out, CMD_TEXT_MAX);
    job_revive(&p);
    rc = job_pick(&p, args->at[0], id, err);
    if (!rc)
        rc = p.ops->get(&p, id, &jobs, err);
    if (!rc)
        rc = show_job(c, &p, &jobs.at[0], &out, err);
    if (!rc)
        rc = cmd_print(&out, err);
    store_jobs_release(&jobs);
    buf_release(&out);
    cmd_place_close(&p);
    return rc;
}

static const struct cmd_example examples[] = {
    {"show its status", "trainyard job get jb-0123456789ab"},
    {"show its events", "trainyard job get --events jb-0123456789ab"},
    {0},
};

const struct cmd cmd_job_get = {
    .name = "job get",
    .args = "ID",
    .summary = "show one job: state, workers, metrics, events",
    .examples = examples,
    .opts = opts,
    .conf_size = sizeof(struct get_conf),
    .min_args = 1,
    .max_args = 1,
    .run = run_job_get,
};
