/* SPDX-License-Identifier: Apache-2.0 */
/* schedule list and get: schedules and their last runs, for people or as JSON. Times are
 * shown in the schedule's own zone, with its offset at that moment, for that is how the
 * cron line reads; JSON has them in UTC. Whatever somebody typed is quoted for the
 * terminal.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cmd/cmd.h"
#include "cmd/job_common.h"
#include "cmd/schedule_common.h"
#include "job/quote.h"
#include "team/fire.h"
#include "team/schedule_json.h"

struct show_conf {
    struct job_where where;
    int64_t runs;
    bool json;
};

static const struct opt list_opts[] = {
    {OPT_BOOL(struct show_conf, json, "false", "print a JSON list")},
    JOB_SERVER_OPT(struct show_conf),
    JOB_WHERE_OPTS(struct show_conf),
    {0},
};

static const struct opt get_opts[] = {
    {OPT_INT(struct show_conf, runs, "10", 0, STORE_ROWS_MAX,
             "at most N runs, newest first")},
    {OPT_BOOL(struct show_conf, json, "false", "print one JSON object")},
    JOB_SERVER_OPT(struct show_conf),
    JOB_WHERE_OPTS(struct show_conf),
    {0},
};

void schedule_put_time(const struct store_schedule *x, int64_t ns, struct buf *out)
{
    struct team_civil c;
    if (!ns) {
        buf_putc(out, '-');
        return;
    }
    if (team_schedule_clock(x, ns, &c, NULL)) {
        char text[CLOCK_TEXT_SIZE];
        clock_rfc3339(ns, text);
        buf_puts(out, text);
        return;
    }
    int64_t offset = (team_civil_seconds(&c) - team_civil_floor(ns, CLOCK_SECOND)) / 60;
    buf_printf(out, "%04jd-%02d-%02d %02d:%02d", (intmax_t)c.year, c.month, c.day, c.hour,
               c.minute);
    if (c.second)
        buf_printf(out, ":%02d", c.second);
    buf_printf(out, " %c%02d:%02d", offset < 0 ? '-' : '+', (int)(llabs(offset) / 60),
               (int)(llabs(offset) % 60));
}

static void put_cell(struct buf *out, const char *text, int width)
{
    struct buf b;
    buf_init(&b, 4096);
    job_quote_terminal(str_c(text), &b);
    buf_printf(out, "%-*s  ", width, buf_str(&b));
    buf_release(&b);
}

static bool is_stopped(const struct store_schedule *x)
{
    return x->stopped && *x->stopped;
}

static void put_row(const struct store_schedule *x, struct buf *out)
{
    struct buf next;
    buf_init(&next, 100);
    if (is_stopped(x))
        buf_puts(&next, "stopped");
    else if (x->paused)
        buf_puts(&next, "paused");
    else
        schedule_put_time(x, x->next, &next);
    put_cell(out, x->name, 20);
    put_cell(out, x->cron, 16);
    put_cell(out, x->zone, 16);
    put_cell(out, buf_str(&next), 23);
    job_quote_terminal(str_c(x->owner), out);
    if (is_stopped(x) || team_schedule_late(x)) {
        buf_puts(out, is_stopped(x) ? "  " : "  late: waits for ");
        job_quote_terminal(str_c(is_stopped(x) ? x->stopped : x->node), out);
    }
    buf_putc(out, '\n');
    buf_release(&next);
}

static enum rc schedule_list_command(const void *conf, const struct opt_args *args,
                                     struct err *err)
{
    const struct show_conf *c = conf;
    struct cmd_place p;
    struct store_schedules l = {0};
    struct buf out;
    enum rc rc = job_open(&c->where, &p, err);
    if (rc)
        return rc;
    buf_init(&out, CMD_TEXT_MAX);
    rc = p.ops->team->schedule_get(&p, NULL, &l, NULL, 0, err);
    buf_puts(&out, c->json ? "[" : "");
    for (size_t i = 0; i < l.n && !rc; i++) {
        buf_puts(&out, c->json && i ? ",\n" : "");
        if (c->json)
            team_schedule_json(&l.at[i], NULL, &out);
        else
            put_row(&l.at[i], &out);
    }
    buf_puts(&out, c->json ? "]\n" : "");
    if (!rc)
        rc = cmd_print(&out, err);
    buf_release(&out);
    store_schedules_release(&l);
    cmd_place_close(&p);
    return rc;
}

static void put_line(struct buf *out, const char *key, const char *value)
{
    buf_printf(out, "%-10s ", key);
    job_quote_terminal(str_c(value), out);
    buf_putc(out, '\n');
}

static void put_run(const struct store_schedule *x, const struct store_run_row *r,
                    struct buf *out)
{
    const char *message;
    struct str word = team_schedule_outcome(r, &message);
    struct buf when;
    buf_init(&when, 100);
    schedule_put_time(x, r->planned, &when);
    buf_printf(out, "  %-23s  %-9.*s  %-15s ", buf_str(&when), (int)word.n, word.p,
               r->job);
    job_quote_terminal(str_c(message), out);
    buf_putc(out, '\n');
    buf_release(&when);
}

static void put_text(const struct store_schedule *x, const struct store_run_rows *runs,
                     struct buf *out)
{
    struct buf next;
    buf_init(&next, 1000);
    if (is_stopped(x))
        buf_printf(&next, "stopped: %s", x->stopped);
    else if (x->paused)
        buf_puts(&next, "paused");
    else
        schedule_put_time(x, x->next, &next);
    put_line(out, "name", x->name);
    put_line(out, "owner", x->owner);
    if (*x->project)
        put_line(out, "project", x->project);
    put_line(out, "cron", x->cron);
    put_line(out, "zone", x->zone);
    put_line(out, "policy", x->catch_up);
    put_line(out, "next", buf_str(&next));
    if (*x->node)
        put_line(out, "files at", x->node);
    if (team_schedule_late(x))
        put_line(out, "late", "its server, which has its files, is away");
    put_line(out, "params", x->params);
    put_line(out, "job", x->spec);
    buf_release(&next);
    if (runs->n)
        buf_puts(out, "runs\n");
    for (size_t i = 0; i < runs->n; i++)
        put_run(x, &runs->at[i], out);
}

static enum rc schedule_get_command(const void *conf, const struct opt_args *args,
                                    struct err *err)
{
    const struct show_conf *c = conf;
    struct cmd_place p;
    struct store_schedules l = {0};
    struct store_run_rows runs = {0};
    struct buf out;
    enum rc rc = job_open(&c->where, &p, err);
    if (rc)
        return rc;
    buf_init(&out, CMD_TEXT_MAX);
    rc = p.ops->team->schedule_get(&p, args->at[0], &l, &runs, (size_t)c->runs, err);
    if (!rc && c->json) {
        team_schedule_json(&l.at[0], &runs, &out);
        buf_putc(&out, '\n');
    } else if (!rc) {
        put_text(&l.at[0], &runs, &out);
    }
    if (!rc)
        rc = cmd_print(&out, err);
    buf_release(&out);
    store_run_rows_release(&runs);
    store_schedules_release(&l);
    cmd_place_close(&p);
    return rc;
}

static const struct cmd_example list_examples[] = {
    {"all of them", "trainyard schedule list"},
    {0},
};

const struct cmd cmd_schedule_list = {
    .name = "schedule list",
    .summary = "list schedules and their next runs",
    .examples = list_examples,
    .opts = list_opts,
    .conf_size = sizeof(struct show_conf),
    .run = schedule_list_command,
};

static const struct cmd_example get_examples[] = {
    {"show a schedule and its latest runs", "trainyard schedule get nightly"},
    {0},
};

const struct cmd cmd_schedule_get = {
    .name = "schedule get",
    .args = "NAME",
    .summary = "show one schedule and its history",
    .description =
        "Outcomes of runs: submitted (with the job), skipped (the previous job was "
        "still running), waiting (for it to end), missed (nothing ran at that time and "
        "the policy skips it), failed (with the reason).",
    .examples = get_examples,
    .opts = get_opts,
    .conf_size = sizeof(struct show_conf),
    .min_args = 1,
    .max_args = 1,
    .run = schedule_get_command,
};
