/* SPDX-License-Identifier: Apache-2.0 */
/* tune stop, tune update and tune delete. Of an experiment at a server the request goes
 * there. Here the first two check the experiment's folder and leave a request
 * there, which the process that runs it takes up. Where no process does, the stop of an
 * experiment is carried out here, so that no trial stays behind, and an update counts
 * when the experiment is resumed. A new search space is checked against the tuner first.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/fs.h"
#include "base/mem.h"
#include "cmd/cmd.h"
#include "cmd/train_config.h"
#include "cmd/tune_at.h"
#include "cmd/tune_common.h"
#include "text/json.h"
#include "text/nni/algo.h"
#include "tune/manager.h"
#include "tune/retain.h"

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
    TUNE_SERVER_OPT(struct control_conf),
    {0},
};

/* A manager takes the request; without one this process does its work to the end. */
static enum rc stop_one(const struct control_conf *o, const char *dir, struct err *err)
{
    struct experiment *e = NULL;
    enum rc rc = experiment_open(dir, &e, err); /* a wrong folder is noticed here */
    bool over = !rc && experiment_live(e) == 0 &&
                (e->status == EXP_DONE || e->status == EXP_STOPPED);
    const struct exp_trial *t = NULL;
    if (!rc && o->trial)
        rc = experiment_trial_live(e, o->trial, &t, err);
    char *trial = t ? mem_strdup(t->id) : NULL;
    experiment_close(e);
    bool alive = !rc && tune_manager_alive(dir);
    if (rc || (over && !alive))
        return rc;
    rc = trial ? tune_manager_request_kill(dir, trial, err)
               : tune_manager_request_stop(dir, err);
    mem_free(trial);
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

static enum rc stop_all_here(const struct control_conf *o, struct err *err)
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

/* The server has it stopped; waits until nothing runs it. */
static enum rc stop_served(const struct control_conf *o, struct tune_at *at,
                           struct err *err)
{
    char *tail = o->trial ? mem_printf("/%s/trials/%s/stop", at->id, o->trial)
                          : mem_printf("/%s/stop", at->id);
    struct err why = {0};
    enum rc rc = tune_at_call(&at->server, "POST", tail, NULL, NULL, &why);
    bool over = rc == RC_CANCELED && why.code == E4014; /* as for one of this machine */
    mem_free(tail);
    if (over)
        return RC_OK;
    if (rc && err)
        *err = why;
    at->alive = true;
    for (int i = 0; at->alive && !rc && !o->trial && i < STOP_SECONDS * 2; i++) {
        struct timespec moment = {.tv_nsec = 500000000};
        nanosleep(&moment, NULL);
        rc = tune_at_refresh(at, err);
    }
    if (!rc && at->alive && !o->trial)
        fprintf(stderr, "note: some trials are still ending\n");
    return rc;
}

struct stopping {
    const struct cmd_place *server;
    const char *me;
};

static enum rc stop_if_mine(void *arg, const struct node *x, struct err *err)
{
    const struct stopping *s = arg;
    const struct node *managed = node_find(x, "managed");
    if (strcmp(node_get_text(x, "owner", ""), s->me) != 0 || !managed || !managed->flag)
        return RC_OK;
    char *tail = mem_printf("/%s/stop", node_get_text(x, "id", ""));
    enum rc rc = tune_at_call(s->server, "POST", tail, NULL, NULL, err);
    mem_free(tail);
    return rc;
}

static enum rc stop_all(const struct control_conf *o, struct err *err)
{
    struct cmd_place server;
    struct doc me = {0};
    struct remote_ask q = {.method = "GET", .path = "/api/v1/me"};
    enum rc rc = tune_at_server(&o->where, o->dir, &server, err);
    if (!rc && !server.remote.url)
        return stop_all_here(o, err);
    if (!rc)
        rc = remote_call(&server.remote, &q, &me, NULL, err);
    if (!rc) {
        struct stopping s = {.server = &server, .me = node_get_text(me.root, "name", "")};
        rc = tune_at_each(&server, stop_if_mine, &s, err);
    }
    if (me.src)
        doc_release(&me);
    cmd_place_close(&server);
    return rc;
}

static enum rc tune_stop_command(const void *conf, const struct opt_args *args,
                                 struct err *err)
{
    const struct control_conf *o = conf;
    struct tune_at at = {.dir = NULL};
    if (o->all)
        return stop_all(o, err);
    enum rc rc = tune_at_open(&o->where, o->dir, args->n ? args->at[0] : NULL, &at, err);
    if (!rc)
        rc = tune_at_served(&at) ? stop_served(o, &at, err) : stop_one(o, at.dir, err);
    tune_at_close(&at);
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
    TUNE_SERVER_OPT(struct control_conf),
    {0},
};

/* Read, checked against the tuner, and made JSON. */
static enum rc read_space(const struct experiment *e, const char *path, struct buf *out,
                          struct err *err)
{
    struct conf c = {0};
    struct diags diags = {0};
    struct conf_options options = {.kind = &conf_kind_nni_space};
    enum rc rc = conf_open(path, &options, &c, &diags, err);
    if (!rc && e->tuner && c.data)
        nni_algo_check_space(nni_algo_find(NNI_TUNER, e->set.tuner), c.data,
                             c.doc.root->at, &diags);
    if (!rc && diags.n_errors > 0)
        rc = RC_INVAL;
    if (rc && diags.n_errors > 0 && err)
        err->msg[0] = '\0';
    config_show(&diags);
    if (!rc)
        json_print(c.doc.root, 0, out);
    diags_release(&diags);
    conf_release(&c);
    return rc;
}

/* -1: unchanged, also by a request that still waits. */
static struct exp_limits wanted_limits(const struct control_conf *o)
{
    return (struct exp_limits){
        .concurrency = o->concurrency ? o->concurrency : -1,
        .trials = o->trials ? o->trials : -1,
        .seconds = o->duration > 0 ? (int64_t)o->duration : -1,
        .trial_seconds = o->trial_duration > 0 ? (int64_t)o->trial_duration : -1};
}

static enum rc update_served(const struct tune_at *at, const struct exp_limits *l,
                             const char *space, struct err *err)
{
    const struct {
        const char *key;
        int64_t value;
    } all[] = {{"concurrency", l->concurrency},
               {"max_trials", l->trials},
               {"max_seconds", l->seconds},
               {"max_trial_seconds", l->trial_seconds}};
    char *tail = mem_printf("/%s/update", at->id);
    struct buf b;
    buf_init(&b, CMD_TEXT_MAX);
    struct json_out j = {.out = &b};
    json_open(&j, NULL, '{');
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        if (all[i].value >= 0)
            json_put_int(&j, all[i].key, all[i].value);
    if (*space)
        json_put_raw(&j, "space", space);
    json_close(&j, '}');
    enum rc rc = tune_at_call(&at->server, "POST", tail, buf_str(&b), NULL, err);
    buf_release(&b);
    mem_free(tail);
    return rc;
}

static enum rc update_here(const struct tune_at *at, const struct exp_limits *l,
                           const char *space, struct err *err)
{
    enum rc rc = *space ? tune_manager_request_space(at->dir, space, err) : RC_OK;
    if (!rc && (l->concurrency >= 0 || l->trials >= 0 || l->seconds >= 0 ||
                l->trial_seconds >= 0))
        rc = tune_manager_request_limits(at->dir, l, err);
    return rc;
}

static enum rc tune_update_command(const void *conf, const struct opt_args *args,
                                   struct err *err)
{
    const struct control_conf *o = conf;
    struct experiment *e = NULL;
    struct tune_at at = {.dir = NULL};
    struct exp_limits l = wanted_limits(o);
    struct buf space;
    buf_init(&space, CMD_TEXT_MAX);
    enum rc rc = tune_at_open(&o->where, o->dir, args->n ? args->at[0] : NULL, &at, err);
    if (!rc)
        rc = experiment_open(at.dir, &e, err);
    if (!rc && o->space)
        rc = read_space(e, o->space, &space, err);
    if (!rc)
        rc = tune_at_served(&at) ? update_served(&at, &l, buf_str(&space), err)
                                 : update_here(&at, &l, buf_str(&space), err);
    if (!rc && !at.alive)
        fprintf(stderr, "note: nothing runs the experiment now; the change takes "
                        "effect with `trainyard tune resume`\n");
    experiment_close(e);
    tune_at_close(&at);
    buf_release(&space);
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

static const struct opt delete_opts[] = {
    {OPT_TEXT(struct control_conf, dir, NULL, "experiment directory"), .meta = "DIR"},
    {OPT_BOOL(struct control_conf, all, "false",
              "delete all of your experiments that are not running")},
    TUNE_SERVER_OPT(struct control_conf),
    {0},
};

static enum rc delete_here(const struct tune_at *at, const char *id, struct err *err)
{
    if (at->alive)
        return err_coded(err, RC_INVAL, E4006, "experiment %s is running; stop it first",
                         id);
    char *home = tune_home();
    enum rc rc = tune_remove(home, at->dir, id, err);
    mem_free(home);
    return rc;
}

static enum rc delete_one(const struct control_conf *o, const char *id, struct err *err)
{
    struct tune_at at = {.dir = NULL};
    struct exp_peek is;
    enum rc rc = tune_at_open(&o->where, o->dir, id, &at, err);
    if (!rc)
        rc = experiment_peek(at.dir, &is, err);
    char *real = rc ? NULL : realpath(at.dir, NULL);
    if (real && !tune_at_served(&at)) { /* an id may be a link to the folder */
        mem_free(at.dir);
        at.dir = mem_strdup(real);
    }
    free(real);
    char *tail = mem_printf("/%s", at.id);
    if (!rc)
        rc = tune_at_served(&at)
                 ? tune_at_call(&at.server, "DELETE", tail, NULL, NULL, err)
                 : delete_here(&at, is.id, err);
    mem_free(tail);
    tune_at_close(&at);
    return rc;
}

/* Ids of those that do not run. */
struct idle {
    VEC(char *) ids;
    const char *me;
};

static enum rc note_idle(void *arg, const struct node *x, struct err *err)
{
    struct idle *l = arg;
    const struct node *managed = node_find(x, "managed");
    if (strcmp(node_get_text(x, "owner", ""), l->me) == 0 && managed && !managed->flag)
        VEC_PUSH(&l->ids, mem_strdup(node_get_text(x, "id", "")));
    return RC_OK;
}

static enum rc idle_served(const struct cmd_place *server, struct idle *l,
                           struct err *err)
{
    struct doc me = {0};
    struct remote_ask q = {.method = "GET", .path = "/api/v1/me"};
    enum rc rc = remote_call(&server->remote, &q, &me, NULL, err);
    if (!rc) {
        l->me = node_get_text(me.root, "name", "");
        rc = tune_at_each(server, note_idle, l, err);
    }
    if (me.src)
        doc_release(&me);
    return rc;
}

static enum rc idle_here(struct idle *l, struct err *err)
{
    char *home = tune_home();
    struct fs_names names = {0};
    enum rc rc = fs_is_dir(home) ? fs_list(home, &names, err) : RC_OK;
    for (size_t i = 0; i < names.n && !rc; i++) {
        char *dir = fs_join(home, names.at[i]);
        struct exp_peek is;
        if (names.at[i][0] != '_' && names.at[i][0] != '.' &&
            experiment_peek(dir, &is, NULL) == RC_OK && !tune_manager_alive(dir))
            VEC_PUSH(&l->ids, mem_strdup(names.at[i]));
        mem_free(dir);
    }
    fs_names_release(&names);
    mem_free(home);
    return rc;
}

static enum rc delete_all(const struct control_conf *o, struct err *err)
{
    struct cmd_place server;
    struct idle l = {.me = ""};
    enum rc rc = tune_at_server(&o->where, o->dir, &server, err);
    if (!rc)
        rc = server.remote.url ? idle_served(&server, &l, err) : idle_here(&l, err);
    for (size_t i = 0; i < l.ids.n; i++) {
        if (!rc)
            rc = delete_one(o, l.ids.at[i], err);
        mem_free(l.ids.at[i]);
    }
    VEC_RELEASE(&l.ids);
    cmd_place_close(&server);
    return rc;
}

static enum rc tune_delete_command(const void *conf, const struct opt_args *args,
                                   struct err *err)
{
    const struct control_conf *o = conf;
    if (o->all && !o->dir && !args->n)
        return delete_all(o, err);
    if (o->all || (!o->dir && !args->n))
        return err_coded(err, RC_INVAL, E0603, "give the ID of the experiment, or --all");
    return delete_one(o, args->n ? args->at[0] : NULL, err);
}

static const struct cmd_example delete_examples[] = {
    {"remove an experiment that has ended", "trainyard tune delete x7k2m9qa"},
    {0},
};

const struct cmd cmd_tune_delete = {
    .name = "tune delete",
    .args = "[ID]",
    .summary = "delete an experiment; jobs of its trials stay",
    .description =
        "Removes its directory: settings, log and the files of its trials. A running "
        "experiment is refused: stop it with `trainyard tune stop` first.",
    .examples = delete_examples,
    .opts = delete_opts,
    .conf_size = sizeof(struct control_conf),
    .max_args = 1,
    .run = tune_delete_command,
};
