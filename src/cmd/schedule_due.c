/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "cmd/cmd.h"
#include "cmd/job_common.h"
#include "team/fire.h"

struct due_conf {
    struct job_where where;
};

static const struct opt opts[] = {
    JOB_WHERE_OPTS(struct due_conf),
    {0},
};

static enum rc run(const void *conf, const struct opt_args *args, struct err *err)
{
    const struct due_conf *c = conf;
    struct job_place p;
    struct schedule_ticker ticker = {0};
    int64_t fired = 0;
    enum rc rc = job_place_open(&c->where, &p, err);
    if (rc)
        return rc;
    rc = schedule_tick(&ticker, &p.p, (const char *const *)environ, clock_wall_ns(),
                       &fired, err);
    if (!rc)
        printf("%jd run%s submitted\n", (intmax_t)fired, fired == 1 ? "" : "s");
    job_place_close(&p);
    return rc;
}

static const struct cmd_example examples[] = {
    {"a line for cron, where no server runs", "* * * * * trainyard schedule run-due"},
    {0},
};

const struct cmd cmd_schedule_run_due = {
    .name = "schedule run-due",
    .summary = "submit all runs that are due",
    .description =
        "For machines without a server: called once a minute, it does what the "
        "server does by itself. Calling it twice at a time is harmless.",
    .examples = examples,
    .opts = opts,
    .conf_size = sizeof(struct due_conf),
    .run = run,
};
