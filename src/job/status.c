/* SPDX-License-Identifier: Apache-2.0 */
/* job_fold() applies one event to a status: a move is checked against the table of moves,
 * everything else changes fields. It is the only writer of a status, so replaying the events
 * of a job always gives what was shown.
 */
#include "job/status.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "text/json.h"

void job_status_init(struct job_status *s)
{
    *s = (struct job_status){.percent = -1, .eta_s = -1, .step = -1, .progress_line = -1};
}

void job_status_release(struct job_status *s)
{
    mem_free(s->workers);
    mem_free(s->terms);
    *s = (struct job_status){0};
}

const struct node *job_json_open(const char *text, struct doc *doc)
{
    struct diags diags = {0};
    *doc = (struct doc){0};
    enum rc rc = source_from("data", text, strlen(text), &doc->src, NULL);
    if (!rc)
        rc = json_parse(doc, &diags);
    diags_release(&diags);
    if (rc) {
        doc_release(doc);
        *doc = (struct doc){0};
        return NULL;
    }
    return doc->root;
}

static void copy(char *out, size_t size, const char *text)
{
    snprintf(out, size, "%s", text);
}

static struct job_worker *worker_at(struct job_status *s, int64_t i)
{
    if (i < 0 || i >= JOB_WORKERS_MAX)
        return NULL;
    if (i >= s->n_workers) {
        s->workers = mem_realloc(s->workers, (size_t)i + 1, sizeof(*s->workers));
        memset(s->workers + s->n_workers, 0,
               (size_t)(i + 1 - s->n_workers) * sizeof(*s->workers));
        s->n_workers = i + 1;
    }
    return &s->workers[i];
}

static enum rc fold_state(struct job_status *s, const struct store_event *e,
                          const struct node *data, struct err *err)
{
    enum job_state to;
    enum job_reason why;
    const char *word = node_get_text(data, "state", "");
    if (!job_state_find(word, &to) || !job_reason_find(e->reason, &why))
        return err_coded(err, RC_FORMAT, E3009, "unknown state '%.40s' or reason '%.40s'",
                         word, e->reason);
    if (!job_state_may(s->state, to))
        return err_coded(err, RC_FORMAT, E3009, "a job cannot go from %s to %s",
                         job_state_name(s->state), job_state_name(to));
    if (s->state == JOB_Suspended && s->started && e->time > s->changed)
        s->paused += e->time - s->changed;
    s->state = to;
    s->reason = why;
    s->changed = e->time;
    s->attempt = e->attempt;
    copy(s->message, sizeof(s->message), e->message);
    if (to == JOB_Queuing) {
        s->queued = e->time;
        s->started = 0; /* made room for another: its time counts from the next start */
        s->paused = 0;
        s->preempt = false;
    }
    if (to == JOB_Running && !s->started)
        s->started = e->time;
    if (job_state_ended(to)) {
        s->finished = e->time;
        s->eta_s = -1;
        s->code = (int)node_get_int(data, "code", 0);
        s->signal = (int)node_get_int(data, "signal", 0);
        s->has_exit = node_find(data, "code") != NULL;
    }
    return RC_OK;
}

static void fold_worker(struct job_status *s, const struct store_event *e,
                        const struct node *data, bool started)
{
    struct job_worker *w = worker_at(s, e->worker);
    if (!w)
        return;
    if (started) {
        if (e->worker == 0 && e->attempt != w->attempt)
            s->progress_line = -1;
        *w = (struct job_worker){.running = true, .attempt = e->attempt};
        w->pid = node_get_int(data, "pid", 0);
        copy(w->role, sizeof(w->role), node_get_text(data, "role", "worker"));
        s->port = node_get_int(data, "port", s->port);
        return;
    }
    w->running = false;
    w->exited = true;
    w->attempt = e->attempt;
    w->code = (int)node_get_int(data, "code", -1);
    w->signal = (int)node_get_int(data, "signal", 0);
    w->cpu_s = node_get_num(data, "cpu_s", 0);
    w->rss_bytes = node_get_int(data, "rss_bytes", 0);
}

static void fold_place(struct job_status *s, const struct store_event *e,
                       const struct node *data)
{
    struct job_worker *w = worker_at(s, e->worker);
    if (w)
        copy(w->node, sizeof(w->node), node_get_text(data, "node", ""));
}

static void fold_restart(struct job_status *s, const struct store_event *e,
                         const struct node *data)
{
    s->restarts++;
    s->restart_at = e->time + (int64_t)(node_get_num(data, "delay_s", 0) * 1e9);
    s->percent = -1;
    s->eta_s = -1;
    s->progress_line = -1;
}

static void fold_progress(struct job_status *s, const struct node *data)
{
    s->percent = node_get_num(data, "percent", s->percent);
    s->eta_s = node_get_int(data, "eta_s", s->eta_s);
    s->step = node_get_int(data, "step", s->step);
    s->progress_line = node_get_int(data, "line", s->progress_line);
}

static enum rc fold_known(struct job_status *s, enum job_event_type type,
                          const struct store_event *e, const struct node *data,
                          struct err *err)
{
    switch (type) {
    case EV_Submitted:
        s->created = e->time;
        mem_free(s->terms);
        s->terms = e->data && *e->data ? mem_strdup(e->data) : NULL;
        break;
    case EV_Eligible:
        s->eligible = true;
        s->queued = e->time;
        break;
    case EV_PreemptRequested:
        s->preempt = true;
        copy(s->preempt_by, sizeof(s->preempt_by), node_get_text(data, "by", ""));
        break;
    case EV_StateChanged:
        return fold_state(s, e, data, err);
    case EV_Staged:
        copy(s->snapshot, sizeof(s->snapshot), node_get_text(data, "snapshot", ""));
        break;
    case EV_Admitted:
        copy(s->gpus, sizeof(s->gpus), node_get_text(data, "gpus", ""));
        break;
    case EV_WorkerStarted:
    case EV_WorkerExited:
        fold_worker(s, e, data, type == EV_WorkerStarted);
        break;
    case EV_WorkerPlaced:
        fold_place(s, e, data);
        break;
    case EV_BackendChosen:
    case EV_Waiting:
        copy(s->message, sizeof(s->message), e->message);
        break;
    case EV_Reattached: /* what it waited for is over */
        s->message[0] = '\0';
        break;
    case EV_RestartScheduled:
        fold_restart(s, e, data);
        break;
    case EV_Progress:
        fold_progress(s, data);
        break;
    case EV_OutputsReady:
        s->out_files = node_get_int(data, "files", 0);
        s->out_bytes = node_get_int(data, "bytes", 0);
        break;
    case EV_StopRequested:
        s->stop = true;
        s->force = s->force || node_get_int(data, "force", 0) != 0;
        break;
    case EV_SuspendRequested:
        s->suspend = true;
        break;
    case EV_ResumeRequested:
        s->suspend = false;
        break;
    default:
        break;
    }
    return RC_OK;
}

enum rc job_fold(struct job_status *s, const struct store_event *e, struct err *err)
{
    enum job_event_type type;
    struct doc doc = {0};
    if (!job_event_find(e->type, &type))
        return err_coded(err, RC_FORMAT, E3009, "unknown event '%.40s'", e->type);
    const struct node *data = e->data && *e->data ? job_json_open(e->data, &doc) : NULL;
    enum rc rc = fold_known(s, type, e, data, err);
    if (doc.src)
        doc_release(&doc);
    if (!rc)
        s->seq++;
    return rc;
}

/* Of a job that succeeded: one that served the others, and was told to stop behind them. */
static bool not_needed(const struct job_status *s, const struct job_worker *w)
{
    return s->state == JOB_Succeeded && w->exited && w->code != 0;
}

static void worker_json(const struct job_status *s, int64_t i, struct buf *out)
{
    const struct job_worker *w = &s->workers[i];
    buf_printf(out, "%s{\"index\": %jd, \"role\": ", i ? ", " : "", (intmax_t)i);
    buf_json_str(out, w->role, strlen(w->role));
    buf_printf(out, ", \"attempt\": %jd, \"state\": \"%s\"", (intmax_t)w->attempt,
               w->running         ? "Running"
               : !w->exited       ? "Waiting"
               : w->code == 0     ? "Succeeded"
               : not_needed(s, w) ? "Stopped"
                                  : "Failed");
    if (w->node[0]) {
        buf_puts(out, ", \"node\": ");
        buf_json_str(out, w->node, strlen(w->node));
    }
    if (w->running)
        buf_printf(out, ", \"pid\": %jd", (intmax_t)w->pid);
    if (w->exited)
        buf_printf(out,
                   ", \"code\": %d, \"signal\": %d, \"cpu_s\": %.3f, \"rss_bytes\": %jd",
                   w->code, w->signal, w->cpu_s, (intmax_t)w->rss_bytes);
    buf_putc(out, '}');
}

void job_status_json(const struct job_status *s, struct buf *out)
{
    buf_puts(out, "{\"message\": ");
    buf_json_str(out, s->message, strlen(s->message));
    buf_printf(out, ", \"restarts\": %jd, \"queued\": %jd", (intmax_t)s->restarts,
               (intmax_t)s->queued);
    if (s->has_exit)
        buf_printf(out, ", \"exit\": {\"code\": %d, \"signal\": %d}", s->code, s->signal);
    if (s->percent >= 0)
        buf_printf(out, ", \"percent\": %.2f", s->percent);
    if (s->eta_s >= 0)
        buf_printf(out, ", \"eta_s\": %jd", (intmax_t)s->eta_s);
    if (s->step >= 0)
        buf_printf(out, ", \"step\": %jd", (intmax_t)s->step);
    if (s->gpus[0]) {
        buf_puts(out, ", \"gpus\": ");
        buf_json_str(out, s->gpus, strlen(s->gpus));
    }
    if (s->out_files)
        buf_printf(out, ", \"output_files\": %jd, \"output_bytes\": %jd",
                   (intmax_t)s->out_files, (intmax_t)s->out_bytes);
    if (s->stop)
        buf_puts(out, ", \"stop_requested\": true");
    if (s->preempt)
        buf_puts(out, ", \"preempting\": true");
    if (s->eligible)
        buf_puts(out, ", \"eligible\": true");
    if (s->terms)
        buf_printf(out, ", \"terms\": %s", s->terms);
    buf_puts(out, ", \"workers\": [");
    for (int64_t i = 0; i < s->n_workers; i++)
        worker_json(s, i, out);
    buf_puts(out, "]}");
}
