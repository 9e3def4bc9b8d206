/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "cmd/cmd.h"
#include "cmd/job_common.h"
#include "cmd/team_env.h"
#include "team/fire.h"

struct due_conf {
    struct job_where where;
    bool loop;
};

static const struct opt opts[] = {
    {OPT_BOOL(struct due_conf, loop, "false", "keep running; also send notifications")},
    JOB_WHERE_OPTS(struct due_conf),
    {0},
};

static enum rc submit_due(const struct cmd_place *p, struct err *err)
{
    struct team_schedule_ticker ticker = {0};
    int64_t fired = 0;
    enum rc rc = team_schedule_tick(&ticker, &p->p, (const char *const *)environ, true,
                                    clock_wall_ns(), &fired, err);
    if (!rc)
        printf("%jd run%s submitted\n", (intmax_t)fired, fired == 1 ? "" : "s");
    return rc;
}

/* Until SIGTERM or SIGINT. */
static enum rc serve_until_signal(const struct cmd_place *p, struct err *err)
{
    struct team_daemon_conf c = team_env_daemon(&p->p);
    struct team_daemon *s = NULL;
    sigset_t set;
    int number = 0;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    log_setup(LOG_LEVEL_INFO, LOG_TEXT, 2);
    enum rc rc = team_daemon_create(&c, &s, err);
    if (rc)
        return rc;
    while (sigwait(&set, &number) != 0)
        continue;
    team_daemon_destroy(s);
    return RC_OK;
}

static enum rc run_schedule_due(const void *conf, const struct opt_args *args,
                                struct err *err)
{
    const struct due_conf *c = conf;
    struct cmd_place p;
    enum rc rc = cmd_place_open(&c->where, &p, err);
    if (rc)
        return rc;
    rc = c->loop ? serve_until_signal(&p, err) : submit_due(&p, err);
    cmd_place_close(&p);
    return rc;
}

static const struct cmd_example examples[] = {
    {"once, from cron", "trainyard schedule due"},
    {"keep running until stopped", "trainyard schedule due --loop"},
    {0},
};

const struct cmd cmd_schedule_due = {
    .name = "schedule due",
    .summary = "submit all due runs",
    .description =
        "For machines without a server: run it once a minute, or with --loop. Several "
        "of them may share a store: one leads, and each scheduled time is submitted "
        "once.",
    .examples = examples,
    .opts = opts,
    .conf_size = sizeof(struct due_conf),
    .run = run_schedule_due,
};
