/* SPDX-License-Identifier: Apache-2.0 */
/* What each event of the log does to the experiment in memory: one function per kind,
 * found in the table at the end. They run when a line is written and when the log is read
 * back, so they look at the event and the state alone: times come from the event, ids of
 * trials from their number and the seed. Results go on to the tuner and the assessor
 * here, in the order of the log, which brings both to where they stood. A new search
 * space makes a new tuner, which gets the results so far by their parameters.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "text/json.h"
#include "tune/experiment_private.h"
#include "tune/metrics.h"

#define LOG_AREA "tune"
#define PARAMS_MAX ((size_t)1 << 30)

/* Events. Each has "e", its kind, and "t", the time in ms. */

static struct exp_trial *trial_of(struct experiment *e, const struct node *n)
{
    int64_t i = node_get_int(n, "trial", -1);
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

static bool experiment_apply_better(const struct experiment *e, const struct exp_trial *a,
                                    const struct exp_trial *b)
{
    if (a->violation != b->violation)
        return a->violation < b->violation;
    return experiment_maximizes(e, 0) ? a->final > b->final : a->final < b->final;
}

static void consider_best(struct experiment *e, const struct exp_trial *t)
{
    if (isnan(t->final))
        return;
    if (e->best < 0 || experiment_apply_better(e, t, &e->trials.at[e->best]))
        e->best = t->number;
}

static void add_trial(struct experiment *e, struct exp_trial *t, int64_t time)
{
    t->number = (int64_t)e->trials.n;
    t->job = t->message = t->final_json = "";
    t->created = time;
    make_id(e, t->number, t->id);
    VEC_PUSH(&e->trials, *t);
}

void experiment_add(struct experiment *e, int64_t asked, int64_t time)
{
    struct exp_trial t = {.asked = asked};
    struct buf b;
    tuner_param_id(e->tuner, asked, t.param_id);
    if (e->spaces > 0 && t.param_id[0] != '"') /* a tuner of a new space counts anew */
        snprintf(t.param_id, sizeof(t.param_id), "%zu", e->trials.n);
    buf_init(&b, PARAMS_MAX);
    tuner_params(e->tuner, asked, &b);
    t.params = arena_strdup(&e->arena, buf_str(&b));
    buf_release(&b);
    add_trial(e, &t, time);
}

/* {"e": "ask", "id": 3, "params": {...}}: what a custom tuner answered. */
static enum rc add_custom(struct experiment *e, const struct node *n, struct err *err)
{
    const struct node *id = node_find(n, "id"), *params = node_find(n, "params");
    struct exp_trial t = {.asked = -1};
    struct buf b;
    if (!id || !params)
        return err_coded(err, RC_FORMAT, E4005, "an ask without id and params");
    buf_init(&b, PARAMS_MAX);
    json_print(id, 0, &b);
    snprintf(t.param_id, sizeof(t.param_id), "%s", buf_str(&b));
    buf_clear(&b);
    json_print(params, 0, &b);
    t.params = arena_strdup(&e->arena, buf_str(&b));
    buf_release(&b);
    add_trial(e, &t, node_get_int(n, "t", 0));
    return RC_OK;
}

static enum rc apply_ask(struct experiment *e, const struct node *n, struct err *err)
{
    const struct node *x = node_find(n, "x");
    if (!e->tuner)
        return add_custom(e, n, err);
    double *point = mem_calloc((size_t)e->space.n + 1, sizeof(*point));
    int64_t asked = -1;
    for (int64_t i = 0; i < e->space.n; i++)
        if (!x || x->kind != NODE_LIST || i >= (int64_t)x->list.n ||
            !node_number(x->list.at[i], &point[i]))
            point[i] = NAN;
    enum rc rc = tuner_replay(e->tuner, point, &asked, err);
    mem_free(point);
    if (!rc)
        experiment_add(e, asked, node_get_int(n, "t", 0));
    return rc;
}

/* A custom tuner was asked and had nothing. */
static enum rc apply_none(struct experiment *e, const struct node *n, struct err *err)
{
    return RC_OK;
}

static enum rc apply_job(struct experiment *e, const struct node *n, struct err *err)
{
    struct exp_trial *t = trial_of(e, n);
    if (t)
        t->job = arena_strdup(&e->arena, node_get_text(n, "job", ""));
    return RC_OK;
}

static enum rc apply_running(struct experiment *e, const struct node *n, struct err *err)
{
    struct exp_trial *t = trial_of(e, n);
    if (t && t->status == TS_WAITING) {
        t->status = TS_RUNNING;
        t->started = node_get_int(n, "t", 0);
    }
    return RC_OK;
}

/* A result of a trial that this tuner did not ask for: by its parameters. Those that the
 * space of today does not have are passed over.
 */
static void experiment_apply_import(struct experiment *e, const struct exp_trial *t)
{
    struct doc d = {0};
    if (json_read("parameters", t->params, strlen(t->params), &d, NULL) == RC_OK &&
        tuner_import(e->tuner, d.root, t->values, t->violation, NULL) != RC_OK)
        log_debug("trial %s lies outside the search space of today", t->id);
    doc_release(&d);
}

static void apply_final(struct experiment *e, struct exp_trial *t, const char *json)
{
    struct err err = {0};
    if (t->has_final)
        return; /* the first one counts */
    if (tune_objectives_read(&e->set.objectives, json, t->values, &t->violation, &err)) {
        t->message = arena_strdup(&e->arena, err.msg);
        return;
    }
    t->has_final = true;
    t->final = t->values[0];
    t->final_json = arena_strdup(&e->arena, json);
    if (e->tuner && t->asked >= 0)
        tuner_tell(e->tuner, t->asked, t->values, t->violation);
    else if (e->tuner)
        experiment_apply_import(e, t);
    consider_best(e, t);
}

static enum rc apply_result(struct experiment *e, const struct node *n, struct err *err)
{
    struct exp_trial *t = trial_of(e, n);
    const char *json = node_get_text(n, "value", "null");
    double value;
    if (!t)
        return RC_OK;
    t->n_metrics = node_get_int(n, "records", t->n_metrics);
    if (trial_status_ended(t->status))
        return RC_OK;
    if (node_get_int(n, "step", -1) < 0) {
        apply_final(e, t, json);
        t->final_time = node_get_int(n, "t", 0);
        return RC_OK;
    }
    if (!tune_objectives_first(&e->set.objectives, json, &value))
        return RC_OK;
    struct exp_result r = {.step = node_get_int(n, "step", 0),
                           .time = node_get_int(n, "t", 0),
                           .value = value};
    if (strchr(json, '{'))
        r.json = arena_strdup(&e->arena, json);
    VEC_PUSH(&t->results, r);
    if (e->tuner && t->asked >= 0)
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
        t->stopped_as = (enum trial_status)node_get_int(n, "as", TS_USER_CANCELED);
        t->out_of_time = node_get_int(n, "late", 0) != 0;
    }
    return RC_OK;
}

static enum rc apply_end(struct experiment *e, const struct node *n, struct err *err)
{
    struct exp_trial *t = trial_of(e, n);
    const char *word = node_get_text(n, "status", "");
    if (!t || trial_status_ended(t->status))
        return RC_OK;
    t->status = TS_FAILED;
    for (int i = 0; i < TRIAL_STATUSES; i++)
        if (strcmp(word, trial_status_name((enum trial_status)i)) == 0)
            t->status = (enum trial_status)i;
    t->ended = node_get_int(n, "t", 0);
    t->message = arena_strdup(&e->arena, node_get_text(n, "message", ""));
    if (e->tuner && t->asked >= 0)
        tuner_end(e->tuner, t->asked);
    if (e->assessor)
        assessor_end(e->assessor, t->number, t->status == TS_SUCCEEDED && t->has_final);
    return RC_OK;
}

static enum rc apply_limits(struct experiment *e, const struct node *n, struct err *err)
{
    e->limits.concurrency = node_get_int(n, "concurrency", e->limits.concurrency);
    e->limits.trials = node_get_int(n, "trials", e->limits.trials);
    e->limits.seconds = node_get_int(n, "seconds", e->limits.seconds);
    e->limits.trial_seconds = node_get_int(n, "trial_seconds", e->limits.trial_seconds);
    return RC_OK;
}

/* A new tuner over the new space, with the results so far. */
static enum rc apply_space(struct experiment *e, const struct node *n, struct err *err)
{
    const struct node *given = node_get_map(n, "space");
    struct diags diags = {0};
    if (!given)
        return err_coded(err, RC_FORMAT, E4005, "a change of the space without one");
    e->space_tree = node_clone(&e->arena, given);
    e->spaces++;
    if (!e->tuner)
        return RC_OK;
    enum rc rc = nni_space_build(e->space_tree, &e->arena, &diags, &e->space);
    if (rc)
        rc = err_coded(err, RC_FORMAT, E4005, "a search space with an error: %s",
                       diags.list.n ? diags.list.at[0].msg : "");
    diags_release(&diags);
    tuner_destroy(e->tuner);
    e->tuner = NULL;
    if (!rc)
        rc = experiment_make_tuner(e, err);
    for (size_t i = 0; !rc && i < e->trials.n; i++) {
        e->trials.at[i].asked = -1;
        if (e->trials.at[i].has_final)
            experiment_apply_import(e, &e->trials.at[i]);
    }
    return rc;
}

static enum rc apply_status(struct experiment *e, const struct node *n, struct err *err)
{
    const char *word = node_get_text(n, "status", "");
    for (int i = 0; i < EXP_STATUSES; i++)
        if (strcmp(word, exp_status_name((enum exp_status)i)) == 0)
            e->status = (enum exp_status)i;
    e->error = arena_strdup(&e->arena, node_get_text(n, "error", ""));
    e->spent_ms = node_get_int(n, "spent", e->spent_ms);
    e->status_at = node_get_int(n, "t", 0);
    return RC_OK;
}

static const struct {
    const char *kind;
    enum rc (*apply)(struct experiment *e, const struct node *n, struct err *err);
} events[] = {
    {"ask", apply_ask},       {"job", apply_job},       {"running", apply_running},
    {"result", apply_result}, {"stop", apply_stop},     {"end", apply_end},
    {"limits", apply_limits}, {"status", apply_status}, {"none", apply_none},
    {"space", apply_space},
};

enum rc experiment_apply(struct experiment *e, const struct node *n, struct err *err)
{
    const char *kind = node_get_text(n, "e", "");
    for (size_t i = 0; i < ARRAY_LEN(events); i++)
        if (strcmp(kind, events[i].kind) == 0)
            return events[i].apply(e, n, err);
    return err_coded(err, RC_FORMAT, E4005, "an event of the unknown kind '%s'", kind);
}
