/* SPDX-License-Identifier: Apache-2.0 */
/* tune logs: what the process that runs an experiment said, or one of its trials. The log of
 * a trial is a file of its folder, where NNI's client writes it, or that of its job. At a
 * server no process of its own runs an experiment: instead of its log it is told how each
 * trial ended; what a trial printed is fetched in parts. --head and --tail choose lines at
 * the end, so that they mean the same for all of these.
 */
#include <stdio.h>
#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "cmd/cmd.h"
#include "cmd/tune_at.h"
#include "cmd/tune_common.h"

#define LOG_BYTES ((size_t)256 << 20)

struct logs_conf {
    struct job_where where;
    const char *dir, *trial;
    int64_t head, tail;
    bool path;
};

static const struct opt opts[] = {
    {OPT_TEXT(struct logs_conf, dir, NULL, "experiment directory"), .meta = "DIR"},
    {OPT_TEXT(struct logs_conf, trial, NULL, "log of this trial: its id or number"),
     .meta = "ID"},
    {OPT_INT(struct logs_conf, head, "0", 0, INT64_MAX,
             "only the first N lines; 0: all")},
    {OPT_INT(struct logs_conf, tail, "0", 0, INT64_MAX, "only the last N lines; 0: all")},
    {OPT_BOOL(struct logs_conf, path, "false", "print the path of the log file instead")},
    TUNE_JOB_OPTS(struct logs_conf),
    TUNE_SERVER_OPT(struct logs_conf),
    {0},
};

/* NNI's client sends what a trial prints to trial.log in the trial's folder; other
 * programs write to the log of the job. *out is the caller's. */
static enum rc trial_log(const struct experiment *e, const struct logs_conf *o,
                         char **out, struct err *err)
{
    const struct exp_trial *t = experiment_trial_find(e, o->trial);
    struct cmd_place place = {0};
    struct store_jobs row = {0};
    if (!t)
        return err_coded(err, RC_NOTFOUND, E4008, "experiment %s has no trial '%s'",
                         e->set.id, o->trial);
    char *dir = experiment_trial_dir(e, t), *own = fs_join(dir, "trial.log");
    enum rc rc = RC_OK;
    if (fs_exists(own)) {
        *out = own;
        own = NULL;
    } else if (!t->job[0]) {
        rc = err_coded(err, RC_NOTFOUND, E4008, "trial %s has no job yet", t->id);
    } else {
        rc = cmd_place_open(&o->where, &place, err);
        if (!rc)
            rc = store_get(place.p.store, t->job, &row, err);
        if (!rc)
            *out = job_place_log(&place.p, t->job, 0, row.at[0].attempt);
        store_jobs_release(&row);
        cmd_place_close(&place);
    }
    mem_free(own);
    mem_free(dir);
    return rc;
}

/* What a trial at a server printed. */
static enum rc served_trial(const struct tune_at *at, const char *trial, struct buf *out,
                            struct err *err)
{
    size_t before;
    enum rc rc = RC_OK;
    do {
        char *path = mem_printf("/api/v1/experiments/%s/trials/%s/log?offset=%zu", at->id,
                                trial, out->n);
        struct remote_ask q = {.method = "GET", .path = path};
        struct io_http_reply reply = {0};
        before = out->n;
        rc = remote_call(&at->server.remote, &q, NULL, &reply, err);
        if (!rc && reply.body.n)
            buf_add(out, reply.body.p, reply.body.n);
        io_http_reply_release(&reply);
        mem_free(path);
    } while (!rc && out->n > before && !out->failed);
    return rc;
}

/* A server's experiment has no log of its own: how its trials ended. */
static void served_ends(const struct experiment *e, struct buf *out)
{
    for (size_t i = 0; i < e->trials.n; i++) {
        const struct exp_trial *t = &e->trials.at[i];
        char value[32] = "-";
        if (!trial_status_ended(t->status))
            continue;
        if (t->has_final)
            str_from_f64(t->final, value);
        buf_printf(out, "trial %jd %-13s %-10s %s\n", (intmax_t)t->number,
                   trial_status_name(t->status), value, t->params);
        if (t->message[0])
            buf_printf(out, "  %s\n", t->message);
    }
    buf_printf(out, "experiment %s: %s%s%s\n", e->set.id, exp_status_name(e->status),
               e->error[0] ? ": " : "", e->error);
}

static enum rc read_served(const struct logs_conf *o, const struct tune_at *at,
                           const struct experiment *e, struct buf *out, struct err *err)
{
    if (o->path)
        return err_coded(err, RC_INVAL, E0603, "--path: the log is a file of the server");
    if (o->trial && !experiment_trial_find(e, o->trial))
        return err_coded(err, RC_NOTFOUND, E4008, "experiment %s has no trial '%s'",
                         e->set.id, o->trial);
    if (o->trial)
        return served_trial(at, o->trial, out, err);
    served_ends(e, out);
    return RC_OK;
}

static enum rc read_here(const struct logs_conf *o, const struct experiment *e,
                         struct buf *out, struct err *err)
{
    char *path = NULL, *data = NULL;
    size_t n = 0;
    enum rc rc = RC_OK;
    if (o->trial)
        rc = trial_log(e, o, &path, err);
    else
        path = fs_join(e->dir, "manager.log");
    if (!rc && o->path)
        buf_printf(out, "%s\n", path);
    else if (!rc && fs_exists(path))
        rc = fs_read(path, LOG_BYTES, &data, &n, err);
    if (!rc && data)
        buf_add(out, data, n);
    mem_free(data);
    mem_free(path);
    return rc;
}

static size_t lines_of(struct str s)
{
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++)
        n += s.p[i] == '\n';
    return n + (s.n && s.p[s.n - 1] != '\n');
}

/* The wanted lines of `s` into `b`. */
static void put_lines(struct str s, int64_t head, int64_t tail, struct buf *b)
{
    size_t all = lines_of(s), from = 0, to = all;
    if (tail > 0 && (size_t)tail < all)
        from = all - (size_t)tail;
    if (head > 0 && (size_t)head < to)
        to = (size_t)head;
    struct str line;
    for (size_t i = 0; s.n && str_split(&s, '\n', &line); i++)
        if (i >= from && i < to) {
            buf_add(b, line.p, line.n);
            buf_putc(b, '\n');
        }
}

static enum rc tune_logs_command(const void *conf, const struct opt_args *args,
                                 struct err *err)
{
    const struct logs_conf *o = conf;
    struct experiment *e = NULL;
    struct tune_at at = {.dir = NULL};
    struct buf all, b;
    buf_init(&all, LOG_BYTES);
    buf_init(&b, LOG_BYTES);
    enum rc rc = tune_at_open(&o->where, o->dir, args->n ? args->at[0] : NULL, &at, err);
    if (!rc)
        rc = experiment_open(at.dir, &e, err);
    if (!rc)
        rc = tune_at_served(&at) ? read_served(o, &at, e, &all, err)
                                 : read_here(o, e, &all, err);
    if (!rc)
        put_lines(str_of(buf_str(&all), all.n), o->path ? 0 : o->head,
                  o->path ? 0 : o->tail, &b);
    if (!rc)
        rc = cmd_print(&b, err);
    buf_release(&all);
    buf_release(&b);
    experiment_close(e);
    tune_at_close(&at);
    return rc;
}

static const struct cmd_example examples[] = {
    {"the last lines of a trial's log", "trainyard tune logs --trial AAAwl --tail 20"},
    {0},
};

const struct cmd cmd_tune_logs = {
    .name = "tune logs",
    .args = "[ID]",
    .summary = "show the log of an experiment or a trial",
    .examples = examples,
    .opts = opts,
    .conf_size = sizeof(struct logs_conf),
    .max_args = 1,
    .run = tune_logs_command,
};
