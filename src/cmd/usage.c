/* SPDX-License-Identifier: Apache-2.0 */
/* What users and projects used. */
#include <string.h>

#include "base/clock.h"
#include "cmd/cmd.h"
#include "cmd/job_common.h"
#include "job/quote.h"
#include "store/projects.h"
#include "text/json_out.h"

struct usage_conf {
    struct job_where where;
    const char *by;
    double since;
    bool json;
};

static const struct opt opts[] = {
    {OPT_CHOICE(struct usage_conf, by, "user", "user|project", "group by")},
    {OPT_DURATION(struct usage_conf, since, "7d", 1, 1e9, "how far to look back")},
    {OPT_BOOL(struct usage_conf, json, "false", "print a JSON list")},
    JOB_SERVER_OPT(struct usage_conf),
    JOB_WHERE_OPTS(struct usage_conf),
    {0},
};

static void put_json(const struct usage_conf *c, const struct store_usage *u,
                     struct buf *out)
{
    struct json_out j = {.out = out};
    json_open(&j, NULL, '{');
    json_put_str(&j, c->by, u->name);
    json_put_int(&j, "jobs", u->jobs);
    json_put_int(&j, "running", u->running);
    json_put_int(&j, "cpu_milli_s", u->cpu_milli_s);
    json_put_int(&j, "gpu_s", u->gpu_s);
    json_put_int(&j, "memory_mib_s", u->memory_mib_s);
    json_close(&j, '}');
}

static void put_row(const struct store_usage *u, struct buf *out)
{
    struct buf name;
    buf_init(&name, 4096);
    job_quote_terminal(str_c(*u->name ? u->name : "(none)"), &name);
    buf_printf(out, "%-20s  %6jd  %7jd  %10.2f  %10.2f  %10.2f\n", buf_str(&name),
               (intmax_t)u->jobs, (intmax_t)u->running, (double)u->cpu_milli_s / 3.6e6,
               (double)u->gpu_s / 3600, (double)u->memory_mib_s / 1024 / 3600);
    buf_release(&name);
}

static void put_all(const struct usage_conf *c, const struct store_usages *l,
                    struct buf *out)
{
    if (c->json)
        buf_putc(out, '[');
    else
        buf_printf(out, "%-20s  %6s  %7s  %10s  %10s  %10s\n", c->by, "jobs", "running",
                   "cpu hours", "gpu hours", "GiB hours");
    for (size_t i = 0; i < l->n; i++) {
        buf_puts(out, c->json && i ? ",\n" : "");
        if (c->json)
            put_json(c, &l->at[i], out);
        else
            put_row(&l->at[i], out);
    }
    buf_puts(out, c->json ? "]\n" : "");
}

static enum rc run_usage(const void *conf, const struct opt_args *args, struct err *err)
{
    const struct usage_conf *c = conf;
    struct cmd_place p;
    struct store_usages l = {0};
    struct buf out;
    enum rc rc = job_open(&c->where, &p, err);
    if (rc)
        return rc;
    buf_init(&out, CMD_TEXT_MAX);
    bool projects = strcmp(c->by, "project") == 0;
    int64_t since = clock_wall_ns() - (int64_t)(c->since * 1e9);
    rc = p.ops->team->usage(&p, projects, since, &l, err);
    if (!rc) {
        put_all(c, &l, &out);
        rc = cmd_print(&out, err);
    }
    buf_release(&out);
    store_usages_release(&l);
    cmd_place_close(&p);
    return rc;
}

static const struct cmd_example examples[] = {
    {"the last week", "trainyard usage"},
    {"projects, last 24 hours", "trainyard usage --by project --since 24h"},
    {0},
};

const struct cmd cmd_usage = {
    .name = "usage",
    .summary = "show the resource usage of users or projects",
    .description = "CPU, GPU and memory hours of jobs. Running jobs count up to now.",
    .examples = examples,
    .opts = opts,
    .conf_size = sizeof(struct usage_conf),
    .run = run_usage,
};
