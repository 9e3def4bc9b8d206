/* SPDX-License-Identifier: Apache-2.0 */
/* `job submit` and `job run`: the same flags, once in the background, once in the
 * foreground.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/vec.h"
#include "cmd/cmd.h"
#include "cmd/job_common.h"
#include "cmd/job_flags.h"
#include "job/submit.h"

struct submit_conf {
    struct job_where where;
    struct job_flags flags;
    const char *format;
    bool json, wait;
};

static const struct opt opts[] = {
    JOB_FLAGS_OPTS(struct submit_conf),
    {OPT_TEXT(struct submit_conf, flags.client_token, NULL,
              "submit at most one job per token"),
     .meta = "T"},
    {OPT_HEADING("Answer")},
    {OPT_BOOL(struct submit_conf, json, "false", "print one JSON object")},
    {OPT_BOOL(struct submit_conf, wait, "false",
              "wait for the job to end and return its exit status")},
    {OPT_CHOICE(struct submit_conf, format, "own", "own|dlc", "words of the answer"),
     .hidden = true},
    {OPT_LIST(struct submit_conf, flags.extra, "flag of another tool"), .hidden = true},
    JOB_WHERE_OPTS(struct submit_conf),
    JOB_SERVER_OPT(struct submit_conf),
    {0},
};

static enum rc submit_job(const struct submit_conf *c, const struct opt_args *args,
                          const struct cmd_place *p, struct job_submit_result *r,
                          struct err *err)
{
    struct job_spec spec = {0};
    char cwd[4096];
    enum rc rc = job_flags_load(opts, c, args, 0, &spec, err);
    if (!rc && !getcwd(cwd, sizeof(cwd)))
        rc = err_set(err, RC_IO, "the current directory is gone");
    if (!rc)
        rc = p->ops->submit(p, &spec, cwd, r, err);
    job_spec_release(&spec);
    return rc;
}

static enum rc show_answer(const struct submit_conf *c, const struct cmd_place *p,
                           const struct job_submit_result *r, struct err *err)
{
    struct store_jobs jobs = {0};
    struct buf b;
    enum rc rc = p->ops->get(p, r->id, &jobs, err);
    if (rc)
        return rc;
    buf_init(&b, CMD_TEXT_MAX);
    if (strcmp(c->format, "dlc") == 0)
        rc = job_dlc_json(p, &jobs.at[0], &b, err);
    else if (c->json)
        rc = job_json(p, &jobs.at[0], false, false, &b, err);
    else
        buf_puts(&b, r->id);
    buf_putc(&b, '\n');
    if (!rc)
        rc = cmd_print(&b, err);
    buf_release(&b);
    store_jobs_release(&jobs);
    return rc;
}

static void say_what_happened(const struct job_submit_result *r)
{
    if (r->existed)
        fprintf(stderr,
                "the token is already used by job %s\n"
                "",
                r->id);
    else if (r->copied)
        fprintf(stderr, "copied %jd files, %jd bytes\n", (intmax_t)r->snapshot.files,
                (intmax_t)r->snapshot.bytes);
}

static enum rc end_of(const struct cmd_place *p, const char *id, struct err *err)
{
    struct store_jobs jobs = {0};
    enum rc rc = p->ops->get(p, id, &jobs, err);
    if (!rc)
        rc = job_end_status(&jobs.at[0], err);
    store_jobs_release(&jobs);
    return rc;
}

struct stopper {
    const struct cmd_place *p;
    const char *id;
    int times;
};

static void stop_job(void *arg)
{
    struct stopper *s = arg;
    struct job_request_result r;
    struct err err = {0};
    fprintf(stderr, "%s\n",
            s->times ? "stopping at once" : "stopping; press Ctrl-C again to kill it");
    if (s->p->ops->ask(s->p, s->id, s->times > 0 ? JOB_ASK_KILL : JOB_ASK_STOP, &r, &err))
        fprintf(stderr, "%s\n", err.msg);
    s->times++;
}

static enum rc run_foreground(const struct submit_conf *c, const struct cmd_place *p,
                              const struct job_submit_result *r, struct err *err)
{
    sigset_t set;
    struct stopper stopper = {.p = p, .id = r->id};
    struct job_follow f = {.worker = JOB_FOLLOW_ALL,
                           .raw = true,
                           .program = true,
                           .tail = -1,
                           .follow = true,
                           .on_interrupt = stop_job,
                           .arg = &stopper};
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, NULL);
    f.signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    fprintf(stderr, "job %s\n", r->id);
    enum rc rc = job_follow_run(p, r->id, &f, err);
    if (f.signals >= 0)
        close(f.signals);
    if (!rc && c->json)
        rc = show_answer(c, p, r, err);
    return rc ? rc : end_of(p, r->id, err);
}

/* What is done about a job that was taken. */
typedef enum rc taken_fn(const struct submit_conf *c, const struct cmd_place *p,
                         const struct job_submit_result *r, struct err *err);

static enum rc submit_and(const void *conf, const struct opt_args *args, taken_fn *then,
                          struct err *err)
{
    const struct submit_conf *c = conf;
    struct cmd_place p;
    struct job_submit_result r;
    enum rc rc = job_open(&c->where, &p, err);
    if (rc)
        return rc;
    rc = submit_job(c, args, &p, &r, err);
    if (!rc) {
        say_what_happened(&r);
        rc = then(c, &p, &r, err);
    }
    cmd_place_close(&p);
    return rc;
}

static enum rc answer_and_wait(const struct submit_conf *c, const struct cmd_place *p,
                               const struct job_submit_result *r, struct err *err)
{
    enum rc rc = show_answer(c, p, r, err);
    if (!rc && c->wait)
        rc = job_wait(p, r->id, 0, err);
    return rc || !c->wait ? rc : end_of(p, r->id, err);
}

static enum rc job_submit_command(const void *conf, const struct opt_args *args,
                                  struct err *err)
{
    return submit_and(conf, args, answer_and_wait, err);
}

static enum rc job_run_command(const void *conf, const struct opt_args *args,
                               struct err *err)
{
    return submit_and(conf, args, run_foreground, err);
}

static const struct cmd_example submit_examples[] = {
    {"submit a command", "trainyard job submit --source src -- python3 train.py"},
    {"four workers with data and hyperparameters",
     "trainyard job submit --workers 4 --input train=data/ --hp lr=0.01 -- ./train.sh"},
    {"from a file", "trainyard job submit job.yaml"},
    {0},
};

static const struct cmd_example run_examples[] = {
    {"run a command in the foreground", "trainyard job run -- python3 train.py"},
    {"with a time limit and two restarts",
     "trainyard job run --timeout 2h --retries 2 -- python3 train.py"},
    {0},
};

#define ABOUT                                                                            \
    "A COMMAND of one word is run by /bin/sh, of several words without a shell. FILE "   \
    "is a job file in YAML or JSON; its keys are the names of the flags, and flags "     \
    "override it. The program finds its inputs, outputs and hyperparameters in /ml and " \
    "in PAI_* variables; see docs/jobs.md."

const struct cmd cmd_job_submit = {
    .name = "job submit",
    .args = "[FILE] [-- COMMAND...]",
    .summary = "submit a job to the queue",
    .description =
        ABOUT "\n"
              "\n"
              "Prints the job's id. With --wait the exit status is that of the job: 0 "
              "if it succeeded, its own exit status if it failed, 3 if it was stopped.",
    .examples = submit_examples,
    .opts = opts,
    .conf_size = sizeof(struct submit_conf),
    .min_args = 0,
    .max_args = CMD_ANY,
    .run = job_submit_command,
};

const struct cmd cmd_job_run = {
    .name = "job run",
    .args = "[FILE] [-- COMMAND...]",
    .summary = "run a job and show its log",
    .description =
        ABOUT "\n"
              "\n"
              "The job goes through the queue like any other and keeps running when "
              "the terminal closes. Ctrl-C stops it; a second Ctrl-C kills it. The "
              "exit status is that of the command.",
    .examples = run_examples,
    .opts = opts,
    .conf_size = sizeof(struct submit_conf),
    .min_args = 0,
    .max_args = CMD_ANY,
    .run = job_run_command,
};
