/* SPDX-License-Identifier: Apache-2.0 */
/* tune stop and tune update: both check the experiment's folder and leave a request
 * there, which the process that runs it takes up. Where no process does, the stop of an
 * experiment is carried out here, so that no trial stays behind, and an update counts
 * when the experiment is resumed. A new search space is checked against the tuner first.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/fs.h"
#include "base/mem.h"
#include "cmd/cmd.h"
#include "cmd/train_config.h"
#include "cmd/tune_common.h"
#include "text/json.h"
#include "text/nni/algo.h"
#include "tune/manager.h"

#define STOP_SECONDS 60

struct control_conf {
    struct job_where where;
    const char *dir, *trial, *space;
    bool all;
    int64_t concurrency, trials;
    double duration, trial_duration;
};

static const struct opt stop_opts[] = {
    {OPT_TEXT(struct control_conf, dir, NULL, "experiment directory"), .meta = "DIR"},
    {OPT_TEXT(struct control_conf, trial, NULL, "stop only this trial"), .meta = "ID"},
    {OPT_BOOL(struct control_conf, all, "false", "stop every running experiment")},
    TUNE_JOB_OPTS(struct control_conf),
    {0},
};

/* A manager takes the request; without one this process does its work to the end. */
static enum rc stop_one(const struct control_conf *o, const char *dir, struct err *err)
{
    struct experiment *e = NULL;
    enum rc rc = experiment_open(dir, &e, err); /* a wrong folder is noticed here */
    bool over = !rc && experiment_live(e) == 0 &&
                (e->status == EXP_DONE || e->status == EXP_STOPPED);
    experiment_close(e);
    bool alive = !rc && tune_manager_alive(dir);
    if (rc || (over && !alive))
        return rc;
    rc = o->trial ? tune_manager_request_kill(dir, o->trial, err)
                  : tune_manager_request_stop(dir, err);
    if (!rc && !alive && !o->trial)
        rc = tune_run(dir, &o->where, err);
    for (int i = 0; alive && !rc && !o->trial && i < STOP_SECONDS * 10; i++) {
        struct timespec moment = {.tv_nsec = 100000000};
        nanosleep(&moment, NULL);
        alive = tune_manager_alive(dir);
    }
    if (!rc && alive && !o->trial)
        fprintf(stderr, "note: some trials are still ending\n"
                        "");
    return rc;
}

static enum rc stop_all(const struct control_conf *o, struct err *err)
{
    char *home = tune_home();
    struct fs_names names = {0};
    enum rc rc = fs_is_dir(home) ? fs_list(home, &names, err) : RC_OK;
    for (size_t i = 0; i < names.n && !rc; i++) {
        char *dir = fs_join(home, names.at[i]);
        if (names.at[i][0] != '_' && names.at[i][0] != '.' && tune_manager_alive(dir))
            rc = stop_one(o, dir, err);
        mem_free(dir);
    }
    fs_names_release(&names);
    mem_free(home);
    return rc;
}

static enum rc tune_stop_command(const void *conf, const struct opt_args *args,
                                 struct err *err)
{
    const struct control_conf *o = conf;
    char *dir = NULL;
    if (o->all)
        return stop_all(o, err);
    enum rc rc = tune_dir(o->dir, args->n ? args->at[0] : NULL, &dir, err);
    if (!rc)
        rc = stop_one(o, dir, err);
    mem_free(dir);
    return rc;
}

static const struct cmd_example stop_examples[] = {
    {"stop one trial", "trainyard tune stop --trial AAAwl"},
    {0},
};

const struct cmd cmd_tune_stop = {
    .name = "tune stop",
    .args = "[ID]",
    .summary = "stop an experiment and its trials, or one trial",
    .examples = stop_examples,
    .opts = stop_opts,
    .conf_size = sizeof(struct control_conf),
    .max_args = 1,
    .run = tune_stop_command,
};

static const struct opt update_opts[] = {
    {OPT_TEXT(struct control_conf, dir, NULL, "experiment directory"), .meta = "DIR"},
    {OPT_INT(struct control_conf, concurrency, "0", 0, 100000,
             "concurrent trials; 0: unchanged")},
    {OPT_INT(struct control_conf, trials, "0", 0, 999999999,
             "total number of trials; 0: unchanged")},
    {OPT_DURATION(struct control_conf, duration, "0", 0, 1e9,
                  "time during which trials may start; 0: unchanged")},
    {OPT_DURATION(struct control_conf, trial_duration, "0", 0, 1e9,
                  "time limit of a trial; 0: unchanged")},
    {OPT_TEXT(struct control_conf, space, NULL, "new search space, JSON or YAML"),
     .meta = "FILE"},
    {0},
};

/* Read, checked against the tuner, and left for the manager as JSON. */
static enum rc request_space(const struct experiment *e, const char *path,
                             struct err *err)
{
    struct conf c = {0};
    struct diags diags = {0};
    struct conf_options options = {.kind = &conf_kind_nni_space};
    struct buf b;
    buf_init(&b, CMD_TEXT_MAX);
    enum rc rc = conf_open(path, &options, &c, &diags, err);
    if (!rc && e->tuner && c.data)
        nni_algo_check_space(nni_algo_find(NNI_TUNER, e->set.tuner), c.data,
                             c.doc.root->at, &diags);
    if (!rc && diags.n_errors > 0)
        rc = RC_INVAL;
    if (rc && diags.n_errors > 0 && err)
        err->msg[0] = '\0';
    config_show(&diags);
    if (!rc) {
        json_print(c.doc.root, 0, &b);
        rc = tune_manager_request_space(e->dir, buf_str(&b), err);
    }
    buf_release(&b);
    diags_release(&diags);
    conf_release(&c);
    return rc;
}

static enum rc request_limits(const struct experiment *e, const struct control_conf *o,
                              struct err *err)
{
    if (!o->concurrency && !o->trials && !(o->duration > 0) && !(o->trial_duration > 0))
        return RC_OK;
    /* -1: unchanged, also by a request that still waits. */
    struct exp_limits l = {.concurrency = o->concurrency ? o->concurrency : -1,
                           .trials = o->trials ? o->trials : -1,
                           .seconds = o->duration > 0 ? (int64_t)o->duration : -1,
                           .trial_seconds =
                               o->trial_duration > 0 ? (int64_t)o->trial_duration : -1};
    return tune_manager_request_limits(e->dir, &l, err);
}

static enum rc tune_update_command(const void *conf, const struct opt_args *args,
                                   struct err *err)
{
    const struct control_conf *o = conf;
    struct experiment *e = NULL;
    char *dir = NULL;
    enum rc rc = tune_dir(o->dir, args->n ? args->at[0] : NULL, &dir, err);
    if (!rc)
        rc = experiment_open(dir, &e, err);
    if (!rc && o->space)
        rc = request_space(e, o->space, err);
    if (!rc)
        rc = request_limits(e, o, err);
    if (!rc && !tune_manager_alive(dir))
        fprintf(stderr, "note: nothing runs the experiment now; the change takes "
                        "effect with `trainyard tune resume`\n"
                        "");
    experiment_close(e);
    mem_free(dir);
    return rc;
}

static const struct cmd_example update_examples[] = {
    {"more trials, more of them in parallel",
     "trainyard tune update --trials 500 --concurrency 8"},
    {"use another search space from now on",
     "trainyard tune update --space search_space.json"},
    {0},
};

const struct cmd cmd_tune_update = {
    .name = "tune update",
    .args = "[ID]",
    .summary = "change limits or the search space of an experiment",
    .examples = update_examples,
    .opts = update_opts,
    .conf_size = sizeof(struct control_conf),
    .max_args = 1,
    .run = tune_update_command,
};
