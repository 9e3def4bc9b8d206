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

#include "backend/agent.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/vec.h"
#include "cmd/cmd.h"
#include "cmd/job_common.h"
#include "job/submit.h"

struct submit_conf {
    struct job_where where;
    const char *name, *source, *image, *workers, *nproc, *cpu, *memory, *gpu, *priority,
        *queue, *timeout, *queue_timeout, *grace, *hang, *retries, *retry_on, *backoff,
        *backoff_max, *restart, *success, *backend, *client_token, *job_type, *format;
    struct opt_list hp, input, output, data, env, secret, metric, label, requirement,
        role, extra;
    bool requirements_optional, inherit, json, wait;
};

#define TEXT(field, help_, meta_)                                       \
    {                                                                   \
        OPT_TEXT(struct submit_conf, field, NULL, help_), .meta = meta_ \
    }
#define LIST(field, help_, meta_)                                 \
    {                                                             \
        OPT_LIST(struct submit_conf, field, help_), .meta = meta_ \
    }

static const struct opt opts[] = {
    {OPT_HEADING("What")},
    TEXT(name, "for people; default: the program's name", "NAME"),
    TEXT(source, "copy this directory; the command runs in the copy", "DIR"),
    LIST(hp, "hyper-parameter", "NAME=VALUE"),
    LIST(input, "input channel: a path or dataset", "CHANNEL=PATH"),
    LIST(output, "output channel: where it is kept", "CHANNEL=PATH"),
    LIST(data, "mount a dataset", "NAME[:/PATH]"),
    LIST(env, "environment variable; NAME alone: as it is here", "NAME=VALUE"),
    {OPT_BOOL(struct submit_conf, inherit, "false", "all variables from here")},
    LIST(secret, "variable from here that is never shown", "NAME"),
    LIST(metric, "value in the log: a pattern with one group", "NAME=REGEX"),
    LIST(label, "for filters in lists", "NAME=VALUE"),
    LIST(requirement, "Python package to install first", "SPEC"),
    {OPT_BOOL(struct submit_conf, requirements_optional, "false",
              "go on when packages cannot be installed")},
    {OPT_HEADING("Where")},
    TEXT(workers, "workers that run the command; default 1", "N"),
    LIST(role, "workers of a kind: master, worker, ps, ...", "NAME=N[,cpu=..]"),
    TEXT(nproc, "NPROC_PER_NODE; default: GPUs, at least 1", "N"),
    TEXT(cpu, "processors of a worker: 2, 0.5, 500m; default 1", "N"),
    TEXT(memory, "memory of a worker: 4Gi; default: no limit", "SIZE"),
    TEXT(gpu, "GPUs of a worker; default 0", "N"),
    TEXT(image, "container image", "IMAGE"),
    TEXT(backend, "local or container; default: by --image", "B"),
    TEXT(job_type, "PyTorchJob, TFJob, XGBoostJob, ...; default PyTorchJob", "TYPE"),
    TEXT(queue, "queue; default default", "Q"),
    TEXT(priority, "1 to 9, 9 goes first; default 1", "N"),
    {OPT_HEADING("How long, how often")},
    TEXT(timeout, "longest run", "D"),
    TEXT(queue_timeout, "longest wait for resources", "D"),
    TEXT(grace, "from the request to stop to the end by force; default 30s", "D"),
    TEXT(hang, "silence that counts as a hang", "D"),
    TEXT(retries, "restarts after failures that may pass; default 0", "N"),
    TEXT(retry_on, "exit statuses that may pass; default 75,128-255", "CODES"),
    TEXT(backoff, "wait before the first restart; default 10s", "D"),
    TEXT(backoff_max, "longest wait before a restart; default 10m", "D"),
    TEXT(restart, "job or worker: what starts again; default job", "SCOPE"),
    TEXT(success, "all or chief: whose success counts; default all", "WHO"),
    TEXT(client_token, "the same token is the same job", "T"),
    {OPT_HEADING("Answer")},
    {OPT_BOOL(struct submit_conf, json, "false", "print one JSON object")},
    {OPT_BOOL(struct submit_conf, wait, "false",
              "submit: return when the job has ended, with its status")},
    {OPT_CHOICE(struct submit_conf, format, "own", "own|dlc", "words of the answer"),
     .hidden = true},
    {OPT_LIST(struct submit_conf, extra, "flag of another tool"), .hidden = true},
    JOB_WHERE_OPTS(struct submit_conf),
    {0},
};

typedef VEC(struct spec_flag) flag_list;

/* Every row of the table that has a value becomes a flag of the specification. */
static void take_flags(const struct submit_conf *c, flag_list *out)
{
    for (const struct opt *o = opts; o->kind; o++) {
        const char *at = (const char *)c + o->at;
        if (!o->field || strncmp(o->field, "where.", 6) == 0 ||
            strcmp(o->field, "format") == 0)
            continue;
        if (o->kind == OPT_KIND_TEXT && *(const char *const *)(const void *)at) {
            struct spec_flag f = {o->field, *(const char *const *)(const void *)at};
            VEC_PUSH(out, f);
        }
        const struct opt_list *list = (const void *)at;
        for (size_t i = 0; o->kind == OPT_KIND_LIST && i < list->n; i++) {
            struct spec_flag f = {o->field, list->at[i]};
            VEC_PUSH(out, f);
        }
    }
    const struct {
        const char *name;
        bool given;
    } yes[] = {{"requirements_optional", c->requirements_optional},
               {"inherit", c->inherit}};
    for (size_t i = 0; i < ARRAY_LEN(yes); i++) {
        struct spec_flag f = {yes[i].name, "true"};
        if (yes[i].given)
            VEC_PUSH(out, f);
    }
}

/* --env NAME stands for NAME=value of our own environment. */
static void copy_env(flag_list *flags, struct arena *a)
{
    for (size_t i = 0; i < flags->n; i++) {
        const char *value = flags->at[i].value;
        size_t n = strlen(value);
        if (strcmp(flags->at[i].name, "env") != 0 || strchr(value, '='))
            continue;
        for (char **e = environ; *e; e++)
            if (strncmp(*e, value, n) == 0 && (*e)[n] == '=')
                flags->at[i].value = arena_strdup(a, *e);
    }
}

static void show_diags(struct diags *d)
{
    struct buf b;
    buf_init(&b, CMD_TEXT_MAX);
    diags_sort(d);
    diags_print(d, &b, isatty(2));
    fputs(buf_str(&b), stderr);
    buf_release(&b);
}

static enum rc load(const struct submit_conf *c, const struct opt_args *args,
                    struct spec *spec, struct err *err)
{
    flag_list flags = {0};
    struct diags diags = {0};
    struct arena a = {0};
    size_t n_files = args->n - args->n_dashed;
    if (n_files > 1)
        return err_coded(err, RC_INVAL, E0604,
                         "unexpected argument '%.100s'; the command stands behind `--`",
                         args->at[1]);
    take_flags(c, &flags);
    copy_env(&flags, &a);
    struct spec_flags f = {.at = flags.at,
                           .n = flags.n,
                           .command = args->at + n_files,
                           .n_command = args->n_dashed};
    enum rc rc = spec_load(n_files ? args->at[0] : NULL, &f, spec, &diags, err);
    if (diags.list.n)
        show_diags(&diags);
    diags_release(&diags);
    VEC_RELEASE(&flags);
    arena_release(&a);
    return rc;
}

static enum rc submit(const struct submit_conf *c, const struct opt_args *args,
                      const struct job_place *p, struct submit_result *r, struct err *err)
{
    struct spec spec = {0};
    char cwd[4096];
    enum rc rc = load(c, args, &spec, err);
    if (!rc && !getcwd(cwd, sizeof(cwd)))
        rc = err_set(err, RC_IO, "the current directory is gone");
    if (!rc) {
        struct queue_need need = {spec.total_cpu, spec.total_mem, spec.total_gpu};
        rc = agent_check(&p->p, getenv("TRAINYARD_SLOTS"), &need, err);
    }
    if (!rc)
        rc = submit_job(&p->p, &spec, (const char *const *)environ, cwd, r, err);
    spec_release(&spec);
    if (!rc)
        rc = agent_wake(&p->p, err);
    return rc;
}

static enum rc show_answer(const struct submit_conf *c, const struct job_place *p,
                           const struct submit_result *r, struct err *err)
{
    struct store_jobs jobs = {0};
    struct buf b;
    enum rc rc = store_get(p->p.store, r->id, &jobs, err);
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

static void say(const struct submit_result *r)
{
    if (r->existed)
        fprintf(stderr, "the token is known: job %s exists\n", r->id);
    else if (r->copied)
        fprintf(stderr, "copied %jd files, %jd bytes\n", (intmax_t)r->snapshot.files,
                (intmax_t)r->snapshot.bytes);
}

static enum rc end_of(const struct job_place *p, const char *id, struct err *err)
{
    struct store_jobs jobs = {0};
    enum rc rc = store_get(p->p.store, id, &jobs, err);
    if (!rc)
        rc = job_end_status(&jobs.at[0], err);
    store_jobs_release(&jobs);
    return rc;
}

struct stopper {
    const struct job_place *p;
    const char *id;
    int times;
};

static void stop_job(void *arg)
{
    struct stopper *s = arg;
    struct request_result r;
    struct err err = {0};
    fprintf(stderr, "%s\n",
            s->times ? "stopping at once" : "stopping; again to stop at once");
    if (request_stop(&s->p->p, s->id, s->times > 0, &r, &err))
        fprintf(stderr, "%s\n", err.msg);
    s->times++;
}

static enum rc run_foreground(const struct submit_conf *c, const struct job_place *p,
                              const struct submit_result *r, struct err *err)
{
    sigset_t set;
    struct stopper stopper = {.p = p, .id = r->id};
    struct job_follow f = {.worker = -1,
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

static enum rc run_submit(const void *conf, const struct opt_args *args, struct err *err)
{
    const struct submit_conf *c = conf;
    struct job_place p;
    struct submit_result r;
    enum rc rc = job_place_open(&c->where, &p, err);
    if (rc)
        return rc;
    rc = submit(c, args, &p, &r, err);
    if (!rc) {
        say(&r);
        rc = show_answer(c, &p, &r, err);
    }
    if (!rc && c->wait) {
        rc = job_wait(&p, r.id, 0, err);
        if (!rc)
            rc = end_of(&p, r.id, err);
    }
    job_place_close(&p);
    return rc;
}

static enum rc run_run(const void *conf, const struct opt_args *args, struct err *err)
{
    const struct submit_conf *c = conf;
    struct job_place p;
    struct submit_result r;
    enum rc rc = job_place_open(&c->where, &p, err);
    if (rc)
        return rc;
    rc = submit(c, args, &p, &r, err);
    if (!rc) {
        say(&r);
        rc = run_foreground(c, &p, &r, err);
    }
    job_place_close(&p);
    return rc;
}

static const struct cmd_example submit_examples[] = {
    {"a command in the background",
     "trainyard job submit --source src -- python3 train.py"},
    {"four workers with data and hyper-parameters",
     "trainyard job submit --workers 4 --input train=data/ --hp lr=0.01 -- ./train.sh"},
    {"from a file", "trainyard job submit job.yaml"},
    {0},
};

static const struct cmd_example run_examples[] = {
    {"a command in the foreground", "trainyard job run -- python3 train.py"},
    {"with a time limit and two restarts",
     "trainyard job run --timeout 2h --retries 2 -- python3 train.py"},
    {0},
};

#define ABOUT                                                                                \
    "COMMAND is run as it is; a single word with blanks in it is run by a shell, because "   \
    "it can only be meant that way. FILE is a job file in YAML or JSON whose keys have the " \
    "names of the flags; flags win over it. The program finds its inputs, outputs and "      \
    "hyper-parameters below /ml and in PAI_* variables: see docs/jobs.md."

const struct cmd cmd_job_submit = {
    .name = "job submit",
    .args = "[FILE] [-- COMMAND...]",
    .summary = "put a job into the queue",
    .description =
        ABOUT "\n\nPrints the id of the job. With --wait the exit status is that "
              "of the job: 0 succeeded, its own status when it failed, 3 stopped.",
    .examples = submit_examples,
    .opts = opts,
    .conf_size = sizeof(struct submit_conf),
    .min_args = 0,
    .max_args = CMD_ANY,
    .run = run_submit,
};

const struct cmd cmd_job_run = {
    .name = "job run",
    .args = "[FILE] [-- COMMAND...]",
    .summary = "run a job and show its log",
    .description =
        ABOUT "\n\nThe job goes through the queue like any other and goes on when "
              "the terminal is closed. Ctrl-C stops it, a second one at once. The "
              "exit status is that of the command.",
    .examples = run_examples,
    .opts = opts,
    .conf_size = sizeof(struct submit_conf),
    .min_args = 0,
    .max_args = CMD_ANY,
    .run = run_run,
};
