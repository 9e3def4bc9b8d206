/* SPDX-License-Identifier: Apache-2.0 */
/* Commands that ask something of jobs that are there. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/agent.h"
#include "backend/capacity.h"
#include "backend/supervisor.h"
#include "backend/transfer.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "cmd/cmd.h"
#include "cmd/job_common.h"
#include "job/submit.h"

#define LOG_AREA "agent"

struct control_conf {
    struct job_where where;
    const char *format; /* of `stop` */
    bool force, json;
    double timeout;
};

static const struct opt plain_opts[] = {
    JOB_WHERE_OPTS(struct control_conf),
    {0},
};

static const struct opt stop_opts[] = {
    {OPT_BOOL(struct control_conf, force, "false", "at once, without grace time")},
    {OPT_CHOICE(struct control_conf, format, "own", "own|dlc", "words of the answer"),
     .hidden = true},
    JOB_WHERE_OPTS(struct control_conf),
    {0},
};

static const struct opt wait_opts[] = {
    {OPT_DURATION(struct control_conf, timeout, "0", 0, 1e9,
                  "wait no longer; 0: for ever")},
    JOB_WHERE_OPTS(struct control_conf),
    {0},
};

typedef enum rc ask_fn(const struct job_place *p, const struct control_conf *c,
                       const char *id, struct err *err);

/* Does it for every id given; the first failure ends it. */
static enum rc for_each(const void *conf, const struct opt_args *args, ask_fn *ask,
                        struct err *err)
{
    const struct control_conf *c = conf;
    struct job_place p;
    enum rc rc = job_place_open(&c->where, &p, err);
    if (rc)
        return rc;
    job_revive(&p);
    for (size_t i = 0; i < args->n && !rc; i++)
        rc = ask(&p, c, args->at[i], err);
    job_place_close(&p);
    return rc;
}

static enum rc after_request(const struct job_place *p, const char *id,
                             const struct request_result *r, struct err *err)
{
    printf("%s %s\n", id, job_state_name(r->state));
    return r->alone ? agent_wake(&p->p, err) : RC_OK;
}

static enum rc ask_stop(const struct job_place *p, const struct control_conf *c,
                        const char *id, struct err *err)
{
    struct request_result r;
    enum rc rc = request_stop(&p->p, id, c->force, &r, err);
    if (rc || strcmp(c->format, "own") == 0)
        return rc ? rc : after_request(p, id, &r, err);
    if (r.ended) {
        printf("[FAILED] code: 400, Job can't be stopped, because it is %s\n",
               job_state_name(r.state));
        return err_coded(err, RC_INVAL, E3402, "job %s is %s", id,
                         job_state_name(r.state));
    }
    printf("[OK] Job [%s] was stopped successfully\n", id);
    return r.alone ? agent_wake(&p->p, err) : RC_OK;
}

static enum rc ask_suspend(const struct job_place *p, const struct control_conf *c,
                           const char *id, struct err *err)
{
    struct request_result r;
    enum rc rc = request_suspend(&p->p, id, &r, err);
    return rc ? rc : after_request(p, id, &r, err);
}

static enum rc ask_resume(const struct job_place *p, const struct control_conf *c,
                          const char *id, struct err *err)
{
    struct request_result r;
    enum rc rc = request_resume(&p->p, id, &r, err);
    return rc ? rc : after_request(p, id, &r, err);
}

static enum rc ask_wait(const struct job_place *p, const struct control_conf *c,
                        const char *id, struct err *err)
{
    struct store_jobs jobs = {0};
    enum rc rc = job_wait(p, id, c->timeout, err);
    if (!rc)
        rc = store_get(p->p.store, id, &jobs, err);
    if (!rc) {
        printf("%s %s\n", id, jobs.at[0].state);
        rc = job_end_status(&jobs.at[0], err);
    }
    store_jobs_release(&jobs);
    return rc;
}

static enum rc ask_script(const struct job_place *p, const struct control_conf *c,
                          const char *id, struct err *err)
{
    struct spec spec = {0};
    struct buf out;
    char *text = NULL;
    enum rc rc = store_spec(p->p.store, id, &text, err);
    if (!rc)
        rc = spec_from_json(text, &spec, err);
    buf_init(&out, CMD_TEXT_MAX);
    if (!rc) {
        spec_script(&spec, &out);
        rc = cmd_print(&out, err);
    }
    buf_release(&out);
    spec_release(&spec);
    mem_free(text);
    return rc;
}

static enum rc ask_rerun(const struct job_place *p, const struct control_conf *c,
                         const char *id, struct err *err)
{
    struct spec spec = {0};
    struct submit_result r;
    char *text = NULL;
    enum rc rc = store_spec(p->p.store, id, &text, err);
    if (!rc)
        rc = spec_from_json(text, &spec, err);
    if (!rc && spec.s->has_client_token) { /* it would be the old job */
        node_remove(spec.conf.doc.root, "client_token");
        struct buf b;
        buf_init(&b, CMD_TEXT_MAX);
        spec_print(&spec, &b);
        spec_release(&spec);
        rc = spec_from_json(buf_str(&b), &spec, err);
        buf_release(&b);
    }
    if (!rc)
        rc = submit_job(&p->p, &spec, (const char *const *)environ, spec.s->workdir, &r,
                        err);
    if (!rc) {
        printf("%s\n", r.id);
        rc = agent_wake(&p->p, err);
    }
    spec_release(&spec);
    mem_free(text);
    return rc;
}

static void put_why(const struct queue_world *w, const char *id, struct buf *out)
{
    struct queue_verdict *v = mem_calloc(w->n_waiting + 1, sizeof(*v));
    queue_plan(w, v);
    for (size_t i = 0; i < w->n_waiting; i++)
        if (strcmp(w->waiting[i].id, id) == 0) {
            buf_printf(out, "%s waits: ", id);
            queue_why(w, i, &v[i], out);
        }
    mem_free(v);
}

static enum rc say_why(const struct job_place *p, const struct store_job *j,
                       struct buf *out, struct err *err)
{
    struct agent_queue q;
    struct queue_need total;
    struct share share = {.limited = false};
    struct share_elsewhere elsewhere = {.rows = {.n = 0}};
    enum rc rc = agent_queue_read(&p->p, &q, err);
    if (rc)
        return rc;
    if (!capacity_read(p->dir, &total))
        rc = capacity_find(getenv("TRAINYARD_SLOTS"), &total, err);
    if (!rc)
        rc = share_refresh(&share, p->p.store, &total, &q.rows, clock_wall_ns(), err);
    if (!rc && share.limited)
        rc = share_elsewhere_read(p->p.store, p->node, &elsewhere, err);
    if (!rc) {
        struct queue_world w = agent_world(&total, &q, &share, &elsewhere);
        put_why(&w, j->id, out);
    }
    share_elsewhere_release(&elsewhere);
    share_release(&share);
    agent_queue_release(&q);
    return rc;
}

static enum rc ask_why(const struct job_place *p, const struct control_conf *c,
                       const char *id, struct err *err)
{
    struct store_jobs jobs = {0};
    struct buf out;
    enum job_reason why = WHY_None;
    enum rc rc = store_get(p->p.store, id, &jobs, err);
    if (rc)
        return rc;
    const struct store_job *j = &jobs.at[0];
    buf_init(&out, 4096);
    if (strcmp(j->state, "Queuing") == 0)
        rc = say_why(p, j, &out, err);
    if (!rc && !out.n) {
        buf_printf(&out, "%s is %s", j->id, j->state);
        if (job_reason_find(j->reason, &why) && why != WHY_None)
            buf_printf(&out, ": %s (%s)", job_reason_text(why), j->reason);
    }
    buf_putc(&out, '\n');
    if (!rc)
        rc = cmd_print(&out, err);
    buf_release(&out);
    store_jobs_release(&jobs);
    return rc;
}

#define CONTROL(word)                                                        \
    static enum rc run_##word(const void *conf, const struct opt_args *args, \
                              struct err *err)                               \
    {                                                                        \
        return for_each(conf, args, ask_##word, err);                        \
    }
CONTROL(stop)
CONTROL(suspend)
CONTROL(resume)
CONTROL(wait)
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
                                       .run = run_##word}

COMMAND(
    stop, stop_opts, "stop jobs", "with their grace time",
    "trainyard job stop jb-0123456789ab",
    "Workers get SIGTERM, and SIGKILL when they are still there after the job's grace "
    "time. A job that has ended stays as it is, which is no error.");
COMMAND(
    suspend, plain_opts, "pause jobs", "for a while",
    "trainyard job suspend jb-0123456789ab",
    "A running job is paused where it is (SIGSTOP) and keeps its slots; one that waits "
    "is taken out of the queue.");
COMMAND(resume, plain_opts, "let paused jobs go on", "go on",
        "trainyard job resume jb-0123456789ab", NULL);
COMMAND(wait, wait_opts, "wait until jobs have ended", "in a script",
        "trainyard job wait --timeout 2h jb-0123456789ab",
        "Exit status: 0 succeeded, its own status when one failed, 3 stopped, 124 when "
        "--timeout is over first.");
COMMAND(script, plain_opts, "print a command that submits the same job again",
        "for a scheduler", "trainyard job script jb-0123456789ab > daily.sh",
        "One flag per line, quoted for a shell, for a scheduler or a repository. Secrets "
        "appear by name.");
COMMAND(rerun, plain_opts, "submit the same job again, with the code as it is now",
        "after a fix", "trainyard job rerun jb-0123456789ab", NULL);
COMMAND(why, plain_opts, "say why a job waits or how it ended", "what it waits for",
        "trainyard job why jb-0123456789ab", NULL);

struct logs_conf {
    struct job_where where;
    const char *worker;
    int64_t attempt, tail;
    bool follow;
};

static const struct opt logs_opts[] = {
    {OPT_BOOL(struct logs_conf, follow, "false", "go on until the job has ended"),
     .letter = 'f'},
    {OPT_TEXT(struct logs_conf, worker, "all", "its number, or all"), .meta = "N"},
    {OPT_INT(struct logs_conf, attempt, "0", 0, 1000000, "of this attempt; 0: of all")},
    {OPT_INT(struct logs_conf, tail, "-1", -1, INT64_MAX,
             "only the last lines of the last attempt; -1: everything")},
    JOB_WHERE_OPTS(struct logs_conf),
    {0},
};

static enum rc run_logs(const void *conf, const struct opt_args *args, struct err *err)
{
    const struct logs_conf *c = conf;
    struct job_place p;
    struct job_follow f = {.worker = -1,
                           .attempt = c->attempt,
                           .tail = c->tail,
                           .follow = c->follow,
                           .signals = -1};
    if (strcmp(c->worker, "all") != 0 && !str_to_i64(str_c(c->worker), &f.worker))
        return err_coded(err, RC_INVAL, E0603, "--worker: '%.60s' is no number",
                         c->worker);
    enum rc rc = job_place_open(&c->where, &p, err);
    if (rc)
        return rc;
    job_revive(&p);
    rc = job_follow_run(&p, args->at[0], &f, err);
    job_place_close(&p);
    return rc;
}

static const struct cmd_example logs_examples[] = {
    {"as it is written", "trainyard job logs -f jb-0123456789ab"},
    {"the last lines of the second worker",
     "trainyard job logs --worker 1 --tail 20 jb-0123456789ab"},
    {0},
};

const struct cmd cmd_job_logs = {
    .examples = logs_examples,
    .name = "job logs",
    .args = "ID",
    .summary = "show what a job wrote",
    .description =
        "Logs are kept per worker and attempt, also after the end. With several "
        "workers each line begins with the worker's number.",
    .opts = logs_opts,
    .conf_size = sizeof(struct logs_conf),
    .min_args = 1,
    .max_args = 1,
    .run = run_logs,
};

struct agent_conf {
    struct job_where where;
    const char *job, *slots, *transfer;
    double idle;
};

static const struct opt agent_opts[] = {
    {OPT_TEXT(struct agent_conf, job, NULL,
              "supervise this job only, instead of the queue"),
     .meta = "ID"},
    {OPT_TEXT(
         struct agent_conf, slots, NULL,
         "what jobs may use: cpu=4,memory=16g,gpu=0; default TRAINYARD_SLOTS, else all"),
     .meta = "SLOTS"},
    {OPT_TEXT(struct agent_conf, transfer, NULL, "copy what this file lists"),
     .meta = "FILE", .hidden = true},
    {OPT_DURATION(struct agent_conf, idle, "10s", 0, 1e9,
                  "ends after this time without jobs")},
    JOB_WHERE_OPTS(struct agent_conf),
    {0},
};

static enum rc supervise(const struct job_where *w, const char *id, struct err *err)
{
    struct job_place p;
    enum rc rc = job_place_open(w, &p, err);
    if (rc)
        return rc;
    if (!place_id_ok(id))
        rc = err_coded(err, RC_NOTFOUND, E3103, "no job '%.64s'", id);
    else
        rc = supervisor_run(&p.p, id, err);
    job_place_close(&p);
    return rc;
}

/* In a process that the nursery forked. */
static int run_young(void *arg, const char *id)
{
    struct err err = {0};
    enum rc rc = supervise(arg, id, &err);
    if (rc)
        log_job(LOG_LEVEL_ERROR, id, "%s", err.msg);
    return rc ? 1 : 0;
}

static enum rc run_agent(const void *conf, const struct opt_args *args, struct err *err)
{
    const struct agent_conf *c = conf;
    struct job_where where = c->where;
    struct job_place p;
    struct nursery *nursery = NULL;
    struct agent_options o = {.slots = c->slots ? c->slots : getenv("TRAINYARD_SLOTS"),
                              .idle_s = c->idle};
    if (c->transfer)
        return transfer_run(c->transfer, err);
    if (c->job)
        return supervise(&c->where, c->job, err);
    /* What is forked looks like ours to a search by environment, so not within a job. */
    if (!getenv("TRAINYARD_JOB_ID") && nursery_create(run_young, &where, &nursery, err))
        log_warn("%s; supervisors are started as programs", err->msg);
    enum rc rc = job_place_open(&c->where, &p, err);
    if (!rc) {
        o.nursery = nursery;
        rc = agent_run(&p.p, &o, err);
        job_place_close(&p);
    }
    nursery_destroy(nursery);
    return rc;
}

static const struct cmd_example agent_examples[] = {
    {"keep it, with fewer slots than the machine has",
     "trainyard job agent --idle 365d --slots cpu=6,gpu=1"},
    {0},
};

const struct cmd cmd_job_agent = {
    .examples = agent_examples,
    .name = "job agent",
    .summary = "take jobs of this machine from the queue",
    .description =
        "Started by itself whenever a job is submitted, and ends when there is nothing to do; by "
        "hand only to keep it running (--idle 365d) or to see why it fails. There is never more "
        "than one per directory of jobs. When it is killed, running jobs go on, and the next "
        "command about jobs starts another.",
    .opts = agent_opts,
    .conf_size = sizeof(struct agent_conf),
    .run = run_agent,
};
