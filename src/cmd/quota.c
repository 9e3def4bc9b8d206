/* SPDX-License-Identifier: Apache-2.0 */
/* quota set, list, delete: limits and weights of users and projects. A user and a project
 * may have the same name, so rows are kept by a key that says which (team/quota.c).
 * Limits are handed on as texts: one that was not given changes nothing, and `none`
 * removes it. After a change the agent is revived, since jobs that waited may start now.
 */
#include <string.h>

#include "backend/agent.h"
#include "base/mem.h"
#include "cmd/cmd.h"
#include "cmd/job_common.h"
#include "job/quote.h"
#include "job/status.h"
#include "team/quota.h"
#include "text/json_out.h"

struct quota_conf {
    struct job_where where;
    const char *project, *user, *cpu, *memory, *gpu, *running;
    int64_t weight;
    bool json;
};

#define WHOSE                                                                  \
    {OPT_TEXT(struct quota_conf, project, NULL, "this project"), .meta = "P"}, \
    {                                                                          \
        OPT_TEXT(struct quota_conf, user, NULL,                                \
                 "this user; '*': every user without limits of their own"),    \
            .meta = "U"                                                        \
    }

static const struct opt set_opts[] = {
    WHOSE,
    {OPT_TEXT(struct quota_conf, cpu, NULL, "CPUs in use, or none"), .meta = "N"},
    {OPT_TEXT(struct quota_conf, memory, NULL, "memory in use, such as 64Gi, or none"),
     .meta = "SIZE"},
    {OPT_TEXT(struct quota_conf, gpu, NULL, "GPUs in use, or none"), .meta = "N"},
    {OPT_TEXT(struct quota_conf, running, NULL, "running jobs, or none"), .meta = "N"},
    {OPT_INT(struct quota_conf, weight, "0", 0, 10000,
             "weight of the fair share; the default is 100, and 0 keeps the current "
             "weight")},
    {OPT_BOOL(struct quota_conf, json, "false", "print one JSON object")},
    JOB_SERVER_OPT(struct quota_conf),
    JOB_WHERE_OPTS(struct quota_conf),
    {0},
};

static const struct opt list_opts[] = {
    {OPT_BOOL(struct quota_conf, json, "false", "print a JSON list")},
    JOB_SERVER_OPT(struct quota_conf),
    JOB_WHERE_OPTS(struct quota_conf),
    {0},
};

static const struct opt delete_opts[] = {
    WHOSE,
    JOB_SERVER_OPT(struct quota_conf),
    JOB_WHERE_OPTS(struct quota_conf),
    {0},
};

static enum rc key_of(const struct quota_conf *c, char **out, struct err *err)
{
    bool project = c->project && *c->project, user = c->user && *c->user;
    if (project == user)
        return err_coded(err, RC_INVAL, E5201, "use --project P or --user U");
    return team_quota_key(user ? QUOTA_USER : QUOTA_PROJECT, user ? c->user : c->project,
                          out, err);
}

static void put_limit(struct json_out *j, const char *key, int64_t v)
{
    if (v < 0)
        json_put_null(j, key);
    else
        json_put_int(j, key, v);
}

static void put_json(const struct store_project *p, struct buf *out)
{
    struct json_out j = {.out = out};
    const char *name;
    enum team_quota_whose whose = team_quota_of(p, &name);
    json_open(&j, NULL, '{');
    json_put_str(&j, whose == QUOTA_USER ? "user" : "project", name);
    put_limit(&j, "cpu_milli", p->cpu_milli);
    put_limit(&j, "memory", p->memory);
    put_limit(&j, "gpu", p->gpu);
    put_limit(&j, "running", p->running);
    json_put_int(&j, "weight", p->weight);
    json_close(&j, '}');
}

static void put_cell(struct buf *out, int64_t v, double unit)
{
    if (v < 0)
        buf_printf(out, "  %8s", "-");
    else
        buf_printf(out, "  %8g", (double)v / unit);
}

static void put_row(const struct store_project *p, struct buf *out)
{
    const char *name;
    enum team_quota_whose whose = team_quota_of(p, &name);
    struct buf shown;
    buf_init(&shown, 4096);
    job_quote_terminal(str_c(name), &shown);
    buf_printf(out, "%-8s  %-20s", whose == QUOTA_USER ? "user" : "project",
               buf_str(&shown));
    buf_release(&shown);
    put_cell(out, p->cpu_milli, 1000);
    put_cell(out, p->memory, 1 << 30);
    put_cell(out, p->gpu, 1);
    put_cell(out, p->running, 1);
    buf_printf(out, "  %6jd\n", (intmax_t)p->weight);
}

static void put_head(struct buf *out)
{
    buf_printf(out, "%-8s  %-20s  %8s  %8s  %8s  %8s  %6s\n", "whose", "name", "cpu",
               "GiB", "gpu", "running", "weight");
}

static enum rc set_quota(const struct quota_conf *c, const struct cmd_place *p,
                         const char *key, struct err *err)
{
    struct store_project row;
    struct team_quota_change change = {.cpu = c->cpu,
                                       .memory = c->memory,
                                       .gpu = c->gpu,
                                       .running = c->running,
                                       .weight = c->weight};
    enum rc rc = p->ops->team->quota_set(p, key, &change, &row, err);
    if (rc)
        return rc;
    struct buf out;
    buf_init(&out, CMD_TEXT_MAX);
    if (c->json) {
        put_json(&row, &out);
        buf_putc(&out, '\n');
    } else {
        put_head(&out);
        put_row(&row, &out);
    }
    rc = cmd_print(&out, err);
    buf_release(&out);
    return rc;
}

static enum rc quota_set_command(const void *conf, const struct opt_args *args,
                                 struct err *err)
{
    const struct quota_conf *c = conf;
    struct cmd_place p;
    char *key = NULL;
    enum rc rc = key_of(c, &key, err);
    if (!rc)
        rc = job_open(&c->where, &p, err);
    if (!rc) {
        rc = set_quota(c, &p, key, err);
        job_revive(&p);
        cmd_place_close(&p);
    }
    mem_free(key);
    return rc;
}

static enum rc quota_list_command(const void *conf, const struct opt_args *args,
                                  struct err *err)
{
    const struct quota_conf *c = conf;
    struct cmd_place p;
    struct store_projects l = {0};
    struct buf out;
    enum rc rc = job_open(&c->where, &p, err);
    if (rc)
        return rc;
    buf_init(&out, CMD_TEXT_MAX);
    rc = p.ops->team->quota_list(&p, &l, err);
    if (c->json)
        buf_putc(&out, '[');
    else if (l.n)
        put_head(&out);
    for (size_t i = 0; i < l.n && !rc; i++) {
        buf_puts(&out, c->json && i ? ",\n" : "");
        if (c->json)
            put_json(&l.at[i], &out);
        else
            put_row(&l.at[i], &out);
    }
    buf_puts(&out, c->json ? "]\n" : "");
    if (!rc)
        rc = cmd_print(&out, err);
    buf_release(&out);
    store_projects_release(&l);
    cmd_place_close(&p);
    return rc;
}

static enum rc quota_delete_command(const void *conf, const struct opt_args *args,
                                    struct err *err)
{
    const struct quota_conf *c = conf;
    struct cmd_place p;
    char *key = NULL;
    enum rc rc = key_of(c, &key, err);
    if (!rc)
        rc = job_open(&c->where, &p, err);
    if (!rc) {
        rc = p.ops->team->quota_delete(&p, key, err);
        cmd_place_close(&p);
    }
    mem_free(key);
    return rc;
}

static const struct cmd_example set_examples[] = {
    {"a project with at most 4 GPUs and 32 CPUs",
     "trainyard quota set --project ads --gpu 4 --cpu 32"},
    {"at most two running jobs for everybody",
     "trainyard quota set --user '*' --running 2"},
    {"twice the default share", "trainyard quota set --project feed --weight 200"},
    {0},
};

const struct cmd cmd_quota_set = {
    .name = "quota set",
    .summary = "limit the resources of a user or project",
    .description = "Limits apply to running jobs on all machines that share the store. "
                   "Jobs over a limit wait; `job why` names the limit. A new limit "
                   "does not stop running jobs. `none` removes a limit.",
    .examples = set_examples,
    .opts = set_opts,
    .conf_size = sizeof(struct quota_conf),
    .run = quota_set_command,
};

static const struct cmd_example list_examples[] = {
    {"list all quotas", "trainyard quota list"},
    {0},
};

const struct cmd cmd_quota_list = {
    .name = "quota list",
    .summary = "list limits and weights of users and projects",
    .examples = list_examples,
    .opts = list_opts,
    .conf_size = sizeof(struct quota_conf),
    .run = quota_list_command,
};

static const struct cmd_example delete_examples[] = {
    {"back to no limits and the default weight", "trainyard quota delete --project ads"},
    {0},
};

const struct cmd cmd_quota_delete = {
    .name = "quota delete",
    .summary = "delete the limits and weight of a user or project",
    .examples = delete_examples,
    .opts = delete_opts,
    .conf_size = sizeof(struct quota_conf),
    .run = quota_delete_command,
};
