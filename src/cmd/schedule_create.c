/* SPDX-License-Identifier: Apache-2.0 */
/* The job of a schedule is read and checked as `job submit` does it, then kept as a spec in
 * which dates are still to be filled in. A server is sent files and secrets now.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cmd/cmd.h"
#include "cmd/job_common.h"
#include "cmd/job_flags.h"
#include "cmd/job_send.h"
#include "cmd/schedule_common.h"
#include "team/fire.h"
#include "team/schedule_json.h"

struct create_conf {
    struct job_where where;
    struct job_flags flags;
    const char *cron, *zone, *catch_up, *overlap;
    struct opt_list param;
    bool json, paused;
};

static const struct opt opts[] = {
    {OPT_HEADING("When")},
    {OPT_TEXT(struct create_conf, cron, NULL,
              "minute, hour, day of month, month, day of week; or @daily"),
     .meta = "LINE"},
    {OPT_TEXT(struct create_conf, zone, "local",
              "time zone: Asia/Shanghai, +08:00, UTC or local (UTC on a server)"),
     .meta = "ZONE"},
    {OPT_LIST(struct create_conf, param, "parameter: replaces ${NAME} in the job"),
     .letter = 'P', .meta = "NAME=VALUE"},
    {OPT_TEXT(struct create_conf, catch_up, "last",
              "which missed runs to submit: none, last, all or all:N"),
     .meta = "HOW"},
    {OPT_CHOICE(struct create_conf, overlap, "skip", "skip|queue|replace|allow",
                "what to do if the previous job is still running")},
    {OPT_BOOL(struct create_conf, paused, "false", "create it paused")},
    {OPT_BOOL(struct create_conf, json, "false", "print one JSON object")},
    JOB_FLAGS_OPTS(struct create_conf),
    JOB_SERVER_OPT(struct create_conf),
    JOB_WHERE_OPTS(struct create_conf),
    {0},
};

/* What is not given stays. */
static const struct opt update_opts[] = {
    {OPT_HEADING("When")},
    {OPT_TEXT(struct create_conf, cron, NULL,
              "minute, hour, day of month, month, day of week; or @daily"),
     .meta = "LINE"},
    {OPT_TEXT(struct create_conf, zone, NULL,
              "time zone: Asia/Shanghai, +08:00, UTC or local (UTC on a server)"),
     .meta = "ZONE"},
    {OPT_LIST(struct create_conf, param,
              "parameter: replaces ${NAME} in the job; replaces all earlier parameters"),
     .letter = 'P', .meta = "NAME=VALUE"},
    {OPT_TEXT(struct create_conf, catch_up, NULL,
              "which missed runs to submit: none, last, all or all:N"),
     .meta = "HOW"},
    {OPT_CHOICE(struct create_conf, overlap, NULL, "skip|queue|replace|allow",
                "what to do if the previous job is still running")},
    {OPT_BOOL(struct create_conf, json, "false", "print one JSON object")},
    JOB_FLAGS_OPTS(struct create_conf),
    JOB_SERVER_OPT(struct create_conf),
    JOB_WHERE_OPTS(struct create_conf),
    {0},
};

static enum rc put_params(const struct opt_list *l, struct buf *out, struct err *err)
{
    buf_putc(out, '{');
    for (size_t i = 0; i < l->n; i++) {
        const char *eq = strchr(l->at[i], '=');
        size_t n = eq ? (size_t)(eq - l->at[i]) : 0;
        if (!eq || !team_dates_name_ok(str_of(l->at[i], n)))
            return err_coded(
                err, RC_INVAL, E5105,
                "--param: '%.100s' is not NAME=VALUE with a name of letters, "
                "digits and '_'",
                l->at[i]);
        buf_puts(out, i ? ", " : "");
        buf_json_str(out, l->at[i], n);
        buf_puts(out, ": ");
        buf_json_str(out, eq + 1, strlen(eq + 1));
    }
    buf_putc(out, '}');
    return RC_OK;
}

/* What a server is sent now cannot be chosen by a date later. */
static enum rc check_inputs(const struct job_spec *spec, struct err *err)
{
    for (int64_t i = 0; i < spec->s->n_input; i++) {
        const struct schema_kv_STR *in = &spec->s->input[i];
        if (job_send_is_path(in->value) &&
            (strstr(in->value, "${") || strstr(in->value, "$[")))
            return err_coded(
                err, RC_INVAL, E3005,
                "input '%.100s': '%.200s' depends on the date, but a path of "
                "this machine is sent to the server once, when the schedule "
                "is created; name a dataset",
                in->key, in->value);
    }
    return RC_OK;
}

/* The job as it was written: with where it was written, or with what it needs of this
 * machine as the server has it then.
 */
static enum rc put_spec(const struct opt *table, const struct create_conf *c,
                        const struct opt_args *args, const struct cmd_place *p,
                        struct buf *out, struct err *err)
{
    struct job_spec spec;
    struct job_submit_result sent = {.copied = false};
    char cwd[4096];
    enum rc rc = job_flags_load(table, c, args, 1, &spec, err);
    if (!rc && !getcwd(cwd, sizeof(cwd)))
        rc = err_set(err, RC_IO, "the current directory is gone");
    if (!rc && p->ops->here)
        job_spec_put(&spec, "workdir", cwd);
    else if (!rc)
        rc = check_inputs(&spec, err);
    if (!rc && !p->ops->here)
        rc = job_send_files(p, &spec, cwd, &sent, err);
    if (!rc) {
        job_spec_print(&spec, out);
        rc = buf_check(out, err);
    }
    job_spec_release(&spec);
    return rc;
}

static enum rc print_schedule(const struct create_conf *c, const struct store_schedule *x,
                              struct err *err)
{
    struct buf out;
    buf_init(&out, CMD_TEXT_MAX);
    if (c->json) {
        team_schedule_json(x, NULL, &out);
    } else {
        buf_printf(&out, "%s: ", x->name);
        if (x->paused)
            buf_puts(&out, "paused");
        else {
            buf_puts(&out, "next run ");
            schedule_put_time(x, x->next, &out);
        }
    }
    buf_putc(&out, '\n');
    enum rc rc = cmd_print(&out, err);
    buf_release(&out);
    return rc;
}

static enum rc create_schedule(const struct create_conf *c, const struct opt_args *args,
                               const struct cmd_place *p, struct err *err)
{
    struct buf spec, params;
    struct team_schedule_policy policy;
    buf_init(&spec, CMD_TEXT_MAX);
    buf_init(&params, 1 << 20);
    enum rc rc = RC_OK;
    if (!c->cron || !*c->cron)
        rc = err_coded(err, RC_INVAL, E5101,
                       "--cron says when, such as '30 2 * * *' for half past two each "
                       "night");
    if (!rc)
        rc = team_schedule_policy_read(c->catch_up, c->overlap, &policy, err);
    if (!rc)
        rc = put_params(&c->param, &params, err);
    if (!rc)
        rc = put_spec(opts, c, args, p, &spec, err);
    if (!rc) {
        char *kept = mem_printf("%s %s", c->catch_up, c->overlap);
        struct store_schedule x = {
            .name = args->at[0],
            .project = c->flags.project ? c->flags.project : "",
            .cron = c->cron,
            .zone = c->zone,
            .spec = buf_str(&spec),
            .params = buf_str(&params),
            .catch_up = kept,
            .paused = c->paused,
        };
        struct arena a = {0};
        rc = p->ops->team->schedule_create(p, &x, &a, err);
        if (!rc)
            rc = print_schedule(c, &x, err);
        arena_release(&a);
        mem_free(kept);
    }
    buf_release(&params);
    if (spec.p)
        explicit_bzero(spec.p, spec.n); /* it may hold secrets */
    buf_release(&spec);
    return rc;
}

static enum rc run_schedule_create(const void *conf, const struct opt_args *args,
                                   struct err *err)
{
    const struct create_conf *c = conf;
    struct cmd_place p;
    if (args->n - args->n_dashed < 1)
        return err_coded(err, RC_INVAL, E0605, "NAME is missing");
    enum rc rc = job_open(&c->where, &p, err);
    if (rc)
        return rc;
    rc = create_schedule(c, args, &p, err);
    cmd_place_close(&p);
    return rc;
}

static enum rc show_updated(const struct create_conf *c, const struct cmd_place *p,
                            const char *name, struct err *err)
{
    struct store_schedules l = {0};
    enum rc rc = p->ops->team->schedule_get(p, name, &l, NULL, 0, err);
    if (!rc)
        rc = print_schedule(c, &l.at[0], err);
    store_schedules_release(&l);
    return rc;
}

static enum rc update_schedule(const struct create_conf *c, const struct opt_args *args,
                               const struct cmd_place *p, struct err *err)
{
    struct buf spec, params;
    bool job = args->n > 1;
    buf_init(&spec, CMD_TEXT_MAX);
    buf_init(&params, 1 << 20);
    enum rc rc = RC_OK;
    if (!job && job_flags_any(update_opts, c))
        rc =
            err_coded(err, RC_INVAL, E0603,
                      "flags of the job go with its FILE or COMMAND: the job is replaced "
                      "as a whole");
    if (!rc && job)
        rc = put_spec(update_opts, c, args, p, &spec, err);
    if (!rc)
        rc = put_params(&c->param, &params, err);
    struct team_schedule_change change = {.cron = c->cron,
                                          .zone = c->zone,
                                          .catch_up = c->catch_up,
                                          .overlap = c->overlap,
                                          .params = c->param.n ? buf_str(&params) : NULL,
                                          .spec = job ? buf_str(&spec) : NULL,
                                          .project =
                                              c->flags.project ? c->flags.project : ""};
    if (!rc && !job && !c->cron && !c->zone && !c->catch_up && !c->overlap && !c->param.n)
        rc = err_coded(err, RC_INVAL, E0603,
                       "nothing to change: --cron, --zone, --param, --catch-up, "
                       "--overlap, or a job");
    if (!rc)
        rc = p->ops->team->schedule_update(p, args->at[0], &change, err);
    if (!rc)
        rc = show_updated(c, p, args->at[0], err);
    buf_release(&params);
    if (spec.p)
        explicit_bzero(spec.p, spec.n); /* it may hold secrets */
    buf_release(&spec);
    return rc;
}

static enum rc run_schedule_update(const void *conf, const struct opt_args *args,
                                   struct err *err)
{
    const struct create_conf *c = conf;
    struct cmd_place p;
    if (args->n - args->n_dashed < 1)
        return err_coded(err, RC_INVAL, E0605, "NAME is missing");
    enum rc rc = job_open(&c->where, &p, err);
    if (rc)
        return rc;
    rc = update_schedule(c, args, &p, err);
    cmd_place_close(&p);
    return rc;
}

static const struct cmd_example update_examples[] = {
    {"an hour later", "trainyard schedule update nightly --cron '30 3 * * *'"},
    {"new code", "trainyard schedule update nightly --source . -- ./train"},
    {0},
};

const struct cmd cmd_schedule_update = {
    .name = "schedule update",
    .args = "NAME [FILE] [-- COMMAND...]",
    .summary = "change when or what a schedule runs",
    .description =
        "Settings that are not given stay as they are, and so does the history. A job, "
        "given as for `schedule create`, replaces the old one as a whole, with its "
        "code, inputs and secrets; at a server only the schedule's owner may do that. "
        "The next run is computed from the current time.",
    .examples = update_examples,
    .opts = update_opts,
    .conf_size = sizeof(struct create_conf),
    .min_args = 1,
    .max_args = CMD_ANY,
    .run = run_schedule_update,
};

static const struct cmd_example examples[] = {
    {"train every night on the previous day",
     "trainyard schedule create nightly --cron '30 2 * * *' --hp 'dt=${bizdate}' -- "
     "./train"},
    {"every hour, with the previous hour as a parameter",
     "trainyard schedule create hourly --cron @hourly -P 'h=$[yyyymmddhh24-1/24]' "
     "job.yaml"},
    {0},
};

const struct cmd cmd_schedule_create = {
    .name = "schedule create",
    .args = "NAME [FILE] [-- COMMAND...]",
    .summary = "create a schedule that runs a job",
    .description =
        "The job is given as for `job submit`: by flags, a job file and a command. In "
        "its command, hyperparameters, inputs, outputs, variables and labels, "
        "${bizdate} becomes the day before the scheduled day (20240229) and ${cyctime} "
        "the scheduled time; ${yyyy-mm-dd} or ${yyyymmdd-7} format the day before, "
        "$[yyyymmddhh24] and the like the scheduled time. See docs/schedules.md. Quote "
        "them to protect them from the shell.\n\n"
        "A server, or `trainyard schedule due`, submits jobs when they are due. "
        "--source is copied at that time. For a server, --source, local inputs and the "
        "values of secrets are sent when the schedule is created.",
    .examples = examples,
    .opts = opts,
    .conf_size = sizeof(struct create_conf),
    .min_args = 1,
    .max_args = CMD_ANY,
    .run = run_schedule_create,
};
