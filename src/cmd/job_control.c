/* SPDX-License-Identifier: Apache-2.0 */
/* Commands that ask something of jobs that are there: stop, suspend, resume, script,
 * rerun and why take ids and do the same for each until one fails; logs follows one job. What
 * is asked of a running job happens a moment later, so that is waited for before its state
 * is shown.
 * They speak to p->ops, the local store or a server, and first revive an agent that died.
 *
 * job agent is the other end: it serves the queue of this machine, or one job as its
 * supervisor (--job), or copies files (--transfer). Its fork server is made before the
 * store is opened, so that supervisors inherit no connection to it.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/agent.h"
#include "backend/mpirun_runner.h"
#include "backend/pods_watcher.h"
#include "backend/slurm_task.h"
#include "backend/supervisor.h"
#include "backend/task.h"
#include "backend/transfer.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "cmd/cmd.h"
#include "cmd/job_common.h"
#include "job/submit.h"

#define LOG_AREA "agent"
#define LOOK_MS 50
#define WAIT_NS (3 * CLOCK_SECOND) /* for what was asked to happen */

struct control_conf {
    struct job_where where;
    const char *format; /* of `stop` */
    bool force, json;
};

static const struct opt plain_opts[] = {
    JOB_WHERE_OPTS(struct control_conf),
    JOB_SERVER_OPT(struct control_conf),
    {0},
};

static const struct opt stop_opts[] = {
    {OPT_BOOL(struct control_conf, force, "false",
              "kill immediately, without grace time")},
    {OPT_CHOICE(struct control_conf, format, "own", "own|dlc", "words of the answer"),
     .hidden = true},
    JOB_WHERE_OPTS(struct control_conf),
    JOB_SERVER_OPT(struct control_conf),
    {0},
};

typedef enum rc ask_fn(const struct cmd_place *p, const struct control_conf *c,
                       const char *id, struct err *err);

/* Does it for every id given; the first failure ends it. */
static enum rc for_each_job(const void *conf, const struct opt_args *args, ask_fn *ask,
                            struct err *err)
{
    const struct control_conf *c = conf;
    struct cmd_place p;
    enum rc rc = job_open(&c->where, &p, err);
    if (rc)
        return rc;
    job_revive(&p);
    struct job_ids ids = {.list = {0}};
    rc = job_pick_all(&p, args->at, args->n, &ids, err);
    for (size_t i = 0; i < ids.list.n && !rc; i++)
        rc = ask(&p, c, ids.list.at[i].text, err);
    job_ids_release(&ids);
    cmd_place_close(&p);
    return rc;
}

/* One job of a request. */
struct asked {
    char id[JOB_ID_SIZE];
    struct job_request_result r;
};
typedef VEC(struct asked) asked_list;

/* The words of the request, and whether a state is what it asks for. */
static const char *request_word(enum job_ask what)
{
    return what == JOB_ASK_SUSPEND  ? "suspend"
           : what == JOB_ASK_RESUME ? "resume"
                                    : "stop";
}

static bool is_done(enum job_ask what, enum job_state state)
{
    if (job_state_ended(state))
        return true;
    if (what == JOB_ASK_SUSPEND)
        return state == JOB_Suspended;
    return what == JOB_ASK_RESUME ? state != JOB_Suspended : state == JOB_Stopping;
}

/* What follows is done by others, in a moment: looks until it is, or until `until`. */
static void wait_done(const struct cmd_place *p, enum job_ask what, struct asked *x,
                      int64_t until)
{
    while (!is_done(what, x->r.state) && clock_mono_ns() < until) {
        struct store_jobs jobs = {0};
        poll(NULL, 0, LOOK_MS);
        if (p->ops->get(p, x->id, &jobs, NULL))
            return;
        if (!job_state_find(jobs.at[0].state, &x->r.state))
            until = 0;
        store_jobs_release(&jobs);
    }
}

static void print_asked(enum job_ask what, const struct asked *x)
{
    bool done = is_done(what, x->r.state);
    printf("%s %s%s%s%s\n", x->id, job_state_name(x->r.state), done ? "" : ", ",
           done ? "" : request_word(what), done ? "" : " requested");
}

/* All are asked first; then each is shown as it is now. */
static enum rc request_all(const void *conf, const struct opt_args *args,
                           enum job_ask what, struct err *err)
{
    const struct control_conf *c = conf;
    struct cmd_place p;
    struct job_ids ids = {.list = {0}};
    asked_list all = {0};
    enum rc rc = job_open(&c->where, &p, err);
    if (rc)
        return rc;
    job_revive(&p);
    rc = job_pick_all(&p, args->at, args->n, &ids, err);
    for (size_t i = 0; i < ids.list.n && !rc; i++) {
        struct asked x = {.r = {.alone = false}};
        snprintf(x.id, sizeof(x.id), "%s", ids.list.at[i].text);
        rc = p.ops->ask(&p, x.id, what, &x.r, err);
        if (!rc)
            VEC_PUSH(&all, x);
    }
    int64_t until = clock_mono_ns() + WAIT_NS;
    for (size_t i = 0; i < all.n; i++) {
        wait_done(&p, what, &all.at[i], until);
        print_asked(what, &all.at[i]);
    }
    VEC_RELEASE(&all);
    job_ids_release(&ids);
    cmd_place_close(&p);
    return rc;
}

/* In the words of PAI. */
static enum rc ask_stop(const struct cmd_place *p, const struct control_conf *c,
                        const char *id, struct err *err)
{
    struct job_request_result r;
    enum rc rc = p->ops->ask(p, id, c->force ? JOB_ASK_KILL : JOB_ASK_STOP, &r, err);
    if (rc)
        return rc;
    if (r.ended) {
        printf("[FAILED] code: 400, Job can't be stopped, because it is %s\n",
               job_state_name(r.state));
        return err_coded(err, RC_INVAL, E3402, "job %s is %s", id,
                         job_state_name(r.state));
    }
    printf("[OK] Job [%s] was stopped successfully\n", id);
    return RC_OK;
}

static enum rc job_stop_command(const void *conf, const struct opt_args *args,
                                struct err *err)
{
    const struct control_conf *c = conf;
    return strcmp(c->format, "own") == 0
               ? request_all(conf, args, c->force ? JOB_ASK_KILL : JOB_ASK_STOP, err)
               : for_each_job(conf, args, ask_stop, err);
}

static enum rc job_suspend_command(const void *conf, const struct opt_args *args,
                                   struct err *err)
{
    return request_all(conf, args, JOB_ASK_SUSPEND, err);
}

static enum rc job_resume_command(const void *conf, const struct opt_args *args,
                                  struct err *err)
{
    return request_all(conf, args, JOB_ASK_RESUME, err);
}

static enum rc ask_script(const struct cmd_place *p, const struct control_conf *c,
                          const char *id, struct err *err)
{
    struct job_spec spec = {0};
    struct buf out;
    enum rc rc = job_asked(p, id, &spec, err);
    buf_init(&out, CMD_TEXT_MAX);
    if (!rc) {
        job_spec_script(&spec, &out);
        rc = cmd_print(&out, err);
    }
    buf_release(&out);
    job_spec_release(&spec);
    return rc;
}

static enum rc ask_rerun(const struct cmd_place *p, const struct control_conf *c,
                         const char *id, struct err *err)
{
    struct job_submit_result r;
    enum rc rc = p->ops->rerun(p, id, &r, err);
    if (!rc)
        printf("%s\n", r.id);
    return rc;
}

static enum rc ask_why(const struct cmd_place *p, const struct control_conf *c,
                       const char *id, struct err *err)
{
    struct buf out;
    buf_init(&out, 1 << 16);
    enum rc rc = p->ops->why(p, id, &out, err);
    buf_putc(&out, '\n');
    if (!rc)
        rc = cmd_print(&out, err);
    buf_release(&out);
    return rc;
}

#define CONTROL(word)                                                                  \
    static enum rc job_##word##_command(const void *conf, const struct opt_args *args, \
                                        struct err *err)                               \
    {                                                                                  \
        return for_each_job(conf, args, ask_##word, err);                              \
    }
CONTROL(script)
CONTROL(rerun)
CONTROL(why)

#define COMMAND(word, opts_, summary_, what_, line_, description_)               \
    static const struct cmd_example examples_##word[] = {{what_, line_}, {0}};   \
    const struct cmd cmd_job_##word = {.name = "job " #word,                     \
                                       .args = "ID...",                          \
                                       .summary = summary_,                      \
                                       .description = description_,              \
                                       .examples = examples_##word,              \
                                       .opts = opts_,                            \
                                       .conf_size = sizeof(struct control_conf), \
                                       .min_args = 1,                            \
                                       .max_args = CMD_ANY,                      \
                                       .run = job_##word##_command}

COMMAND(
    stop, stop_opts, "stop jobs", "stop a job", "trainyard job stop jb-0123456789ab",
    "Workers get SIGTERM, then SIGKILL after the job's grace time. Stopping a job that "
    "has already ended is not an error. Prints the state that follows.");
COMMAND(suspend, plain_opts, "suspend jobs", "suspend a job",
        "trainyard job suspend jb-0123456789ab",
        "A running job is paused (SIGSTOP) and keeps its resources; a queued job leaves "
        "the queue.");
COMMAND(resume, plain_opts, "resume suspended jobs", "resume a job",
        "trainyard job resume jb-0123456789ab", NULL);
COMMAND(script, plain_opts, "print a command that resubmits a job", "for a scheduler",
        "trainyard job script jb-0123456789ab > daily.sh",
        "Prints one flag per line, quoted for the shell, for use in a scheduler or "
        "repository. Secrets appear by name only.");
COMMAND(rerun, plain_opts, "submit a job again with the current code", "after a fix",
        "trainyard job rerun jb-0123456789ab", NULL);
COMMAND(why, plain_opts, "explain why a job waits or how it ended", "why it waits",
        "trainyard job why jb-0123456789ab", NULL);

struct logs_conf {
    struct job_where where;
    const char *worker, *since, *until;
    int64_t attempt, tail;
    bool follow, raw;
};

static const struct opt logs_opts[] = {
    {OPT_BOOL(struct logs_conf, follow, "false", "follow the log until the job ends"),
     .letter = 'f'},
    {OPT_TEXT(struct logs_conf, worker, "all",
              "worker: a number, a name such as master-0, all, or prepare: preparations "
              "such as the installation of packages"),
     .meta = "N"},
    {OPT_BOOL(struct logs_conf, raw, "false",
              "print control characters as they are; without it a log can change "
              "colours, but not the terminal")},
    {OPT_INT(struct logs_conf, attempt, "0", 0, 1000000, "only this attempt; 0: all")},
    {OPT_INT(struct logs_conf, tail, "-1", -1, INT64_MAX,
             "only the last N lines of the last attempt; -1: everything")},
    {OPT_TEXT(
         struct logs_conf, since, NULL,
         "only what was written since: 2026-01-31T18:00:00Z, or 90m for 90 minutes ago"),
     .meta = "TIME"},
    {OPT_TEXT(struct logs_conf, until, NULL, "only what was written before"),
     .meta = "TIME"},
    JOB_WHERE_OPTS(struct logs_conf),
    JOB_SERVER_OPT(struct logs_conf),
    {0},
};

/* "master-0" */
static enum rc find_worker(const struct cmd_place *p, const char *id, const char *name,
                           int64_t *out, struct err *err)
{
    struct job_spec spec;
    enum rc rc = job_asked(p, id, &spec, err);
    if (!rc)
        *out = job_spec_worker_find(&spec, name);
    job_spec_release(&spec);
    if (!rc && *out < 0)
        rc = err_coded(err, RC_INVAL, E0603,
                       "--worker: '%.60s' is neither a number nor a worker of the job, "
                       "such as master-0",
                       name);
    return rc;
}

/* "2026-01-31T18:00:00Z", "90m", "now", "now-7d"; *ms stays 0 where nothing is given. */
static enum rc read_moment(const char *name, const char *text, int64_t *ms,
                           struct err *err)
{
    int64_t ns, now = clock_wall_ns();
    double ago;
    if (!text)
        return RC_OK;
    const char *ago_text = str_starts(text, "now-") ? text + strlen("now-") : text;
    if (strcmp(text, "now") == 0)
        *ms = now / 1000000;
    else if (clock_from_rfc3339(str_c(text), &ns) && ns > 0)
        *ms = (ns + 999999) / 1000000;
    else if (jobspec_seconds(str_c(ago_text), &ago) && ago * 1e9 < (double)now)
        *ms = (now - (int64_t)(ago * 1e9)) / 1000000;
    else
        return err_coded(err, RC_INVAL, E0603,
                         "--%s: '%.60s' is no time: 2026-01-31T18:00:00Z, or 90m for 90 "
                         "minutes ago",
                         name, text);
    return RC_OK;
}

/* What was asked for cannot all be. */
static enum rc check_times(const struct logs_conf *c, struct job_follow *f,
                           struct err *err)
{
    enum rc rc = read_moment("since", c->since, &f->since, err);
    if (!rc)
        rc = read_moment("until", c->until, &f->until, err);
    if (!rc && c->tail >= 0 && (c->since || c->until))
        rc = err_coded(err, RC_INVAL, E0603,
                       "--tail goes with neither --since nor --until");
    if (!rc && c->follow && c->until)
        rc = err_coded(err, RC_INVAL, E0603, "--until does not go with --follow");
    return rc;
}

static enum rc job_logs_command(const void *conf, const struct opt_args *args,
                                struct err *err)
{
    const struct logs_conf *c = conf;
    struct cmd_place p;
    char id[JOB_ID_SIZE];
    struct job_follow f = {.worker = JOB_FOLLOW_ALL,
                           .raw = c->raw,
                           .attempt = c->attempt,
                           .tail = c->tail,
                           .follow = c->follow,
                           .signals = -1};
    enum rc rc = check_times(c, &f, err);
    if (!rc)
        rc = job_open(&c->where, &p, err);
    if (rc)
        return rc;
    job_revive(&p);
    rc = job_pick(&p, args->at[0], id, err);
    if (strcmp(c->worker, "prepare") == 0)
        f.worker = JOB_LOG_PREPARE;
    else if (!rc && strcmp(c->worker, "all") != 0 &&
             !str_to_i64(str_c(c->worker), &f.worker))
        rc = find_worker(&p, id, c->worker, &f.worker, err);
    if (!rc)
        rc = job_follow_run(&p, id, &f, err);
    cmd_place_close(&p);
    return rc;
}

static const struct cmd_example logs_examples[] = {
    {"follow a log", "trainyard job logs -f jb-0123456789ab"},
    {"the last lines of the second worker",
     "trainyard job logs --worker 1 --tail 20 jb-0123456789ab"},
    {0},
};

const struct cmd cmd_job_logs = {
    .examples = logs_examples,
    .name = "job logs",
    .args = "ID",
    .summary = "show the logs of a job",
    .description =
        "Logs are kept per worker and attempt, also after the job has ended. With "
        "several workers each line is prefixed with the worker's number. Output of pip "
        "and other preparations comes first, prefixed with prepare.",
    .opts = logs_opts,
    .conf_size = sizeof(struct logs_conf),
    .min_args = 1,
    .max_args = 1,
    .run = job_logs_command,
};

struct agent_conf {
    struct job_where where;
    const char *job, *slots, *transfer, *slurm_task, *slurm_sweep, *pods_watch;
    const char *mpi_run, *mpi_task, *mpi_sweep;
    double idle;
};

static const struct opt agent_opts[] = {
    {OPT_TEXT(struct agent_conf, job, NULL,
              "supervise only this job instead of the queue"),
     .meta = "ID"},
    {OPT_TEXT(
         struct agent_conf, slots, NULL,
         "resources for jobs: cpu=4,memory=16g,gpu=0; default: TRAINYARD_SLOTS, else "
         "everything"),
     .meta = "SLOTS"},
    {OPT_TEXT(struct agent_conf, transfer, NULL, "copy what this file lists"),
     .meta = "FILE", .hidden = true},
    {OPT_TEXT(struct agent_conf, slurm_task, NULL,
              "run the worker of this Slurm task, of those that this file lists"),
     .meta = "FILE", .hidden = true},
    {OPT_TEXT(struct agent_conf, slurm_sweep, NULL,
              "end what workers that this file lists left on this node"),
     .meta = "FILE", .hidden = true},
    {OPT_TEXT(struct agent_conf, mpi_run, NULL,
              "wait for slots of MPI hosts and run mpirun, as these files say"),
     .meta = "BASE", .hidden = true},
    {OPT_TEXT(struct agent_conf, mpi_task, NULL,
              "run the worker of this rank, of those that this file lists"),
     .meta = "FILE", .hidden = true},
    {OPT_TEXT(struct agent_conf, mpi_sweep, NULL,
              "end what workers that this file lists left on this host"),
     .meta = "FILE", .hidden = true},
    {OPT_TEXT(struct agent_conf, pods_watch, NULL,
              "watch the Kubernetes cluster of this directory for all supervisors"),
     .meta = "DIR", .hidden = true},
    {OPT_DURATION(struct agent_conf, idle, "10s", 0, 1e9,
                  "exit after this time without jobs")},
    JOB_WHERE_OPTS(struct agent_conf),
    {0},
};

static enum rc supervise(const struct job_where *w, const char *id, struct err *err)
{
    struct cmd_place p;
    enum rc rc = cmd_place_open(w, &p, err);
    if (rc)
        return rc;
    if (!job_id_ok(id))
        rc = err_coded(err, RC_NOTFOUND, E3103, "no job '%.64s'", id);
    else
        rc = backend_supervisor_run(&p.p, id, err);
    cmd_place_close(&p);
    return rc;
}

/* In a process that the fork server forked. */
static int run_supervisor(void *arg, const char *id)
{
    struct err err = {0};
    enum rc rc = supervise(arg, id, &err);
    if (rc)
        log_job(LOG_LEVEL_ERROR, id, "%s", err.msg);
    return rc ? 1 : 0;
}

/* Seconds that a method of a backend may take; 0: not said, or not understood. */
static double backend_patience(void)
{
    const char *text = getenv("TRAINYARD_BACKEND_PATIENCE");
    double seconds = text ? strtod(text, NULL) : 0;
    return seconds >= 1 && seconds <= 1e6 ? seconds : 0;
}

static enum rc job_agent_command(const void *conf, const struct opt_args *args,
                                 struct err *err)
{
    const struct agent_conf *c = conf;
    struct job_where where = c->where;
    struct cmd_place p;
    struct backend_forkserver *forkserver = NULL;
    struct backend_agent_options o = {.slots =
                                          c->slots ? c->slots : getenv("TRAINYARD_SLOTS"),
                                      .idle_s = c->idle,
                                      .patience_s = backend_patience()};
    if (c->transfer)
        return backend_transfer_run(c->transfer, err);
    if (c->slurm_task)
        return slurm_task_run(c->slurm_task, err);
    if (c->slurm_sweep)
        return backend_task_sweep(c->slurm_sweep, err);
    if (c->mpi_run)
        return mpirun_runner_run(c->mpi_run, err);
    if (c->mpi_task)
        return mpirun_task_run(c->mpi_task, err);
    if (c->mpi_sweep)
        return backend_task_sweep(c->mpi_sweep, err);
    if (c->pods_watch)
        return pods_watcher_run(c->pods_watch, err);
    if (c->job)
        return supervise(&c->where, c->job, err);
    /* What is forked looks like ours to a search by environment, so not within a job. */
    if (!getenv("TRAINYARD_JOB_ID") &&
        backend_forkserver_create(run_supervisor, &where, &forkserver, err))
        log_warn("%s; supervisors are started as programs", err->msg);
    enum rc rc = cmd_place_open(&c->where, &p, err);
    if (!rc) {
        o.forkserver = forkserver;
        rc = backend_agent_run(&p.p, &o, err);
        cmd_place_close(&p);
    }
    backend_forkserver_destroy(forkserver);
    return rc;
}

static const struct cmd_example agent_examples[] = {
    {"keep it running, with part of the machine",
     "trainyard job agent --idle 365d --slots cpu=6,gpu=1"},
    {0},
};

const struct cmd cmd_job_agent = {
    .examples = agent_examples,
    .name = "job agent",
    .summary = "run queued jobs on this machine",
    .description =
        "Starts automatically when a job is submitted and ends when there is nothing "
        "left to do. Run it by hand only to keep it running (--idle 365d) or to see "
        "why it fails. Each jobs directory has at most one. If it is killed, running "
        "jobs continue, and the next job command starts another agent.",
    .opts = agent_opts,
    .conf_size = sizeof(struct agent_conf),
    .run = job_agent_command,
};
