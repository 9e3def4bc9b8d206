/* SPDX-License-Identifier: Apache-2.0 */
/* A job as JSON, in our own words (job_json) and in those of DLC (job_dlc_json). What the
 * store keeps as JSON already, specification, status and data of events, is put in as it
 * is. Both read through p->ops, so that a job on a server looks like one on this machine.
 */
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cmd/job_common.h"
#include "job/spec.h"
#include "job/status.h"

static void put_time(struct buf *out, const char *key, int64_t ns)
{
    char text[CLOCK_TEXT_SIZE];
    if (!ns)
        return;
    clock_rfc3339(ns, text);
    buf_printf(out, ", \"%s\": \"%s\"", key, text);
}

static void put_text(struct buf *out, const char *key, const char *value)
{
    buf_printf(out, ", \"%s\": ", key);
    buf_json_str(out, value, strlen(value));
}

static enum rc put_events(const struct cmd_place *p, const char *id, struct buf *out,
                          struct err *err)
{
    struct store_events ev = {0};
    enum rc rc = p->ops->events(p, id, 0, &ev, err);
    buf_puts(out, ", \"events\": [");
    for (size_t i = 0; i < ev.n && !rc; i++) {
        const struct store_event *e = &ev.at[i];
        buf_printf(out, "%s{\"seq\": %jd, \"type\": ", i ? ", " : "", (intmax_t)e->seq);
        buf_json_str(out, e->type, strlen(e->type));
        put_time(out, "time", e->time);
        buf_printf(out, ", \"attempt\": %jd", (intmax_t)e->attempt);
        if (e->worker >= 0)
            buf_printf(out, ", \"worker\": %jd", (intmax_t)e->worker);
        if (*e->reason)
            put_text(out, "reason", e->reason);
        if (*e->message)
            put_text(out, "message", e->message);
        if (*e->data)
            buf_printf(out, ", \"data\": %s", e->data);
        buf_putc(out, '}');
    }
    buf_putc(out, ']');
    store_events_release(&ev);
    return rc;
}

static enum rc put_metrics(const struct cmd_place *p, const char *id, struct buf *out,
                           struct err *err)
{
    struct store_points points = {0};
    char number[32];
    enum rc rc = p->ops->last_points(p, id, &points, err);
    buf_puts(out, ", \"metrics\": {");
    for (size_t i = 0; i < points.n && !rc; i++) {
        buf_puts(out, i ? ", " : "");
        buf_json_str(out, points.at[i].name, strlen(points.at[i].name));
        str_from_f64(points.at[i].value, number);
        buf_printf(out, ": {\"value\": %s, \"step\": %jd}", number,
                   (intmax_t)points.at[i].step);
    }
    buf_putc(out, '}');
    store_points_release(&points);
    return rc;
}

static enum rc put_whole(const struct cmd_place *p, const struct store_job *j,
                         bool events, struct buf *out, struct err *err)
{
    char *spec = NULL;
    enum rc rc = p->ops->spec(p, j->id, &spec, err);
    if (!rc)
        buf_printf(out, ", \"spec\": %s, \"status\": %s", spec, j->status);
    mem_free(spec);
    if (!rc)
        rc = put_metrics(p, j->id, out, err);
    if (!rc && events)
        rc = put_events(p, j->id, out, err);
    return rc;
}

enum rc job_json(const struct cmd_place *p, const struct store_job *j, bool whole,
                 bool events, struct buf *out, struct err *err)
{
    buf_puts(out, "{\"id\": ");
    buf_json_str(out, j->id, strlen(j->id));
    put_text(out, "name", j->name);
    put_text(out, "owner", j->owner);
    put_text(out, "project", j->project);
    put_text(out, "state", j->state);
    put_text(out, "reason", j->reason);
    put_text(out, "queue", j->queue);
    put_text(out, "backend", j->backend);
    buf_printf(out, ", \"priority\": %jd, \"workers\": %jd, \"attempt\": %jd",
               (intmax_t)j->priority, (intmax_t)j->workers, (intmax_t)j->attempt);
    put_time(out, "created", j->created);
    put_time(out, "started", j->started);
    put_time(out, "finished", j->finished);
    if (p->dir) {
        char *dir = job_place_dir(&p->p, j->id);
        put_text(out, "dir", dir);
        mem_free(dir);
    }
    enum rc rc = whole ? put_whole(p, j, events, out, err) : RC_OK;
    buf_putc(out, '}');
    return rc;
}

/* Worker number `i`, as the status `st` has it. */
static void dlc_pod(const struct store_job *j, const struct job_spec *spec,
                    const struct node *st, int64_t i, struct buf *out)
{
    const struct node *list = node_find(st, "workers");
    const struct node *w = list && list->kind == NODE_LIST && (size_t)i < list->list.n
                               ? list->list.at[i]
                               : NULL;
    int64_t index;
    const struct job_spec_role *r = job_spec_role_of(spec, i, &index);
    buf_printf(out, "{\"PodId\": \"%s-%s-%jd\", \"Type\": \"%s\", \"Status\": \"%s\"",
               j->id, r->name, (intmax_t)index, r->name,
               node_get_text(w, "state", "Waiting"));
    if (*node_get_text(w, "node", ""))
        put_text(out, "NodeName", node_get_text(w, "node", ""));
    buf_putc(out, '}');
}

static void dlc_pods(const struct store_job *j, const struct job_spec *spec,
                     struct buf *out)
{
    struct doc doc = {0};
    const struct node *st = job_json_open(j->status, &doc);
    buf_puts(out, ", \"Pods\": [");
    for (int64_t i = 0; i < j->workers; i++) {
        buf_puts(out, i ? ", " : "");
        dlc_pod(j, spec, st, i, out);
    }
    buf_putc(out, ']');
    if (doc.src)
        doc_release(&doc);
}

static void dlc_specs(const struct job_spec *spec, struct buf *out)
{
    static const char *const words[] = {"Master", "Chief", "Launcher",  "Head",
                                        "Worker", "PS",    "Evaluator", "GraphLearn"};
    buf_puts(out, ", \"JobSpecs\": [");
    for (size_t i = 0; i < spec->n_roles; i++) {
        const struct job_spec_role *r = &spec->roles[i];
        int order = jobspec_role_order(r->name);
        buf_printf(out,
                   "%s{\"Type\": \"%s\", \"PodCount\": %jd, \"ResourceConfig\": "
                   "{\"CPU\": \"%g\", \"GPU\": \"%jd\"",
                   i ? ", " : "", order >= 0 ? words[order] : "Worker",
                   (intmax_t)r->count, (double)r->cpu_milli / 1000, (intmax_t)r->gpu);
        if (r->memory)
            buf_printf(out, ", \"Memory\": \"%jdMi\"", (intmax_t)(r->memory >> 20));
        buf_putc(out, '}');
        if (spec->s->has_image)
            put_text(out, "Image", spec->s->image);
        buf_putc(out, '}');
    }
    buf_putc(out, ']');
}

/* "master-0", or a number. -1: there is no such worker. */
static int64_t find_pod(const struct store_job *j, const struct job_spec *spec,
                        const char *pod)
{
    int64_t i;
    if (!str_to_i64(str_c(pod), &i))
        i = job_spec_worker_find(spec, pod);
    return i >= 0 && i < j->workers ? i : -1;
}

enum rc job_dlc_pod_json(const struct cmd_place *p, const struct store_job *j,
                         const char *pod, struct buf *out, struct err *err)
{
    struct job_spec spec;
    struct doc doc = {0};
    enum rc rc = job_asked(p, j->id, &spec, err);
    if (rc)
        return rc;
    int64_t i = find_pod(j, &spec, pod);
    if (i < 0)
        rc = err_coded(err, RC_NOTFOUND, E3103, "job %s has no pod '%.100s'", j->id, pod);
    else
        dlc_pod(j, &spec, job_json_open(j->status, &doc), i, out);
    if (doc.src)
        doc_release(&doc);
    job_spec_release(&spec);
    return rc;
}

enum rc job_dlc_json(const struct cmd_place *p, const struct store_job *j,
                     struct buf *out, struct err *err)
{
    struct job_spec spec;
    enum rc rc = job_asked(p, j->id, &spec, err);
    if (rc)
        return rc;
    const struct jobspec_JobSpec *s = spec.s;
    buf_printf(out, "{\"JobId\": \"%s\"", j->id);
    put_text(out, "DisplayName", j->name);
    put_text(out, "JobType", s->job_type);
    put_text(out, "Status", j->state);
    put_text(out, "ReasonCode", j->reason);
    put_text(out, "UserId", j->owner);
    buf_printf(out, ", \"Priority\": %jd", (intmax_t)j->priority);
    if (spec.shell)
        put_text(out, "UserCommand", spec.shell);
    dlc_specs(&spec, out);
    for (int64_t i = 0; i < s->n_extra; i++)
        if (strcmp(s->extra[i].key, "workspace_id") == 0)
            put_text(out, "WorkspaceId", s->extra[i].value);
    put_time(out, "GmtCreateTime", j->created);
    put_time(out, "GmtRunningTime", j->started);
    put_time(out, "GmtFinishTime", j->finished);
    if (j->started)
        buf_printf(
            out, ", \"Duration\": %jd",
            (intmax_t)(((j->finished ? j->finished : clock_wall_ns()) - j->started) /
                       CLOCK_SECOND));
    dlc_pods(j, &spec, out);
    buf_putc(out, '}');
    job_spec_release(&spec);
    return RC_OK;
}
