/* SPDX-License-Identifier: Apache-2.0 */
/* A trial as a job. Its folder is NNI_SYS_DIR: parameter.cfg is there before the program
 * starts, .nni/metrics grows while it runs. That is all that NNI's own client needs, of
 * any version. A program without it prints `::trainyard NAME=VALUE`, or what a pattern of
 * a metric finds; then the metric `default`, or the only one there is, is the result.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/log.h"
#include "job/spec.h"
#include "job/submit.h"
#include "text/json.h"
#include "tune/command.h"
#include "tune/manager_private.h"
#include "tune/metrics.h"
#include "tune/served.h"

#define LOG_AREA "tune"
#define METRICS_MAX ((size_t)256 << 20)
#define TAIL_BYTES 600 /* of the log of a trial that failed, for its message */

static enum rc write_parameters(const char *dir, const struct exp_trial *t,
                                struct err *err)
{
    char *metrics = fs_join(dir, ".nni"), *path = fs_join(dir, "parameter.cfg");
    struct buf b;
    buf_init(&b, METRICS_MAX);
    experiment_record(t, &b);
    enum rc rc = buf_check(&b, err);
    if (!rc)
        rc = fs_mkdirs(metrics, 0755, err);
    if (!rc)
        rc = fs_write(path, b.p, b.n, 0644, err);
    buf_release(&b);
    mem_free(metrics);
    mem_free(path);
    return rc;
}

struct flags {
    VEC(struct job_spec_flag) list;
    struct arena arena;
};

static void trial_flag(struct flags *f, const char *name, const char *value)
{
    VEC_PUSH(&f->list, ((struct job_spec_flag){name, value}));
}

static void trial_env(struct flags *f, const char *name, const char *value)
{
    trial_flag(f, "env", arena_printf(&f->arena, "%s=%s", name, value));
}

/* Top-level parameters, as hyper-parameters of the job. */
static void add_parameters(struct flags *f, const struct exp_trial *t)
{
    struct doc d = {0};
    if (json_read("parameters", t->params, strlen(t->params), &d, NULL) == RC_OK &&
        d.root->kind == NODE_MAP)
        for (size_t i = 0; i < d.root->map.n; i++) {
            const struct node_entry *e = &d.root->map.at[i];
            struct buf b;
            buf_init(&b, METRICS_MAX);
            if (e->value->kind == NODE_STR)
                buf_add(&b, e->value->text.p, e->value->text.n);
            else
                json_print(e->value, 0, &b);
            trial_flag(
                f, "hp",
                arena_printf(&f->arena, "%.*s=%s", (int)e->key.n, e->key.p, buf_str(&b)));
            buf_release(&b);
        }
    doc_release(&d);
}

/* What the experiment says of jobs in general: {"cpu": ["2"], "env": ["A=1", "B=2"]}. */
static void add_job(struct flags *f, const struct node *job)
{
    for (size_t i = 0; job && i < job->map.n; i++) {
        const struct node *values = job->map.at[i].value;
        for (size_t k = 0; values->kind == NODE_LIST && k < values->list.n; k++)
            if (values->list.at[k]->kind == NODE_STR)
                trial_flag(f, job->map.at[i].key.p, values->list.at[k]->text.p);
    }
}

/* A trial of a server makes its own folder, since the experiment's is not for it to see:
 * tune/served.h. */
static void add_environment(struct flags *f, const struct experiment *e,
                            const struct exp_trial *t, const char *dir)
{
    char number[32];
    snprintf(number, sizeof(number), "%" PRId64, t->number);
    trial_env(f, "NNI_PLATFORM", "local");
    trial_env(f, "NNI_EXP_ID", e->set.id);
    trial_env(f, "NNI_TRIAL_JOB_ID", t->id);
    trial_env(f, "NNI_TRIAL_SEQ_ID", number);
    if (*e->set.owner) {
        struct buf b;
        buf_init(&b, METRICS_MAX);
        experiment_record(t, &b);
        trial_env(f, TUNE_SERVED_RECORD, buf_str(&b));
        buf_release(&b);
    } else {
        trial_env(f, "NNI_SYS_DIR", dir);
        trial_env(f, "NNI_OUTPUT_DIR", dir);
        trial_env(f, "NNI_CODE_DIR", e->set.code_dir);
    }
    if (e->set.gpu == 0)
        trial_env(f, "CUDA_VISIBLE_DEVICES", "");
}

/* On one's own machine trialConcurrency says how many run, not processors, and trials see
 * the variables of whoever started them, as those of NNI do. */
static void add_place(struct flags *f, const struct experiment *e)
{
    if (*e->set.project)
        trial_flag(f, "project", e->set.project);
    if (*e->set.owner) {
        trial_flag(f, "source", e->set.source);
        return;
    }
    if (!node_find(e->set.job, "cpu"))
        trial_flag(f, "cpu", "10m");
    trial_flag(f, "inherit", "true");
}

static void add_flags(struct flags *f, const struct experiment *e,
                      const struct exp_trial *t, const char *dir)
{
    trial_flag(f, "name",
               arena_printf(&f->arena, "nni-%s-%" PRId64, e->set.id, t->number));
    trial_flag(f, "client_token", arena_printf(&f->arena, "nni-%s-%s", e->set.id, t->id));
    trial_flag(f, "label", arena_printf(&f->arena, "experiment=%s", e->set.id));
    add_place(f, e);
    trial_flag(f, "grace", "5s");
    trial_flag(f, "retries",
               "2"); /* of a trial that a signal ended, not of one that failed */
    trial_flag(f, "backoff", "1s");
    if (e->set.gpu > 0)
        trial_flag(f, "gpu", arena_printf(&f->arena, "%" PRId64, e->set.gpu));
    add_job(f, e->set.job);
    add_environment(f, e, t, dir);
    add_parameters(f, t);
}

/* The command of the trial, and where it is to run. */
static enum rc trial_command(const struct tune_manager *m, const struct exp_trial *t,
                             char **command, const char **cwd, struct err *err)
{
    const struct exp_settings *set = &m->e->set;
    enum rc rc = tune_command_of(set->command, t->params, command, err);
    *cwd = *set->owner ? m->o->workdir : set->code_dir;
    if (!rc && *set->owner) {
        char *plain = *command;
        *command = tune_served_command(plain);
        mem_free(plain);
    }
    return rc;
}

enum rc tune_trial_submit(struct tune_manager *m, int64_t trial, struct err *err)
{
    struct experiment *e = m->e;
    const struct exp_trial *t = &e->trials.at[trial];
    char *dir = experiment_trial_dir(e, t), *command = NULL;
    const char *cwd = NULL;
    struct flags f = {0};
    struct job_spec spec = {0};
    struct diags diags = {0};
    struct job_submit_result made = {0};
    enum rc rc = write_parameters(dir, t, err);
    if (!rc)
        rc = trial_command(m, t, &command, &cwd, err);
    if (!rc) {
        add_flags(&f, e, t, dir);
        struct job_spec_flags flags = {.at = f.list.at,
                                       .n = f.list.n,
                                       .command = (const char *const[]){command},
                                       .n_command = 1};
        rc = job_spec_load(NULL, &flags, &spec, &diags, err);
        if (rc && diags.list.n)
            rc = err_set(err, rc, "%s", diags.list.at[0].msg);
    }
    if (!rc)
        rc = job_submit(m->jobs, &spec, m->o->env, cwd, &made, err);
    if (!rc)
        rc = experiment_job(e, trial, made.id, err);
    m->new_jobs = true;
    diags_release(&diags);
    job_spec_release(&spec);
    VEC_RELEASE(&f.list);
    arena_release(&f.arena);
    mem_free(command);
    mem_free(dir);
    return rc;
}

/* Records of the metrics file beyond those that the log holds. */
struct news {
    struct tune_manager *m;
    int64_t trial, seen;
    bool stop;
    enum rc rc;
    struct err *err;
};

static void on_metric(void *arg, const struct tune_metric *metric)
{
    struct news *n = arg;
    struct exp_trial *t = &n->m->e->trials.at[n->trial];
    bool stop = false;
    if (n->rc || ++n->seen <= t->n_metrics || metric->type == METRIC_OTHER)
        return;
    n->rc = experiment_result(n->m->e, n->trial, metric->type == METRIC_FINAL,
                              metric->sequence, metric->json, n->seen, &stop, n->err);
    n->stop |= stop;
}

/* What the trial wrote so far; *data stays NULL when that is nothing. */
static enum rc open_metrics(const struct tune_manager *m, const struct exp_trial *t,
                            char **data, size_t *n, struct err *err)
{
    if (*m->e->set.owner) {
        tune_served_read(m->jobs, t->job, ".nni/metrics", data, n);
        return RC_OK;
    }
    char *dir = experiment_trial_dir(m->e, t), *path = fs_join(dir, ".nni/metrics");
    enum rc rc = fs_exists(path) ? fs_read(path, METRICS_MAX, data, n, err) : RC_OK;
    mem_free(path);
    mem_free(dir);
    return rc;
}

static enum rc read_metrics(struct tune_manager *m, int64_t trial, bool *stop,
                            struct err *err)
{
    char *data = NULL;
    size_t n = 0, used = 0;
    struct news news = {.m = m, .trial = trial, .err = err};
    enum rc rc = open_metrics(m, &m->e->trials.at[trial], &data, &n, err);
    if (!rc && data) {
        struct err bad = {0};
        if (tune_metrics_read(data, n, on_metric, &news, &used, &bad))
            log_warn("trial %s: %s", m->e->trials.at[trial].id, bad.msg);
        rc = news.rc;
    }
    *stop = news.stop;
    mem_free(data);
    return rc;
}

static bool of_machine(const char *name)
{
    return str_starts(name, "sys/"); /* what the job used of it */
}

/* The metric whose course counts: the first objective, else `default`, else the first. */
static const char *main_metric(const struct experiment *e, const struct store_points *p)
{
    const char *name = NULL;
    if (e->set.objectives.n > 0)
        return e->set.objectives.at[0].metric;
    for (size_t i = 0; i < p->n; i++)
        if (!of_machine(p->at[i].name) &&
            (!name || strcmp(p->at[i].name, "default") == 0))
            name = p->at[i].name;
    return name;
}

/* The last value of every metric as one object, or of `name` alone as a number. */
static void print_last(const struct experiment *e, const struct store_points *p,
                       const char *name, struct buf *out)
{
    bool all = e->set.objectives.n > 0 || e->set.objectives.n_bounds > 0, first = true;
    char text[32];
    buf_puts(out, all ? "{" : "");
    for (size_t i = 0; i < p->n; i++) {
        bool last =
            !of_machine(p->at[i].name) && (all || strcmp(p->at[i].name, name) == 0);
        for (size_t k = i + 1; k < p->n && last; k++)
            last = strcmp(p->at[k].name, p->at[i].name) != 0;
        if (!last)
            continue;
        str_from_f64(p->at[i].value, text);
        if (all) {
            buf_puts(out, first ? "" : ", ");
            buf_json_str(out, p->at[i].name, strlen(p->at[i].name));
            buf_puts(out, ": ");
        }
        buf_puts(out, text);
        first = false;
    }
    buf_puts(out, all ? "}" : "");
}

static enum rc pass_points(struct tune_manager *m, int64_t trial, const char *name,
                           const struct store_points *p, bool *stop, struct err *err)
{
    int64_t step = 0, seen = (int64_t)m->e->trials.at[trial].results.n;
    enum rc rc = RC_OK;
    for (size_t i = 0; !rc && i < p->n; i++) {
        char text[32];
        bool one = false;
        if (strcmp(p->at[i].name, name) != 0 || step++ < seen ||
            m->e->trials.at[trial].stopping)
            continue;
        str_from_f64(p->at[i].value, text);
        rc = experiment_result(m->e, trial, false, step - 1, text, 0, &one, err);
        *stop |= one;
    }
    return rc;
}

/* Whether the last value of a trial that is over is its result. An assessor that stopped
 * it did so because of that value; who else stops a trial does not take it away. */
static bool last_counts(const struct exp_trial *t, enum job_state state)
{
    return !t->has_final && (!t->stopping || t->out_of_time || state == JOB_Succeeded ||
                             t->stopped_as == TS_USER_CANCELED);
}

/* The values that the job's own metrics give, for a trial that wrote no records. */
static enum rc read_points(struct tune_manager *m, int64_t trial, enum job_state state,
                           bool *stop, struct err *err)
{
    struct store_points points = {0};
    enum rc rc = store_points_get(m->jobs->store, m->e->trials.at[trial].job, NULL, 0,
                                  100000, &points, err);
    const char *name = rc ? NULL : main_metric(m->e, &points);
    if (name)
        rc = pass_points(m, trial, name, &points, stop, err);
    const struct exp_trial *t = &m->e->trials.at[trial];
    if (!rc && name && job_state_ended(state) && last_counts(t, state)) {
        struct buf json;
        bool ignored;
        buf_init(&json, 1 << 20);
        print_last(m->e, &points, name, &json);
        if (json.n > 0 && strcmp(buf_str(&json), "{}") != 0)
            rc =
                experiment_result(m->e, trial, true, 0, buf_str(&json), 0, &ignored, err);
        buf_release(&json);
    }
    store_points_release(&points);
    return rc;
}

/* The last lines that a trial printed, for the message of its failure. */
static void last_lines(const struct tune_manager *m, const struct exp_trial *t,
                       int64_t attempt, struct buf *out)
{
    char *path = job_place_log(m->jobs, t->job, 0, attempt), text[TAIL_BYTES + 1];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    ssize_t n = 0;
    if (fd >= 0 && fstat(fd, &st) == 0)
        n = pread(fd, text, TAIL_BYTES,
                  st.st_size > TAIL_BYTES ? st.st_size - TAIL_BYTES : 0);
    if (n > 0) {
        struct str s = str_trim(str_of(text, (size_t)n));
        buf_puts(out, "; its last lines:\n");
        buf_add(out, s.p, s.n);
    }
    if (fd >= 0)
        close(fd);
    mem_free(path);
}

static enum rc trial_settle(struct tune_manager *m, int64_t trial,
                            const struct store_job *job, struct err *err)
{
    struct exp_trial *t = &m->e->trials.at[trial];
    struct buf why;
    enum job_state state = JOB_Failed;
    buf_init(&why, 1 << 16);
    enum trial_status status = TS_SUCCEEDED;
    if (!job_state_find(job->state, &state))
        state = JOB_Failed;
    if (t->stopping) {
        status = t->stopped_as;
    } else if (state == JOB_Stopped) {
        status = TS_USER_CANCELED;
    } else if (state != JOB_Succeeded) {
        status = TS_FAILED;
        buf_printf(&why, "the trial ended with %s", job->reason);
        last_lines(m, t, job->attempt, &why);
    } else if (!t->has_final) {
        status = TS_FAILED;
        buf_puts(&why, "the trial succeeded but ");
        buf_puts(&why, t->message[0] ? t->message : "reported no result");
        last_lines(m, t, job->attempt, &why);
    }
    enum rc rc = experiment_ended(m->e, trial, status, buf_str(&why), err);
    buf_release(&why);
    return rc;
}

enum rc tune_trial_stop(struct tune_manager *m, int64_t trial, enum trial_status as,
                        bool out_of_time, struct err *err)
{
    struct job_request_result r;
    enum rc rc = RC_OK;
    if (!m->e->trials.at[trial].stopping)
        rc = experiment_stop_trial(m->e, trial, as, out_of_time, err);
    if (!rc && m->e->trials.at[trial].job[0])
        rc = job_request_stop(m->jobs, m->e->trials.at[trial].job, false, &r, err);
    m->new_jobs = true;
    return rc;
}

static bool too_long(const struct experiment *e, const struct exp_trial *t)
{
    return e->limits.trial_seconds > 0 && t->started > 0 &&
           clock_wall_ns() / 1000000 - t->started > e->limits.trial_seconds * 1000;
}

enum rc tune_trial_poll(struct tune_manager *m, int64_t trial, struct err *err)
{
    struct experiment *e = m->e;
    struct store_jobs row = {0};
    enum job_state state = JOB_Creating;
    bool stop = false;
    enum rc rc = store_get(m->jobs->store, e->trials.at[trial].job, &row, err);
    if (rc == RC_NOTFOUND) {
        store_jobs_release(&row);
        return experiment_ended(e, trial, TS_FAILED, "its job is gone", err);
    }
    if (!rc && !job_state_find(row.at[0].state, &state))
        state = JOB_Unknown;
    bool over = job_state_ended(state);
    if (!rc && row.at[0].started > 0 && e->trials.at[trial].status == TS_WAITING)
        rc = experiment_running(e, trial, err);
    /* The state was read first: what a job that is over wrote is all there by now. */
    if (!rc)
        rc = read_metrics(m, trial, &stop, err);
    if (!rc && e->trials.at[trial].n_metrics == 0)
        rc = read_points(m, trial, state, &stop, err);
    if (!rc && over)
        rc = trial_settle(m, trial, &row.at[0], err);
    else if (!rc && stop)
        rc = tune_trial_stop(m, trial, TS_EARLY_STOPPED, false, err);
    else if (!rc && !e->trials.at[trial].stopping && too_long(e, &e->trials.at[trial]))
        rc = tune_trial_stop(m, trial, TS_EARLY_STOPPED, true, err);
    store_jobs_release(&row);
    return rc;
}
