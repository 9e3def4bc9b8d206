/* SPDX-License-Identifier: Apache-2.0 */
/* Between an experiment and the Python classes that may steer it. They are told what the
 * log says, in its order: while it is written, and all of it again when a manager starts.
 */
#include <string.h>

#include "base/log.h"
#include "text/json.h"
#include "tune/experiment_private.h"

#define LOG_AREA "tune"

static struct tune_custom_trial known_as(const struct exp_trial *t)
{
    return (struct tune_custom_trial){
        .id = t->id, .param_id = t->param_id, .params = t->params};
}

enum rc experiment_pass_result(struct experiment *e, int64_t trial, bool final,
                               int64_t step, const char *json, bool *stop,
                               struct err *err)
{
    struct exp_trial *t = &e->trials.at[trial];
    struct tune_custom_trial as = known_as(t);
    double values[TUNE_OBJECTIVES_MAX], violation;
    enum rc rc = RC_OK;
    if ((!e->custom_tuner && !e->custom_assessor) || t->closed)
        return RC_OK;
    e->dry = false;
    if (final) {
        if (t->told ||
            tune_objectives_read(&e->set.objectives, json, values, &violation, NULL))
            return RC_OK;
        t->told = true;
        return e->custom_tuner ? tune_custom_tell(e->custom_tuner, &as, json, err)
                               : RC_OK;
    }
    bool ends = false;
    if (!tune_objectives_first(&e->set.objectives, json, values))
        return RC_OK;
    if (e->custom_tuner)
        rc = tune_custom_report(e->custom_tuner, &as, step, json, &ends, err);
    if (!rc && e->custom_assessor)
        rc = tune_custom_report(e->custom_assessor, &as, step, json, &ends, err);
    *stop |= ends;
    return rc;
}

enum rc experiment_pass_end(struct experiment *e, int64_t trial, struct err *err)
{
    struct exp_trial *t = &e->trials.at[trial];
    struct tune_custom_trial as = known_as(t);
    const char *status = trial_status_name(t->status);
    bool ok = t->status == TS_SUCCEEDED;
    enum rc rc = RC_OK;
    if ((!e->custom_tuner && !e->custom_assessor) || t->closed)
        return RC_OK;
    e->dry = false;
    t->closed = true;
    if (e->custom_tuner)
        rc = tune_custom_end(e->custom_tuner, &as, ok, status, err);
    if (!rc && e->custom_assessor)
        rc = tune_custom_end(e->custom_assessor, &as, ok, status, err);
    return rc;
}

/* The class is asked as it was; what it says now is compared, and the log counts. */
static enum rc ask_again(struct experiment *e, const struct node *n, struct err *err)
{
    struct buf id, params, want;
    bool given = false;
    if (!e->custom_tuner)
        return RC_OK;
    buf_init(&id, (size_t)1 << 30);
    buf_init(&params, (size_t)1 << 30);
    buf_init(&want, (size_t)1 << 30);
    enum rc rc = tune_custom_ask(e->custom_tuner, &given, &id, &params, err);
    if (!rc && node_find(n, "params"))
        json_print(node_find(n, "params"), 0, &want);
    if (!rc && strcmp(buf_str(&want), buf_str(&params)) != 0)
        log_warn("the custom tuner gives other parameters than it did (%s, not %s); the "
                 "log counts",
                 buf_str(&params), buf_str(&want));
    e->dry = !given;
    buf_release(&id);
    buf_release(&params);
    buf_release(&want);
    return rc;
}

static enum rc tell_again(struct experiment *e, const struct node *n, struct err *err)
{
    const char *kind = node_get_text(n, "e", "");
    int64_t trial = node_get_int(n, "trial", -1), step = node_get_int(n, "step", -1);
    bool known = trial >= 0 && trial < (int64_t)e->trials.n, unheard = false;
    if (strcmp(kind, "ask") == 0 || strcmp(kind, "none") == 0)
        return ask_again(e, n, err);
    if (strcmp(kind, "result") == 0 && known)
        return experiment_pass_result(e, trial, step < 0, step,
                                      node_get_text(n, "value", "null"), &unheard, err);
    if (strcmp(kind, "end") == 0 && known)
        return experiment_pass_end(e, trial, err);
    if (strcmp(kind, "space") == 0 && e->custom_tuner)
        return tune_custom_space(e->custom_tuner, node_get_map(n, "space"), err);
    return RC_OK;
}

enum rc experiment_attach(struct experiment *e, struct err *err)
{
    const struct exp_settings *s = &e->set;
    struct tune_custom_conf tuner = {.python = s->python,
                                     .dir = e->dir,
                                     .role = "tuner",
                                     .class_name = s->tuner_class,
                                     .class_dir = s->tuner_dir,
                                     .args = s->tuner_args,
                                     .space = s->space};
    struct tune_custom_conf assessor = tuner;
    assessor.role = "assessor";
    assessor.class_name = s->assessor_class;
    assessor.class_dir = s->assessor_dir;
    assessor.args = s->assessor_args;
    enum rc rc = RC_OK;
    if (s->tuner_class)
        rc = tune_custom_start(&tuner, &e->custom_tuner, err);
    if (!rc && s->assessor_class)
        rc = tune_custom_start(&assessor, &e->custom_assessor, err);
    if (!rc && (e->custom_tuner || e->custom_assessor))
        rc = experiment_each(e, tell_again, err);
    char *old;
    while (!rc && e->custom_tuner && (old = tune_custom_take_kill(e->custom_tuner)))
        mem_free(old); /* what it wanted then was done then */
    return rc;
}
