/* SPDX-License-Identifier: Apache-2.0 */
/* tune create and tune resume. create reads an NNI file, makes settings of it
 * (tune_settings.c), draws an id and a seed, writes the experiment's folder, and, unless
 * --dir named it, links it by id and as the latest, so that other commands find it. From
 * then on the folder is all: create and resume run it in the same way, here (--wait) or
 * in the background. With a server, settings and code go there, and it runs the experiment.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "cmd/cmd.h"
#include "cmd/train_config.h"
#include "cmd/tune_at.h"
#include "cmd/tune_common.h"
#include "text/conf.h"
#include "text/nni/nni.h"
#include "tune/manager.h"

struct create_conf {
    struct job_where where;
    const char *config, *dir, *python, *backend, *project;
    struct opt_list set;
    int64_t seed;
    bool wait;
};

static const struct opt create_opts[] = {
    {OPT_TEXT(struct create_conf, config, NULL, "NNI experiment file, version 1 or 2"),
     .meta = "FILE", .letter = 'c'},
    {OPT_TEXT(struct create_conf, dir, NULL,
              "experiment directory; default: a new one in experimentWorkingDirectory"),
     .meta = "DIR"},
    {OPT_LIST(struct create_conf, set, "override a value of the file"),
     .meta = "PATH=VALUE"},
    {OPT_INT(struct create_conf, seed, "-1", -1, INT64_MAX,
             "random seed of the tuner; -1: the tuner's own argument, or random")},
    {OPT_BOOL(struct create_conf, wait, "false", "wait until the experiment ends")},
    {OPT_TEXT(struct create_conf, python, "python3",
              "Python interpreter for custom tuners and assessors"),
     .meta = "PROGRAM"},
    {OPT_TEXT(struct create_conf, backend, NULL,
              "backend of the jobs, as for `job submit`; default: by trainingService"),
     .meta = "NAME"},
    {OPT_TEXT(struct create_conf, project, NULL, "project of the experiment's jobs"),
     .meta = "NAME"},
    TUNE_JOB_OPTS(struct create_conf),
    TUNE_SERVER_OPT(struct create_conf),
    {0},
};

static void tune_create_draw(void *out, size_t n)
{
    if (getrandom(out, n, 0) != (ssize_t)n) {
        int64_t t = clock_wall_ns();
        memcpy(out, &t, n < sizeof(t) ? n : sizeof(t));
    }
}

static enum rc put_link(const char *parent, const char *name, const char *to,
                        struct err *err)
{
    char *link = fs_join(parent, name), *fresh = fs_join(parent, "._link.new");
    unlink(fresh);
    enum rc rc = RC_OK;
    if (symlink(to, fresh) != 0 || rename(fresh, link) != 0)
        rc = err_set(err, RC_IO, "cannot make the link '%s'", link);
    mem_free(link);
    mem_free(fresh);
    return rc;
}

/* By its id, wherever it lies, and as the latest: in the folder that ids are looked up
 * in, and, as NNI does, beside the experiment. */
static enum rc make_known(const char *folder, const char *id, struct err *err)
{
    char *home = tune_home(), *parent = fs_dirname(folder), *real = realpath(home, NULL);
    bool elsewhere = !real || strcmp(real, parent) != 0;
    enum rc rc = put_link(parent, "_latest", id, err);
    if (!rc && elsewhere)
        rc = fs_mkdirs(home, 0755, err);
    if (!rc && elsewhere)
        rc = put_link(home, id, folder, err);
    if (!rc && elsewhere)
        rc = put_link(home, "_latest", id, err);
    free(real);
    mem_free(parent);
    mem_free(home);
    return rc;
}

/* The folder, in experimentWorkingDirectory unless --dir names it. */
static enum rc make_folder(const struct create_conf *o, const struct exp_settings *s,
                           const char *parent, char **dir, struct err *err)
{
    char *wanted = o->dir ? mem_strdup(o->dir) : fs_join(parent, s->id);
    enum rc rc = fs_mkdirs(wanted, 0755, err);
    char *folder =
        tune_absolute(wanted, "."); /* of one that exists: without links and dots */
    mem_free(wanted);
    if (!rc)
        rc = experiment_create(folder, s, err);
    if (!rc && !o->dir)
        rc = make_known(folder, s->id, err);
    if (rc)
        mem_free(folder);
    else
        *dir = folder;
    return rc;
}

/* At the server, or (*dir) in a folder of this machine. */
static enum rc tune_create_make(const struct create_conf *o, struct conf *c,
                                const struct cmd_place *server, struct diags *diags,
                                char id[EXP_ID_SIZE], char **dir, struct err *err)
{
    const struct nni_ExperimentConfig *x = c->data;
    struct arena a = {0};
    struct exp_settings s = {.project = o->project, .python = o->python};
    char *path = tune_absolute(o->config, "."), *base = fs_dirname(path);
    experiment_new_id(s.id);
    s.config = path;
    if (o->seed >= 0)
        s.seed = (uint64_t)o->seed;
    else
        tune_create_draw(&s.seed, sizeof(s.seed));
    s.seed &= 0x7fffffff;
    enum rc rc = tune_settings(c, base, o->backend, diags, &s, &a, err);
    char *parent = tune_absolute(x->experimentWorkingDirectory, base);
    if (!rc)
        rc = server->remote.url ? tune_at_create(server, &s, s.id, err)
                                : make_folder(o, &s, parent, dir, err);
    if (!rc) {
        memcpy(id, s.id, sizeof(s.id));
        printf("%s\n", s.id);
        fflush(stdout);
    }
    mem_free(parent);
    mem_free(path);
    mem_free(base);
    arena_release(&a);
    return rc;
}

/* Shows what the server does until it is over. */
static enum rc wait_served(const struct job_where *w, const char *id, struct err *err)
{
    struct tune_at at = {.dir = NULL};
    struct experiment *e = NULL;
    enum rc rc = tune_at_open(w, NULL, id, &at, err);
    if (!rc)
        rc = tune_watch(&at, stderr, err); /* stdout has the id */
    if (!rc)
        rc = experiment_open(at.dir, &e, err);
    if (!rc)
        rc = tune_outcome(e, err);
    experiment_close(e);
    tune_at_close(&at);
    return rc;
}

static enum rc go_on(const struct create_conf *o, const struct cmd_place *server,
                     const char *id, const char *dir, struct err *err)
{
    if (server->remote.url) {
        fprintf(stderr, "experiment %s at %s\n", id, server->remote.url);
        return o->wait ? wait_served(&o->where, id, err) : RC_OK;
    }
    fprintf(stderr, "experiment in %s\n", dir);
    return o->wait ? tune_run(dir, &o->where, err) : tune_start(dir, &o->where, err);
}

static enum rc tune_create_command(const void *conf, const struct opt_args *args,
                                   struct err *err)
{
    const struct create_conf *o = conf;
    struct create_conf with = *o;
    struct conf c = {0};
    struct diags diags = {0};
    struct cmd_place server;
    char *dir = NULL, id[EXP_ID_SIZE] = "";
    with.config = o->config ? o->config : args->n ? args->at[0] : NULL;
    if (!with.config)
        return err_coded(err, RC_INVAL, E0603, "--config FILE is missing");
    struct conf_edit *edits = mem_calloc(o->set.n + 1, sizeof(*edits));
    for (size_t i = 0; i < o->set.n; i++)
        edits[i] = (struct conf_edit){.origin = "--set", .text = o->set.at[i]};
    struct conf_options options = {
        .kind = &conf_kind_nni_experiment, .edits = edits, .n_edits = o->set.n};
    enum rc rc = tune_at_server(&o->where, o->dir, &server, err);
    if (!rc)
        rc = conf_open(with.config, &options, &c, &diags, err);
    if (!rc)
        rc = tune_create_make(&with, &c, &server, &diags, id, &dir, err);
    if (rc && diags.list.n && err && diags.n_errors > 0)
        err->msg[0] = '\0';
    config_show(&diags);
    conf_release(&c);
    mem_free(edits);
    if (!rc)
        rc = go_on(o, &server, id, dir, err);
    mem_free(dir);
    cmd_place_close(&server);
    return rc;
}

static const struct cmd_example create_examples[] = {
    {"run an NNI experiment to its end",
     "trainyard tune create --config config.yml --wait"},
    {0},
};

const struct cmd cmd_tune_create = {
    .name = "tune create",
    .args = "[FILE]",
    .summary = "start a hyperparameter search from an NNI file",
    .description =
        "Every trial is a job: `trainyard job list` shows it and `trainyard job logs` "
        "prints its output. Trials can use the unmodified nni package, print lines "
        "such as `::trainyard default=0.93`, or take parameters as {{name}} in "
        "trialCommand.\n"
        "\n"
        "Prints the id of the experiment. Without --wait a background process runs it; "
        "it can be killed at any time and continued with `trainyard tune resume`.\n"
        "\n"
        "After `trainyard login`, or with --server, the server runs the experiment: the "
        "code directory is sent there, trials are your jobs at the server, under your "
        "quotas, and only you, your project and admins see it.",
    .examples = create_examples,
    .opts = create_opts,
    .conf_size = sizeof(struct create_conf),
    .max_args = 1,
    .run = tune_create_command,
};

struct resume_conf {
    struct job_where where;
    const char *dir;
    bool wait;
};

static const struct opt resume_opts[] = {
    {OPT_TEXT(struct resume_conf, dir, NULL, "experiment directory"), .meta = "DIR"},
    {OPT_BOOL(struct resume_conf, wait, "false", "wait until the experiment ends")},
    TUNE_JOB_OPTS(struct resume_conf),
    TUNE_SERVER_OPT(struct resume_conf),
    {0},
};

static enum rc tune_resume_command(const void *conf, const struct opt_args *args,
                                   struct err *err)
{
    const struct resume_conf *o = conf;
    struct tune_at at = {.dir = NULL};
    enum rc rc = tune_at_open(&o->where, o->dir, args->n ? args->at[0] : NULL, &at, err);
    if (!rc && tune_at_served(&at)) {
        char *tail = mem_printf("/%s/resume", at.id);
        rc = tune_at_call(&at.server, "POST", tail, NULL, NULL, err);
        mem_free(tail);
        if (!rc && o->wait)
            rc = wait_served(&o->where, at.id, err);
        tune_at_close(&at);
        return rc;
    }
    if (!rc && at.alive)
        rc = err_coded(err, RC_INVAL, E4006,
                       "the experiment in '%s' is run by another process", at.dir);
    if (!rc)
        rc = o->wait ? tune_run(at.dir, &o->where, err)
                     : tune_start(at.dir, &o->where, err);
    tune_at_close(&at);
    return rc;
}

static const struct cmd_example resume_examples[] = {
    {"in this terminal, to its end", "trainyard tune resume --wait"},
    {0},
};

const struct cmd cmd_tune_resume = {
    .name = "tune resume",
    .args = "[ID]",
    .summary = "continue an experiment whose process ended",
    .description =
        "The experiment's log is replayed into the tuner, so the search continues "
        "exactly as it would have. Running trials are kept, and results that arrived "
        "in the meantime count.",
    .examples = resume_examples,
    .opts = resume_opts,
    .conf_size = sizeof(struct resume_conf),
    .max_args = 1,
    .run = tune_resume_command,
};
