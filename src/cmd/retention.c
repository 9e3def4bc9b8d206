/* SPDX-License-Identifier: Apache-2.0 */
/* `retention set|list|delete`: how long jobs and experiments that have ended are kept. A policy
 * is named by whose it is: "user:ann", "project:ads", or "default", of experiments with
 * "experiments:" before it. All three speak to the storage table
 * of p->ops, so they are the same for this machine and for a server.
 */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "cmd/cmd.h"
#include "cmd/job_common.h"
#include "text/job/job.h"
#include "tune/retain.h"

struct retention_conf {
    struct job_where where;
    const char *user, *project;
    double age;
    int64_t jobs, count, size;
    bool json, experiments;
};

#define WHOSE_OPTS                                                                 \
    {OPT_TEXT(struct retention_conf, user, NULL, "of this user"), .meta = "NAME"}, \
        {OPT_TEXT(struct retention_conf, project, NULL, "of this project"),        \
         .meta = "NAME"},                                                          \
    {                                                                              \
        OPT_BOOL(struct retention_conf, experiments, "false",                      \
                 "the policy for experiments, not for jobs")                       \
    }

#define WHERE_OPTS                                                                \
    JOB_WHERE_OPTS(struct retention_conf), JOB_SERVER_OPT(struct retention_conf), \
    {                                                                             \
        0                                                                         \
    }

static const struct opt set_opts[] = {
    WHOSE_OPTS,
    {OPT_DURATION(struct retention_conf, age, "0", 0, 3155760000,
                  "delete them this long after their end; 0: no limit")},
    {OPT_INT(struct retention_conf, count, "-1", -1, 1000000000,
             "keep the latest N; -1: no limit")},
    {OPT_INT(struct retention_conf, jobs, "-1", -1, 1000000000,
             "the same as --count, for jobs")},
    {OPT_SIZE(struct retention_conf, size, "0", 0, INT64_MAX,
              "keep the latest ones up to this total size; 0: no limit")},
    WHERE_OPTS,
};

static const struct opt list_opts[] = {
    {OPT_BOOL(struct retention_conf, json, "false", "print a JSON list")},
    WHERE_OPTS,
};

static const struct opt delete_opts[] = {
    WHOSE_OPTS,
    WHERE_OPTS,
};

/* The caller's; NULL: both were given (E0603), or no name (E5504). */
static char *policy_name(const struct retention_conf *c, struct err *err)
{
    if (c->user && c->project) {
        err_coded(err, RC_INVAL, E0603, "--user and --project exclude each other");
        return NULL;
    }
    const char *whose = c->user ? c->user : c->project;
    const char *wrong = whose ? jobspec_check_name(str_c(whose)) : NULL;
    if (wrong) {
        err_coded(err, RC_INVAL, E5504, "%s '%.100s': %s", c->user ? "user" : "project",
                  whose, wrong);
        return NULL;
    }
    const char *of = c->experiments ? TUNE_POLICY : "";
    return c->user      ? mem_printf("%suser:%s", of, c->user)
           : c->project ? mem_printf("%sproject:%s", of, c->project)
                        : mem_printf("%sdefault", of);
}

/* One change to the policy that the flags name. */
static enum rc change_policy(const struct retention_conf *c,
                             enum rc (*change)(const struct cmd_place *,
                                               const struct store_retention *,
                                               struct err *),
                             struct err *err)
{
    struct cmd_place p;
    char *name = policy_name(c, err);
    if (!name)
        return RC_INVAL;
    struct store_retention x = {.name = name,
                                .age_s = c->age > 0 ? (int64_t)c->age : -1,
                                .jobs = c->count >= 0 ? c->count : c->jobs,
                                .bytes = c->size > 0 ? c->size : -1};
    enum rc rc = job_open(&c->where, &p, err);
    if (!rc) {
        rc = change(&p, &x, err);
        cmd_place_close(&p);
    }
    mem_free(name);
    return rc;
}

static enum rc put_policy(const struct cmd_place *p, const struct store_retention *x,
                          struct err *err)
{
    return p->ops->storage->retention_put(p, x, err);
}

static enum rc delete_policy(const struct cmd_place *p, const struct store_retention *x,
                             struct err *err)
{
    return p->ops->storage->retention_delete(p, x->name, err);
}

static enum rc retention_set_command(const void *conf, const struct opt_args *args,
                                     struct err *err)
{
    const struct retention_conf *c = conf;
    if (c->experiments && c->jobs >= 0)
        return err_coded(err, RC_INVAL, E0603,
                         "--jobs is for jobs; experiments have --count");
    return change_policy(conf, put_policy, err);
}

static enum rc retention_delete_command(const void *conf, const struct opt_args *args,
                                        struct err *err)
{
    return change_policy(conf, delete_policy, err);
}

static void put_size(struct buf *b, int64_t v)
{
    char text[24] = "-";
    if (v >= 0)
        job_space_words(v, text);
    buf_printf(b, " %12s", text);
}

static void put_count(struct buf *b, int64_t v)
{
    char text[24] = "-";
    if (v >= 0)
        snprintf(text, sizeof(text), "%jd", (intmax_t)v);
    buf_printf(b, " %12s", text);
}

/* As --age takes it: "30d", "1d 2h" is written 26h. */
static void put_age(struct buf *b, int64_t s)
{
    static const struct {
        int64_t s;
        char word;
    } units[] = {{86400, 'd'}, {3600, 'h'}, {60, 'm'}, {1, 's'}};
    char text[24] = "-";
    size_t k = 0;
    while (s > 0 && s % units[k].s)
        k++;
    if (s >= 0)
        snprintf(text, sizeof(text), "%jd%c", (intmax_t)(s / units[k].s), units[k].word);
    buf_printf(b, " %12s", text);
}

static void show_policies(const struct store_retentions *l, bool json, struct buf *b)
{
    struct json_out j = {.out = b};
    if (json)
        json_open(&j, NULL, '[');
    else
        buf_printf(b, "%-28s %12s %12s %12s\n", "OF", "AGE", "COUNT", "SIZE");
    for (size_t i = 0; i < l->n; i++) {
        const struct store_retention *x = &l->at[i];
        if (json) {
            json_open(&j, NULL, '{');
            json_put_str(&j, "name", x->name);
            json_put_int(&j, "age_s", x->age_s);
            json_put_int(&j, "jobs", x->jobs);
            json_put_int(&j, "bytes", x->bytes);
            json_close(&j, '}');
            continue;
        }
        buf_printf(b, "%-28s", x->name);
        put_age(b, x->age_s);
        put_count(b, x->jobs);
        put_size(b, x->bytes);
        buf_putc(b, '\n');
    }
    if (json) {
        json_close(&j, ']');
        buf_putc(b, '\n');
    }
}

static enum rc retention_list_command(const void *conf, const struct opt_args *args,
                                      struct err *err)
{
    const struct retention_conf *c = conf;
    struct cmd_place p;
    struct store_retentions l = {0};
    struct buf b;
    enum rc rc = job_open(&c->where, &p, err);
    if (rc)
        return rc;
    buf_init(&b, CMD_TEXT_MAX);
    rc = p.ops->storage->retention_get(&p, &l, err);
    if (!rc) {
        show_policies(&l, c->json, &b);
        rc = cmd_print(&b, err);
    }
    buf_release(&b);
    store_retentions_release(&l);
    cmd_place_close(&p);
    return rc;
}

/* What the three share: their examples, flags and settings go by their word. */
#define RETENTION(word)                                                           \
    .name = "retention " #word, .examples = word##_examples, .opts = word##_opts, \
    .conf_size = sizeof(struct retention_conf), .run = retention_##word##_command

static const struct cmd_example set_examples[] = {
    {"everybody's jobs for a month, the latest 500 of each",
     "trainyard retention set --age 30d --jobs 500"},
    {"a project's jobs up to a size",
     "trainyard retention set --project ads --size 200g"},
    {"everybody's latest 100 experiments, for half a year",
     "trainyard retention set --experiments --count 100 --age 180d"},
    {0},
};

const struct cmd cmd_retention_set = {
    RETENTION(set),
    .summary = "set how long ended jobs and experiments are kept",
    .description =
        "Sets the policy of a user or a project, or, without either, of every user who "
        "has none. It replaces the previous one. Policies never delete jobs with the "
        "label `keep`. With --experiments the policy is for ended experiments; the "
        "jobs of their trials are not deleted with them. At a server this requires an "
        "admin's token.",
};

static const struct cmd_example list_examples[] = {
    {"all policies", "trainyard retention list"}, {0}};

const struct cmd cmd_retention_list = {
    RETENTION(list),
    .summary = "list the policies for jobs and experiments that have ended",
};

static const struct cmd_example delete_examples[] = {
    {"a project without one", "trainyard retention delete --project ads"}, {0}};

const struct cmd cmd_retention_delete = {
    RETENTION(delete),
    .summary = "remove a policy; what it covered is then kept",
};
