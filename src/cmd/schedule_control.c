/* SPDX-License-Identifier: Apache-2.0 */
/* schedule pause, resume, delete, run: each is one call to p->ops->team, the local store
 * or a server, around which with_place() opens and closes the place. A run by hand is
 * named by its planned time, to the second, so that asking twice for the same time
 * submits one job; with --wait the command ends as the job does.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cmd/cmd.h"
#include "cmd/job_common.h"
#include "job/status.h"
#include "team/fire.h"

struct control_conf {
    struct job_where where;
    const char *at;
    bool wait;
};

static const struct opt opts[] = {
    JOB_SERVER_OPT(struct control_conf),
    JOB_WHERE_OPTS(struct control_conf),
    {0},
};

static const struct opt run_opts[] = {
    {OPT_TEXT(struct control_conf, at, NULL,
              "scheduled time to run instead of now: 2024-03-01T02:30:00+08:00"),
     .meta = "TIME"},
    {OPT_BOOL(struct control_conf, wait, "false",
              "wait for the job to end and return its exit status")},
    JOB_SERVER_OPT(struct control_conf),
    JOB_WHERE_OPTS(struct control_conf),
    {0},
};

typedef enum rc control_fn(const struct control_conf *c, const struct cmd_place *p,
                           const char *name, struct err *err);

static enum rc with_place(const void *conf, const struct opt_args *args, control_fn *fn,
                          struct err *err)
{
    const struct control_conf *c = conf;
    struct cmd_place p;
    enum rc rc = job_open(&c->where, &p, err);
    if (rc)
        return rc;
    rc = fn(c, &p, args->n ? args->at[0] : NULL, err);
    cmd_place_close(&p);
    return rc;
}

static enum rc pause_schedule(const struct control_conf *c, const struct cmd_place *p,
                              const char *name, struct err *err)
{
    return p->ops->team->schedule_pause(p, name, true, err);
}

static enum rc resume_schedule(const struct control_conf *c, const struct cmd_place *p,
                               const char *name, struct err *err)
{
    return p->ops->team->schedule_pause(p, name, false, err);
}

static enum rc delete_schedule(const struct control_conf *c, const struct cmd_place *p,
                               const char *name, struct err *err)
{
    return p->ops->team->schedule_delete(p, name, err);
}

static enum rc submit_run(const struct control_conf *c, const struct cmd_place *p,
                          const char *name, struct err *err)
{
    int64_t at = clock_wall_ns() / CLOCK_SECOND * CLOCK_SECOND;
    char id[JOB_ID_SIZE];
    bool existed;
    if (c->at && *c->at && !clock_from_rfc3339(str_c(c->at), &at))
        return err_coded(err, RC_INVAL, E5105,
                         "--at: '%.60s' is not a time such as 2024-03-01T02:30:00+08:00",
                         c->at);
    enum rc rc = p->ops->team->schedule_run(p, name, at, id, &existed, err);
    if (rc)
        return rc;
    if (existed)
        fprintf(stderr,
                "this run was already submitted: job %s\n"
                "",
                id);
    printf("%s\n", id);
    if (!c->wait)
        return RC_OK;
    struct store_jobs jobs = {0};
    rc = job_wait(p, id, 0, err);
    if (!rc)
        rc = p->ops->get(p, id, &jobs, err);
    if (!rc)
        rc = job_end_status(&jobs.at[0], err);
    store_jobs_release(&jobs);
    return rc;
}

static enum rc schedule_pause_command(const void *conf, const struct opt_args *args,
                                      struct err *err)
{
    return with_place(conf, args, pause_schedule, err);
}

static enum rc schedule_resume_command(const void *conf, const struct opt_args *args,
                                       struct err *err)
{
    return with_place(conf, args, resume_schedule, err);
}

static enum rc schedule_delete_command(const void *conf, const struct opt_args *args,
                                       struct err *err)
{
    return with_place(conf, args, delete_schedule, err);
}

static enum rc schedule_run_command(const void *conf, const struct opt_args *args,
                                    struct err *err)
{
    return with_place(conf, args, submit_run, err);
}

static const struct cmd_example pause_examples[] = {
    {"pause a schedule", "trainyard schedule pause nightly"},
    {0},
};

const struct cmd cmd_schedule_pause = {
    .name = "schedule pause",
    .args = "NAME",
    .summary = "pause a schedule; running jobs continue",
    .examples = pause_examples,
    .opts = opts,
    .conf_size = sizeof(struct control_conf),
    .min_args = 1,
    .max_args = 1,
    .run = schedule_pause_command,
};

static const struct cmd_example resume_examples[] = {
    {"resume a schedule", "trainyard schedule resume nightly"},
    {0},
};

const struct cmd cmd_schedule_resume = {
    .name = "schedule resume",
    .args = "NAME",
    .summary = "resume a schedule; missed runs are skipped",
    .examples = resume_examples,
    .opts = opts,
    .conf_size = sizeof(struct control_conf),
    .min_args = 1,
    .max_args = 1,
    .run = schedule_resume_command,
};

static const struct cmd_example delete_examples[] = {
    {"delete a schedule", "trainyard schedule delete nightly"},
    {0},
};

const struct cmd cmd_schedule_delete = {
    .name = "schedule delete",
    .args = "NAME",
    .summary = "delete a schedule and its history; its jobs stay",
    .examples = delete_examples,
    .opts = opts,
    .conf_size = sizeof(struct control_conf),
    .min_args = 1,
    .max_args = 1,
    .run = schedule_delete_command,
};

static const struct cmd_example run_examples[] = {
    {"now", "trainyard schedule run nightly"},
    {"a missed day", "trainyard schedule run nightly --at 2024-03-01T02:30:00+08:00"},
    {0},
};

const struct cmd cmd_schedule_run = {
    .name = "schedule run",
    .args = "NAME",
    .summary = "submit one run by hand",
    .description =
        "Prints the job's id. Each scheduled time is submitted at most once: if it was "
        "already submitted, prints the id of that job. With --wait the exit status is "
        "that of the job.",
    .examples = run_examples,
    .opts = run_opts,
    .conf_size = sizeof(struct control_conf),
    .min_args = 1,
    .max_args = 1,
    .run = schedule_run_command,
};
