/* SPDX-License-Identifier: Apache-2.0 */
/* Making, changing and ending experiments. A new one is settings, as a client makes them of
 * an NNI file, and a snapshot of the code. Nothing in it is believed: the job of a trial is
 * made once and has to pass what every submitted job has to, the tuner and its space are
 * built, and only then the experiment is started; what fails leaves nothing behind. Python
 * classes as tuners would run as the server does, so they are refused.
 */
#include <string.h>

#include "backend/agent.h"
#include "backend/capacity.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/vec.h"
#include "http/api_private.h"
#include "http/experiments.h"
#include "http/handlers.h"
#include "http/job_body.h"
#include "http/runs.h"
#include "job/remove.h"
#include "job/snapshot.h"
#include "store/experiments.h"
#include "text/json.h"
#include "text/nni/nni.h"
#include "tune/manager.h"
#include "tune/report.h"
#include "tune/retain.h"

#define MOST_TRIALS 999999999
#define MOST_AT_A_TIME 10000
#define MOST_SECONDS 1000000000

static enum rc no_experiment(struct http_call *c, struct err *err, const char *what)
{
    c->status = 422;
    return err_coded(err, RC_INVAL, E4010, "the experiment cannot run here: %s", what);
}

static enum rc check_settings(struct http_call *c, const struct exp_settings *s,
                              struct err *err)
{
    const struct exp_limits *l = &s->limits;
    if (s->tuner_class || s->assessor_class)
        return no_experiment(c, err,
                             "custom tuners and assessors are Python code, which this "
                             "server does not run; use --server local");
    if (l->concurrency > MOST_AT_A_TIME || l->trials < 0 || l->trials > MOST_TRIALS ||
        l->seconds < 0 || l->seconds > MOST_SECONDS || l->trial_seconds < 0 ||
        l->trial_seconds > MOST_SECONDS || s->gpu < -1 || s->gpu > 1000)
        return no_experiment(c, err, "a limit is out of its range");
    const char *bad = s->name ? nni_check_label(str_c(s->name)) : NULL;
    if (bad)
        return no_experiment(c, err, bad);
    return RC_OK;
}

/* Set by the experiment itself, for every trial. */
static bool is_reserved(struct str field)
{
    static const char *const ours[] = {"name",    "client_token", "source",
                                       "inherit", "workdir",      "project"};
    for (size_t i = 0; i < ARRAY_LEN(ours); i++)
        if (str_is(field, ours[i]))
            return true;
    return false;
}

typedef VEC(struct job_spec_flag) flag_list;

static enum rc job_flags(struct http_call *c, const struct exp_settings *s,
                         flag_list *out, struct err *err)
{
    for (size_t i = 0; s->job && i < s->job->map.n; i++) {
        const struct node_entry *e = &s->job->map.at[i];
        if (is_reserved(e->key) || e->value->kind != NODE_LIST)
            return err_coded(err, RC_INVAL, E5006,
                             "'settings.job.%.*s' is not for you to "
                             "set, or not a list",
                             (int)e->key.n, e->key.p);
        for (size_t k = 0; k < e->value->list.n; k++) {
            if (e->value->list.at[k]->kind != NODE_STR)
                return err_coded(err, RC_INVAL, E5006,
                                 "'settings.job.%.*s': a list of texts is required",
                                 (int)e->key.n, e->key.p);
            VEC_PUSH(out,
                     ((struct job_spec_flag){e->key.p, e->value->list.at[k]->text.p}));
        }
    }
    if (*s->source)
        VEC_PUSH(out, ((struct job_spec_flag){"source", s->source}));
    if (*s->project)
        VEC_PUSH(out, ((struct job_spec_flag){"project", s->project}));
    if (s->gpu > 0)
        VEC_PUSH(out, ((struct job_spec_flag){
                          "gpu", arena_printf(&c->arena, "%jd", (intmax_t)s->gpu)}));
    return RC_OK;
}

/* The job of a trial, as far as it is known before there is one. */
static enum rc check_job(struct http_call *c, const struct exp_settings *s,
                         struct err *err)
{
    flag_list flags = {0};
    struct job_spec spec = {0};
    struct diags diags = {0};
    struct err why = {0};
    enum rc rc = job_flags(c, s, &flags, err);
    if (!rc) {
        struct job_spec_flags all = {.at = flags.at,
                                     .n = flags.n,
                                     .command = (const char *const[]){"true"},
                                     .n_command = 1};
        rc = job_spec_load(NULL, &all, &spec, &diags, &why);
        if (rc)
            rc = no_experiment(c, err, diags.list.n ? diags.list.at[0].msg : why.msg);
    }
    if (!rc)
        rc = http_job_body_check(c, &spec, NULL, err);
    if (!rc)
        rc = backend_agent_check(&c->place, c->api->o.slots, &spec, err);
    diags_release(&diags);
    job_spec_release(&spec);
    VEC_RELEASE(&flags);
    return rc;
}

/* The settings of the body, with what is not the client's to say. */
static enum rc take_settings(struct http_call *c, struct exp_settings *s, struct err *err)
{
    enum rc rc = experiment_settings_read(node_find(c->body, "settings"), s, err);
    if (rc) {
        c->status = 422;
        return rc;
    }
    experiment_new_id(s->id);
    s->owner = c->who.name;
    s->project = http_schema_text(c->body, "project", "");
    s->source = http_schema_text(c->body, "source", c->api->empty_snapshot);
    s->code_dir = s->config = "";
    s->created = clock_wall_ns() / 1000000;
    rc = check_settings(c, s, err);
    return rc ? rc : check_job(c, s, err);
}

/* Whether the tuner and the assessor take what they are given is seen by opening it. */
static enum rc make_folder(struct http_call *c, const struct exp_settings *s,
                           const char *dir, struct err *err)
{
    struct experiment *e = NULL;
    enum rc rc = fs_mkdirs(c->api->o.experiments, 0700, err);
    if (!rc)
        rc = fs_mkdirs(dir, 0700, err);
    if (!rc)
        rc = experiment_create(dir, s, err);
    if (!rc && experiment_open(dir, &e, err)) {
        c->status = 422;
        rc = RC_INVAL;
    }
    if (!rc)
        tune_report_experiment(e, true, NULL, &c->out);
    experiment_close(e);
    return rc;
}

enum rc http_create_experiment(struct http_call *c, struct err *err)
{
    struct exp_settings s = {0};
    if (!c->api->runs) {
        c->status = 409;
        return err_coded(err, RC_INVAL, E4010, "this server runs no jobs (--no-queue)");
    }
    enum rc rc = take_settings(c, &s, err);
    if (rc)
        return rc;
    char *dir = fs_join(c->api->o.experiments, s.id);
    struct store_experiment code = {s.id, c->place.node, s.owner, s.source};
    rc = store_experiment_put(c->place.store, &code, err);
    if (!rc)
        rc = make_folder(c, &s, dir, err);
    if (!rc)
        rc = http_runs_start(c->api->runs, dir, c->who.name, err);
    if (rc) {
        buf_clear(&c->out);
        enum rc gone = fs_remove_all(dir, NULL);
        (void)gone; /* it is nobody's */
    } else {
        c->location = arena_printf(&c->arena, "/api/v1/experiments/%s", s.id);
    }
    mem_free(dir);
    return rc;
}

enum rc http_resume_experiment(struct http_call *c, struct err *err)
{
    char *dir = NULL;
    struct exp_peek is = {.created = 0};
    enum rc rc = http_experiments_own(c, &dir, &is, err);
    if (!rc && (!c->api->runs || !*is.owner))
        rc = err_coded(err, RC_CANCELED, E4010,
                       "this server does not run experiment '%s'; resume it where it was "
                       "made",
                       c->params[0]);
    if (!rc)
        rc = http_runs_start(c->api->runs, dir, is.owner, err);
    if (!rc)
        http_experiments_asked(c, true);
    mem_free(dir);
    return rc;
}

static enum rc find_live(struct http_call *c, const struct experiment *e, bool alive,
                         struct err *err)
{
    return experiment_live(e) > 0 ? RC_OK : RC_NOTFOUND;
}

/* Without a manager nothing would end its trials, and the request would end the next one
 * that goes on with the experiment. Of one of ours that left trials, one is started. */
enum rc http_stop_experiment(struct http_call *c, struct err *err)
{
    char *dir = NULL;
    struct exp_peek is = {.created = 0};
    enum rc rc = http_experiments_own(c, &dir, &is, err);
    bool alive = !rc && http_experiments_alive(c, dir);
    bool ours = !rc && !alive && c->api->runs && *is.owner &&
                http_experiments_read(c, dir, find_live, NULL) == RC_OK;
    if (!rc && !alive && !ours)
        rc = err_coded(err, RC_CANCELED, E4014, "nothing runs experiment '%s' now",
                       c->params[0]);
    if (!rc)
        rc = tune_manager_request_stop(dir, err);
    if (!rc && ours)
        rc = http_runs_start(c->api->runs, dir, is.owner, err);
    if (!rc)
        http_experiments_asked(c, true);
    mem_free(dir);
    return rc;
}

static enum rc request_kill(struct http_call *c, const struct experiment *e, bool alive,
                            struct err *err)
{
    const struct exp_trial *t = NULL;
    enum rc rc = experiment_trial_live(e, c->params[1], &t, err);
    return rc ? rc : tune_manager_request_kill(e->dir, t->id, err);
}

enum rc http_stop_trial(struct http_call *c, struct err *err)
{
    char *dir = NULL;
    enum rc rc = http_experiments_own(c, &dir, NULL, err);
    if (!rc)
        rc = http_experiments_read(c, dir, request_kill, err);
    if (!rc)
        http_experiments_asked(c, http_experiments_alive(c, dir));
    mem_free(dir);
    return rc;
}

static enum rc request_space(struct http_call *c, const struct experiment *e, bool alive,
                             struct err *err)
{
    struct buf b;
    buf_init(&b, c->raw.max * 2);
    json_print(node_find(c->body, "space"), 0, &b);
    enum rc rc = buf_check(&b, err);
    if (!rc)
        rc = experiment_space_check(e, buf_str(&b), err);
    if (!rc)
        rc = tune_manager_request_space(e->dir, buf_str(&b), err);
    else
        c->status = 422;
    buf_release(&b);
    return rc;
}

enum rc http_update_experiment(struct http_call *c, struct err *err)
{
    char *dir = NULL;
    struct exp_limits l = {.concurrency = http_schema_int(c->body, "concurrency", -1),
                           .trials = http_schema_int(c->body, "max_trials", -1),
                           .seconds = http_schema_int(c->body, "max_seconds", -1),
                           .trial_seconds =
                               http_schema_int(c->body, "max_trial_seconds", -1)};
    struct exp_peek is = {.created = 0};
    bool space = node_find(c->body, "space");
    enum rc rc = http_experiments_own(c, &dir, &is, err);
    if (!rc && space && c->who.role != ROLE_ADMIN && strcmp(is.owner, c->who.name) != 0)
        rc = http_call_forbid(
            c, err, "only '%.100s' may change the search space of this experiment",
            is.owner);
    if (!rc && space)
        rc = http_experiments_read(c, dir, request_space, err);
    if (!rc &&
        (l.concurrency >= 0 || l.trials >= 0 || l.seconds >= 0 || l.trial_seconds >= 0))
        rc = tune_manager_request_limits(dir, &l, err);
    if (!rc)
        http_experiments_asked(c, http_experiments_alive(c, dir));
    mem_free(dir);
    return rc;
}

enum rc http_delete_experiment(struct http_call *c, struct err *err)
{
    char *dir = NULL;
    struct exp_peek is;
    enum rc rc = http_experiments_own(c, &dir, &is, err);
    if (!rc)
        rc = http_call_need_owner(c, "experiment", is.owner, is.project, err);
    if (!rc && http_experiments_alive(c, dir))
        rc = err_coded(err, RC_CANCELED, E4006,
                       "experiment '%s' is running; stop it first", c->params[0]);
    if (!rc)
        rc = tune_remove(c->api->o.experiments, dir, c->params[0], err);
    if (!rc) /* its code is needed no longer */
        rc = tune_note_code(c->place.store, c->place.node, c->api->o.experiments, err);
    if (!rc && str_starts(is.source, SNAPSHOT_PREFIX))
        job_collect_let_go(&c->place, is.owner, is.source + strlen(SNAPSHOT_PREFIX));
    mem_free(dir);
    return rc;
}
