/* SPDX-License-Identifier: Apache-2.0 */
/* What can happen to an experiment, one function for each: it writes a line to log.jsonl
 * and then lets experiment_apply() do what the line says, the same code that reads the
 * log back. So what is in memory follows from the files, whoever made it. An ask of a
 * built-in tuner is the exception: the tuner has moved on when the line is written, so
 * only the trial is added. A Python class answers first, and its answer is the line. A
 * last line that was cut short by a crash is cut off before the next is added.
 */
#include "tune/experiment.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "text/json.h"
#include "text/nni/algo.h"
#include "tune/experiment_private.h"
#include "tune/point.h"

#define FILE_MAX ((size_t)1 << 30)

const char *exp_status_name(enum exp_status s)
{
    static const char *const names[] = {
#define STATUS(name) #name,
#include "tune/exp_status.def"
#undef STATUS
    };
    return names[s];
}

const char *trial_status_name(enum trial_status s)
{
    static const char *const names[] = {
#define STATUS(name) #name,
#include "tune/trial_status.def"
#undef STATUS
    };
    return names[s];
}

enum exp_status exp_status_now(enum exp_status s, bool alive)
{
    bool under_way =
        s == EXP_RUNNING || s == EXP_NO_MORE_TRIAL || s == EXP_TUNER_NO_MORE_TRIAL;
    return under_way && !alive ? EXP_INTERRUPTED : s;
}

bool trial_status_ended(enum trial_status s)
{
    return s != TS_WAITING && s != TS_RUNNING;
}

bool experiment_maximizes(const struct experiment *e, int64_t objective)
{
    if (e->set.objectives.n > 0)
        return e->set.objectives.at[objective].maximize;
    if (e->tuner)
        return tuner_maximizes(e->tuner, 0);
    return strcmp(node_get_text(e->set.tuner_args, "optimize_mode", "maximize"),
                  "minimize") != 0;
}

int64_t experiment_objectives(const struct experiment *e)
{
    return e->set.objectives.n > 1 ? e->set.objectives.n : 1;
}

uint64_t experiment_seed(const struct experiment *e)
{
    return e->tuner ? tuner_seed(e->tuner) : e->set.seed;
}

/* Whether a is nowhere worse than b and somewhere better; constraints come first. */
static bool beats(const struct experiment *e, const struct exp_trial *a,
                  const struct exp_trial *b)
{
    bool better = false;
    if (a->violation != b->violation)
        return a->violation < b->violation;
    for (int64_t i = 0; i < experiment_objectives(e); i++) {
        double x = a->values[i], y = b->values[i];
        if (isnan(x))
            return false;
        bool more = isnan(y) || (experiment_maximizes(e, i) ? x > y : x < y);
        if (!more && x != y)
            return false;
        better |= more;
    }
    return better;
}

bool experiment_in_front(const struct experiment *e, const struct exp_trial *t)
{
    if (!t->has_final || isnan(t->final))
        return false;
    for (size_t i = 0; i < e->trials.n; i++)
        if (e->trials.at[i].has_final && beats(e, &e->trials.at[i], t))
            return false;
    return true;
}

int64_t experiment_live(const struct experiment *e)
{
    int64_t n = 0;
    for (size_t i = 0; i < e->trials.n; i++)
        n += !trial_status_ended(e->trials.at[i].status);
    return n;
}

const struct exp_trial *experiment_trial_find(const struct experiment *e,
                                              const char *name)
{
    int64_t number;
    for (size_t i = 0; i < e->trials.n; i++)
        if (strcmp(e->trials.at[i].id, name) == 0)
            return &e->trials.at[i];
    if (str_to_i64(str_c(name), &number) && number >= 0 && number < (int64_t)e->trials.n)
        return &e->trials.at[number];
    return NULL;
}

enum rc experiment_trial_live(const struct experiment *e, const char *name,
                              const struct exp_trial **out, struct err *err)
{
    const struct exp_trial *t = experiment_trial_find(e, name);
    if (!t)
        return err_coded(err, RC_NOTFOUND, E4008, "experiment %s has no trial '%.60s'",
                         e->set.id, name);
    if (trial_status_ended(t->status))
        return err_coded(err, RC_CANCELED, E4021, "trial %jd (%s) has ended: %s",
                         (intmax_t)t->number, t->id, trial_status_name(t->status));
    *out = t;
    return RC_OK;
}

char *experiment_trial_dir(const struct experiment *e, const struct exp_trial *t)
{
    char *name = mem_printf("trials/%s", t->id), *dir = fs_join(e->dir, name);
    mem_free(name);
    return dir;
}

void experiment_record(const struct exp_trial *t, struct buf *out)
{
    buf_printf(
        out,
        "{\"parameter_id\": %s, \"parameter_source\": \"algorithm\", \"parameters\": %s, "
        "\"parameter_index\": 0}",
        t->param_id, t->params);
}

/* One line of the log: {"e": kind, "t": now, ...}. */
static void experiment_begin(struct buf *b, const char *kind)
{
    buf_init(b, FILE_MAX);
    buf_printf(b, "{\"e\": \"%s\", \"t\": %jd", kind,
               (intmax_t)(clock_wall_ns() / 1000000));
}

static void put_int(struct buf *b, const char *key, int64_t v)
{
    buf_printf(b, ", \"%s\": %jd", key, (intmax_t)v);
}

static void put_text(struct buf *b, const char *key, const char *v)
{
    buf_printf(b, ", \"%s\": ", key);
    buf_json_str(b, v, strlen(v));
}

static enum rc write_line(struct experiment *e, struct buf *b, struct err *err)
{
    char *path = fs_join(e->dir, "log.jsonl");
    buf_puts(b, "}\n");
    enum rc rc = buf_check(b, err);
    if (!rc && e->torn_at >= 0 && truncate(path, (off_t)e->torn_at) != 0)
        rc = err_set(err, RC_IO, "'%s': cannot cut off an incomplete last line", path);
    if (!rc) {
        e->torn_at = -1;
        rc = fs_add_line(path, buf_str(b), b->n, err);
    }
    mem_free(path);
    return rc;
}

/* Adds the line and does what it says; releases `b`. */
static enum rc experiment_commit(struct experiment *e, struct buf *b, struct err *err)
{
    struct doc d = {0};
    enum rc rc = write_line(e, b, err);
    if (!rc)
        rc = json_read("log.jsonl", buf_str(b), b->n, &d, err);
    if (!rc)
        rc = experiment_apply(e, d.root, err);
    doc_release(&d);
    buf_release(b);
    return rc;
}

/* What a Python class answers is written down, since nobody can work it out again; that
 * it had nothing, too, so that it is asked as often when the log is told to it again.
 */
static enum rc ask_custom(struct experiment *e, enum tuner_answer *answer, int64_t *trial,
                          struct err *err)
{
    struct buf b, id, params;
    bool given = false;
    *answer = TUNER_WAITS;
    if (e->dry)
        return RC_OK;
    buf_init(&id, FILE_MAX);
    buf_init(&params, FILE_MAX);
    enum rc rc = tune_custom_ask(e->custom_tuner, &given, &id, &params, err);
    if (!rc) {
        *trial = (int64_t)e->trials.n;
        *answer = given ? TUNER_GIVES : TUNER_WAITS;
        experiment_begin(&b, given ? "ask" : "none");
        if (given)
            buf_printf(&b, ", \"id\": %s, \"params\": %s", buf_str(&id),
                       buf_str(&params));
        rc = experiment_commit(e, &b, err);
        e->dry = !given;
    }
    if (!rc && e->dry && experiment_live(e) == 0)
        *answer = TUNER_ENDS;
    buf_release(&id);
    buf_release(&params);
    return rc;
}

/* The tuner has moved on when the line is written, so it is not asked to replay it. */
enum rc experiment_ask(struct experiment *e, enum tuner_answer *answer, int64_t *trial,
                       struct err *err)
{
    int64_t asked = -1;
    if (!e->tuner)
        return ask_custom(e, answer, trial, err);
    *answer = tuner_ask(e->tuner, &asked);
    if (*answer != TUNER_GIVES)
        return RC_OK;
    int64_t now = clock_wall_ns() / 1000000;
    const double *x = tuner_history(e->tuner)->trials.at[asked].x;
    struct buf b;
    experiment_begin(&b, "ask");
    buf_puts(&b, ", \"x\": [");
    for (int64_t i = 0; i < e->space.n; i++) {
        buf_puts(&b, i ? ", " : "");
        if (isnan(x[i]))
            buf_puts(&b, "null");
        else
            tune_point_print_real(x[i], &b);
    }
    buf_puts(&b, "]");
    enum rc rc = write_line(e, &b, err);
    buf_release(&b);
    if (rc)
        return rc;
    *trial = (int64_t)e->trials.n;
    experiment_add(e, asked, now);
    return RC_OK;
}

enum rc experiment_job(struct experiment *e, int64_t trial, const char *job,
                       struct err *err)
{
    struct buf b;
    experiment_begin(&b, "job");
    put_int(&b, "trial", trial);
    put_text(&b, "job", job);
    return experiment_commit(e, &b, err);
}

enum rc experiment_running(struct experiment *e, int64_t trial, struct err *err)
{
    struct buf b;
    experiment_begin(&b, "running");
    put_int(&b, "trial", trial);
    return experiment_commit(e, &b, err);
}

enum rc experiment_result(struct experiment *e, int64_t trial, bool final, int64_t step,
                          const char *json, int64_t records, bool *stop, struct err *err)
{
    struct buf b;
    bool before = e->trials.at[trial].stopping;
    experiment_begin(&b, "result");
    put_int(&b, "trial", trial);
    put_int(&b, "step", final ? -1 : step);
    put_text(&b, "value", json);
    put_int(&b, "records", records);
    enum rc rc = experiment_commit(e, &b, err);
    *stop = !rc && !before && e->trials.at[trial].stopping;
    if (!rc)
        rc = experiment_pass_result(e, trial, final, step, json, stop, err);
    return rc;
}

enum rc experiment_stop_trial(struct experiment *e, int64_t trial, enum trial_status as,
                              bool out_of_time, struct err *err)
{
    struct buf b;
    experiment_begin(&b, "stop");
    put_int(&b, "trial", trial);
    put_int(&b, "as", (int64_t)as);
    if (out_of_time)
        put_int(&b, "late", 1);
    return experiment_commit(e, &b, err);
}

enum rc experiment_ended(struct experiment *e, int64_t trial, enum trial_status status,
                         const char *message, struct err *err)
{
    struct buf b;
    experiment_begin(&b, "end");
    put_int(&b, "trial", trial);
    put_text(&b, "status", trial_status_name(status));
    put_text(&b, "message", message);
    enum rc rc = experiment_commit(e, &b, err);
    return rc ? rc : experiment_pass_end(e, trial, err);
}

enum rc experiment_limits(struct experiment *e, const struct exp_limits *l,
                          struct err *err)
{
    struct buf b;
    experiment_begin(&b, "limits");
    put_int(&b, "concurrency", l->concurrency);
    put_int(&b, "trials", l->trials);
    put_int(&b, "seconds", l->seconds);
    put_int(&b, "trial_seconds", l->trial_seconds);
    return experiment_commit(e, &b, err);
}

/* Whether the tuner would take it; nothing is changed. */
static enum rc check_space(const struct experiment *e, const struct node *root,
                           struct err *err)
{
    struct diags diags = {0};
    struct arena a = {0};
    struct nni_space space;
    const struct nni_algo *algo = nni_algo_find(NNI_TUNER, e->set.tuner);
    enum rc rc = nni_space_build(root, &a, &diags, &space);
    if (!rc && algo)
        nni_algo_check_space(algo, &space, root->at, &diags);
    if (rc || diags.n_errors > 0)
        rc = err_coded(err, RC_INVAL, E4012, "the search space: %s",
                       diags.list.n ? diags.list.at[0].msg : "it has an error");
    arena_release(&a);
    diags_release(&diags);
    return rc;
}

/* The space as a tree, when the tuner would take it. To doc_release(). */
static enum rc read_space(const struct experiment *e, const char *json, struct doc *d,
                          struct err *err)
{
    enum rc rc = json_read("the search space", json, strlen(json), d, err);
    if (!rc && d->root->kind != NODE_MAP)
        rc = err_coded(err, RC_INVAL, E4012, "the search space is %s, not a map",
                       node_kind_name(d->root->kind));
    if (!rc && e->tuner)
        rc = check_space(e, d->root, err);
    return rc;
}

enum rc experiment_space_check(const struct experiment *e, const char *json,
                               struct err *err)
{
    struct doc d = {0};
    enum rc rc = read_space(e, json, &d, err);
    doc_release(&d);
    return rc;
}

enum rc experiment_space(struct experiment *e, const char *json, struct err *err)
{
    struct doc d = {0};
    struct buf b;
    enum rc rc = read_space(e, json, &d, err);
    if (!rc) {
        experiment_begin(&b, "space");
        buf_puts(&b, ", \"space\": ");
        json_print(d.root, 0, &b);
        rc = experiment_commit(e, &b, err);
    }
    e->dry = false;
    if (!rc && e->custom_tuner)
        rc = tune_custom_space(e->custom_tuner, e->space_tree, err);
    doc_release(&d);
    return rc;
}

enum rc experiment_status(struct experiment *e, enum exp_status status, const char *error,
                          int64_t spent_ms, struct err *err)
{
    struct buf b;
    experiment_begin(&b, "status");
    put_text(&b, "status", exp_status_name(status));
    put_text(&b, "error", error);
    put_int(&b, "spent", spent_ms);
    return experiment_commit(e, &b, err);
}
