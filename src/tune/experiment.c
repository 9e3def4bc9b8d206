/* SPDX-License-Identifier: Apache-2.0 */
#include "tune/experiment.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/fs.h"
#include "text/json.h"
#include "tune/experiment_private.h"
#include "tune/frames.h"
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

bool trial_status_ended(enum trial_status s)
{
    return s != TS_WAITING && s != TS_RUNNING;
}

bool experiment_maximizes(const struct experiment *e)
{
    return tuner_maximizes(e->tuner, 0);
}

int64_t experiment_live(const struct experiment *e)
{
    int64_t n = 0;
    for (size_t i = 0; i < e->trials.n; i++)
        n += !trial_status_ended(e->trials.at[i].status);
    return n;
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

/* Events. Each has "e", its kind, and "t", the time in ms. */

static const char *text_of(const struct node *n, const char *key, const char *otherwise)
{
    const struct node *v = node_find(n, key);
    return v && v->kind == NODE_STR ? v->text.p : otherwise;
}

static int64_t int_of(const struct node *n, const char *key, int64_t otherwise)
{
    const struct node *found = node_find(n, key);
    int64_t v;
    return found && node_i64(found, &v) ? v : otherwise;
}

static struct exp_trial *trial_of(struct experiment *e, const struct node *n)
{
    int64_t i = int_of(n, "trial", -1);
    return i >= 0 && i < (int64_t)e->trials.n ? &e->trials.at[i] : NULL;
}

/* Letters first, so that the id is a name wherever one is wanted; a function of the
 * experiment and the number. */
static void make_id(const struct experiment *e, int64_t number, char out[TRIAL_ID_SIZE])
{
    static const char chars[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    uint64_t spread =
        ((uint64_t)number * 2654435761u + e->set.seed * 40503u) % (62u * 62u);
    uint64_t v = (uint64_t)number;
    out[0] = chars[(v / 62 / 62) % 52];
    out[1] = chars[(v / 62) % 62];
    out[2] = chars[v % 62];
    out[3] = chars[spread / 62];
    out[4] = chars[spread % 62];
    out[5] = 0;
}

static bool better(const struct experiment *e, double a, double b)
{
    return experiment_maximizes(e) ? a > b : a < b;
}

static void consider_best(struct experiment *e, const struct exp_trial *t)
{
    if (isnan(t->final))
        return;
    if (e->best < 0 || better(e, t->final, e->trials.at[e->best].final))
        e->best = t->number;
}

static void add_trial(struct experiment *e, int64_t asked, int64_t time)
{
    struct exp_trial t = {.number = (int64_t)e->trials.n,
                          .asked = asked,
                          .job = "",
                          .message = "",
                          .final_json = "",
                          .created = time};
    struct buf b;
    make_id(e, t.number, t.id);
    tuner_param_id(e->tuner, asked, t.param_id);
    buf_init(&b, FILE_MAX);
    tuner_params(e->tuner, asked, &b);
    t.params = arena_strdup(&e->arena, buf_str(&b));
    buf_release(&b);
    VEC_PUSH(&e->trials, t);
}

static enum rc apply_ask(struct experiment *e, const struct node *n, struct err *err)
{
    const struct node *x = node_find(n, "x");
    double *point = mem_calloc((size_t)e->space.n + 1, sizeof(*point));
    int64_t asked = -1;
    for (int64_t i = 0; i < e->space.n; i++)
        if (!x || x->kind != NODE_LIST || i >= (int64_t)x->list.n ||
            !node_number(x->list.at[i], &point[i]))
            point[i] = NAN;
    enum rc rc = tuner_replay(e->tuner, point, &asked, err);
    mem_free(point);
    if (!rc)
        add_trial(e, asked, int_of(n, "t", 0));
    return rc;
}

static enum rc apply_job(struct experiment *e, const struct node *n, struct err *err)
{
    struct exp_trial *t = trial_of(e, n);
    if (t)
        t->job = arena_strdup(&e->arena, text_of(n, "job", ""));
    return RC_OK;
}

static enum rc apply_running(struct experiment *e, const struct node *n, struct err *err)
{
    struct exp_trial *t = trial_of(e, n);
    if (t && t->status == TS_WAITING) {
        t->status = TS_RUNNING;
        t->started = int_of(n, "t", 0);
    }
    return RC_OK;
}

static enum rc apply_result(struct experiment *e, const struct node *n, struct err *err)
{
    struct exp_trial *t = trial_of(e, n);
    const char *json = text_of(n, "value", "null");
    double value;
    if (!t)
        return RC_OK;
    t->n_metrics = int_of(n, "records", t->n_metrics);
    if (trial_status_ended(t->status) || !frames_value(json, &value))
        return RC_OK;
    if (int_of(n, "step", -1) < 0) {
        if (t->has_final)
            return RC_OK; /* the first one counts */
        t->has_final = true;
        t->final = value;
        t->final_json = arena_strdup(&e->arena, json);
        tuner_tell(e->tuner, t->asked, &value, 0);
        consider_best(e, t);
        return RC_OK;
    }
    struct exp_result r = {.step = int_of(n, "step", 0), .value = value};
    VEC_PUSH(&t->results, r);
    tuner_report(e->tuner, t->asked, r.step, r.value);
    if (e->assessor && !t->stopping &&
        !assessor_report(e->assessor, t->number, r.step, value)) {
        t->stopping = true;
        t->stopped_as = TS_EARLY_STOPPED;
    }
    return RC_OK;
}

static enum rc apply_stop(struct experiment *e, const struct node *n, struct err *err)
{
    struct exp_trial *t = trial_of(e, n);
    if (t && !t->stopping) {
        t->stopping = true;
        t->stopped_as = (enum trial_status)int_of(n, "as", TS_USER_CANCELED);
    }
    return RC_OK;
}

static enum rc apply_end(struct experiment *e, const struct node *n, struct err *err)
{
    struct exp_trial *t = trial_of(e, n);
    const char *word = text_of(n, "status", "");
    if (!t || trial_status_ended(t->status))
        return RC_OK;
    t->status = TS_FAILED;
    for (int i = 0; i < TRIAL_STATUSES; i++)
        if (strcmp(word, trial_status_name((enum trial_status)i)) == 0)
            t->status = (enum trial_status)i;
    t->ended = int_of(n, "t", 0);
    t->message = arena_strdup(&e->arena, text_of(n, "message", ""));
    tuner_end(e->tuner, t->asked);
    if (e->assessor)
        assessor_end(e->assessor, t->number, t->status == TS_SUCCEEDED && t->has_final);
    return RC_OK;
}

static enum rc apply_limits(struct experiment *e, const struct node *n, struct err *err)
{
    e->limits.concurrency = int_of(n, "concurrency", e->limits.concurrency);
    e->limits.trials = int_of(n, "trials", e->limits.trials);
    e->limits.seconds = int_of(n, "seconds", e->limits.seconds);
    e->limits.trial_seconds = int_of(n, "trial_seconds", e->limits.trial_seconds);
    return RC_OK;
}

static enum rc apply_status(struct experiment *e, const struct node *n, struct err *err)
{
    const char *word = text_of(n, "status", "");
    for (int i = 0; i < EXP_STATUSES; i++)
        if (strcmp(word, exp_status_name((enum exp_status)i)) == 0)
            e->status = (enum exp_status)i;
    e->error = arena_strdup(&e->arena, text_of(n, "error", ""));
    e->spent_ms = int_of(n, "spent", e->spent_ms);
    return RC_OK;
}

static const struct {
    const char *kind;
    enum rc (*apply)(struct experiment *e, const struct node *n, struct err *err);
} events[] = {
    {"ask", apply_ask},       {"job", apply_job},       {"running", apply_running},
    {"result", apply_result}, {"stop", apply_stop},     {"end", apply_end},
    {"limits", apply_limits}, {"status", apply_status},
};

enum rc experiment_apply(struct experiment *e, const struct node *n, struct err *err)
{
    const char *kind = text_of(n, "e", "");
    for (size_t i = 0; i < ARRAY_LEN(events); i++)
        if (strcmp(kind, events[i].kind) == 0)
            return events[i].apply(e, n, err);
    return err_coded(err, RC_FORMAT, E4005, "an event of the unknown kind '%s'", kind);
}

/* One line of the log: {"e": kind, "t": now, ...}. */
static void begin(struct buf *b, const char *kind)
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
    if (!rc)
        rc = fs_add_line(path, buf_str(b), b->n, err);
    mem_free(path);
    return rc;
}

/* Adds the line and does what it says; releases `b`. */
static enum rc commit(struct experiment *e, struct buf *b, struct err *err)
{
    struct doc d = {0};
    struct diags unheard = {0};
    enum rc rc = write_line(e, b, err);
    if (!rc)
        rc = source_from("log.jsonl", buf_str(b), b->n, &d.src, err);
    if (!rc)
        rc = json_parse(&d, &unheard);
    if (!rc)
        rc = experiment_apply(e, d.root, err);
    diags_release(&unheard);
    doc_release(&d);
    buf_release(b);
    return rc;
}

/* The tuner has moved on when the line is written, so it is not asked to replay it. */
enum rc experiment_ask(struct experiment *e, enum tuner_answer *answer, int64_t *trial,
                       struct err *err)
{
    int64_t asked = -1;
    *answer = tuner_ask(e->tuner, &asked);
    if (*answer != TUNER_GIVES)
        return RC_OK;
    int64_t now = clock_wall_ns() / 1000000;
    const double *x = tuner_history(e->tuner)->trials.at[asked].x;
    struct buf b;
    begin(&b, "ask");
    buf_puts(&b, ", \"x\": [");
    for (int64_t i = 0; i < e->space.n; i++) {
        buf_puts(&b, i ? ", " : "");
        if (isnan(x[i]))
            buf_puts(&b, "null");
        else
            point_print_real(x[i], &b);
    }
    buf_puts(&b, "]");
    enum rc rc = write_line(e, &b, err);
    buf_release(&b);
    if (rc)
        return rc;
    *trial = (int64_t)e->trials.n;
    add_trial(e, asked, now);
    return RC_OK;
}

enum rc experiment_job(struct experiment *e, int64_t trial, const char *job,
                       struct err *err)
{
    struct buf b;
    begin(&b, "job");
    put_int(&b, "trial", trial);
    put_text(&b, "job", job);
    return commit(e, &b, err);
}

enum rc experiment_running(struct experiment *e, int64_t trial, struct err *err)
{
    struct buf b;
    begin(&b, "running");
    put_int(&b, "trial", trial);
    return commit(e, &b, err);
}

enum rc experiment_result(struct experiment *e, int64_t trial, bool final, int64_t step,
                          const char *json, int64_t records, bool *stop, struct err *err)
{
    struct buf b;
    bool before = e->trials.at[trial].stopping;
    begin(&b, "result");
    put_int(&b, "trial", trial);
    put_int(&b, "step", final ? -1 : step);
    put_text(&b, "value", json);
    put_int(&b, "records", records);
    enum rc rc = commit(e, &b, err);
    *stop = !rc && !before && e->trials.at[trial].stopping;
    return rc;
}

enum rc experiment_stop_trial(struct experiment *e, int64_t trial, enum trial_status as,
                              struct err *err)
{
    struct buf b;
    begin(&b, "stop");
    put_int(&b, "trial", trial);
    put_int(&b, "as", (int64_t)as);
    return commit(e, &b, err);
}

enum rc experiment_ended(struct experiment *e, int64_t trial, enum trial_status status,
                         const char *message, struct err *err)
{
    struct buf b;
    begin(&b, "end");
    put_int(&b, "trial", trial);
    put_text(&b, "status", trial_status_name(status));
    put_text(&b, "message", message);
    return commit(e, &b, err);
}

enum rc experiment_limits(struct experiment *e, const struct exp_limits *l,
                          struct err *err)
{
    struct buf b;
    begin(&b, "limits");
    put_int(&b, "concurrency", l->concurrency);
    put_int(&b, "trials", l->trials);
    put_int(&b, "seconds", l->seconds);
    put_int(&b, "trial_seconds", l->trial_seconds);
    return commit(e, &b, err);
}

enum rc experiment_status(struct experiment *e, enum exp_status status, const char *error,
                          int64_t spent_ms, struct err *err)
{
    struct buf b;
    begin(&b, "status");
    put_text(&b, "status", exp_status_name(status));
    put_text(&b, "error", error);
    put_int(&b, "spent", spent_ms);
    return commit(e, &b, err);
}
