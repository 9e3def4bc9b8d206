/* SPDX-License-Identifier: Apache-2.0 */
/* What jobs use now: the samples that supervisors take of their workers every few seconds,
 * of several workers their sum. Processor use is the growth of processor time between
 * two looks; at the first look, its average since the start.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/mem.h"
#include "cmd/cmd.h"
#include "cmd/job_common.h"
#include "job/quote.h"
#include "job/status.h"

struct top_conf {
    struct job_where where;
    double every;
    bool once, json;
    const char *owner;
};

static const struct opt opts[] = {
    {OPT_DURATION(struct top_conf, every, "2s", 0.5, 3600, "refresh interval")},
    {OPT_BOOL(struct top_conf, once, "false",
              "print the list once; the default if stdout is not a terminal")},
    {OPT_BOOL(struct top_conf, json, "false", "print a JSON list, once")},
    {OPT_TEXT(struct top_conf, owner, NULL, "only jobs of this user"), .meta = "USER"},
    JOB_WHERE_OPTS(struct top_conf),
    JOB_SERVER_OPT(struct top_conf),
    {0},
};

struct use {
    double cpu_s, rss, gpu; /* gpu: percent, the highest */
    bool has_gpu;
};

/* Of the look before. */
struct last {
    double cpu_s;
    int64_t at;
};

struct top {
    const struct cmd_place *p;
    const struct top_conf *c;
    struct map last; /* id: struct last */
};

static enum rc read_use(const struct cmd_place *p, const struct store_job *j,
                        struct use *out, struct err *err)
{
    struct store_points l = {0};
    enum rc rc = p->ops->last_points(p, j->id, &l, err);
    *out = (struct use){.cpu_s = 0};
    for (size_t i = 0; i < l.n && !rc; i++) {
        const char *name = l.at[i].name;
        double v = l.at[i].value;
        if (strcmp(name, "sys/job_cpu_s") == 0 ||
            (strcmp(name, "sys/cpu_s") == 0 && j->workers == 1))
            out->cpu_s = v;
        else if (strcmp(name, "sys/job_rss_bytes") == 0 ||
                 (strcmp(name, "sys/rss_bytes") == 0 && j->workers == 1))
            out->rss = v;
        else if (str_starts(name, "sys/gpu") && str_ends(name, "_percent")) {
            out->gpu = v > out->gpu ? v : out->gpu;
            out->has_gpu = true;
        }
    }
    store_points_release(&l);
    return rc;
}

/* Percent of one processor. */
static double cpu_percent(struct top *t, const struct store_job *j, const struct use *u)
{
    struct map_entry *e = map_put(&t->last, str_c(j->id));
    struct last *last = e->value;
    int64_t now = clock_wall_ns(), from = j->started;
    double before = 0;
    if (last && u->cpu_s > last->cpu_s) {
        before = last->cpu_s;
        from = last->at;
    }
    if (!last)
        e->value = last = mem_calloc(1, sizeof(*last));
    if (u->cpu_s > last->cpu_s)
        *last = (struct last){.cpu_s = u->cpu_s, .at = now};
    double seconds = (double)(now - from) / 1e9;
    return from && seconds > 0 ? 100 * (u->cpu_s - before) / seconds : 0;
}

static double progress_of(const struct store_job *j)
{
    struct doc doc = {0};
    double v = node_get_num(job_json_open(j->status, &doc), "percent", -1);
    if (doc.src)
        doc_release(&doc);
    return v;
}

static void put_text_row(struct top *t, const struct store_job *j, const struct use *u,
                         struct buf *out)
{
    char ran[32], done[16] = "-", gpu[16] = "-";
    double percent = progress_of(j);
    job_span(j->started, 0, ran);
    if (percent >= 0)
        snprintf(done, sizeof(done), "%.0f%%", percent);
    if (u->has_gpu)
        snprintf(gpu, sizeof(gpu), "%.0f%%", u->gpu);
    struct buf name, owner;
    buf_init(&name, 4096);
    buf_init(&owner, 4096);
    job_quote_terminal(str_c(j->name), &name);
    job_quote_terminal(str_c(j->owner), &owner);
    buf_printf(out,
               "%-15s  %-20.20s  %-12.12s  %-12s  %7jd  %6.0f%%  %9.1f  %5s  %5s  %8s\n",
               j->id, buf_str(&name), buf_str(&owner), j->state, (intmax_t)j->workers,
               cpu_percent(t, j, u), u->rss / (1 << 20), gpu, done, ran);
    buf_release(&owner);
    buf_release(&name);
}

static void put_json_row(struct top *t, const struct store_job *j, const struct use *u,
                         struct buf *out)
{
    struct json_out o = {.out = out};
    json_open(&o, NULL, '{');
    json_put_str(&o, "id", j->id);
    json_put_str(&o, "name", j->name);
    json_put_str(&o, "owner", j->owner);
    json_put_str(&o, "state", j->state);
    json_put_int(&o, "workers", j->workers);
    json_put_num(&o, "cpu_percent", cpu_percent(t, j, u));
    json_put_int(&o, "rss_bytes", (int64_t)u->rss);
    if (u->has_gpu)
        json_put_num(&o, "gpu_percent", u->gpu);
    if (progress_of(j) >= 0)
        json_put_num(&o, "progress", progress_of(j));
    json_close(&o, '}');
}

static enum rc one_look(struct top *t, struct buf *out, struct err *err)
{
    struct store_jobs jobs = {0};
    struct store_filter f = {.states =
                                 "EnvPreparing,Running,Restarting,Suspended,Stopping",
                             .owner = t->c->owner,
                             .limit = 1000};
    enum rc rc = t->p->ops->list(t->p, &f, &jobs, err);
    if (rc)
        return rc;
    if (t->c->json)
        buf_putc(out, '[');
    else
        buf_printf(out, "%-15s  %-20s  %-12s  %-12s  %7s  %7s  %9s  %5s  %5s  %8s\n",
                   "id", "name", "owner", "state", "workers", "cpu", "MiB", "gpu", "done",
                   "ran");
    for (size_t i = 0; i < jobs.n && !rc; i++) {
        struct use use;
        struct store_jobs whole = {0};
        rc = t->p->ops->get(t->p, jobs.at[i].id, &whole, err);
        if (!rc)
            rc = read_use(t->p, &jobs.at[i], &use, err);
        if (!rc && t->c->json)
            buf_puts(out, i ? ",\n" : "");
        if (!rc && t->c->json)
            put_json_row(t, &whole.at[0], &use, out);
        else if (!rc)
            put_text_row(t, &whole.at[0], &use, out);
        store_jobs_release(&whole);
    }
    buf_puts(out, t->c->json ? "]\n" : "");
    store_jobs_release(&jobs);
    return rc;
}

static enum rc job_top_command(const void *conf, const struct opt_args *args,
                               struct err *err)
{
    const struct top_conf *c = conf;
    struct cmd_place p;
    enum rc rc = job_open(&c->where, &p, err);
    if (rc)
        return rc;
    struct top t = {.p = &p, .c = c};
    bool live = isatty(1) && !c->once && !c->json;
    job_revive(&p);
    do {
        struct buf out;
        buf_init(&out, CMD_TEXT_MAX);
        buf_puts(&out, live ? "\x1b[H\x1b[2J" : "");
        rc = one_look(&t, &out, err);
        if (!rc)
            rc = cmd_print(&out, err);
        buf_release(&out);
        if (live && !rc)
            nanosleep(
                &(struct timespec){
                    .tv_sec = (time_t)c->every,
                    .tv_nsec = (long)((c->every - (double)(time_t)c->every) * 1e9)},
                NULL);
    } while (live && !rc);
    for (size_t i = 0; i < t.last.n; i++)
        mem_free(t.last.at[i].value);
    map_release(&t.last);
    cmd_place_close(&p);
    return rc;
}

static const struct cmd_example examples[] = {
    {"watch", "trainyard job top"}, {"for a program", "trainyard job top --json"}, {0}};

const struct cmd cmd_job_top = {
    .name = "job top",
    .summary = "show what running jobs use: processors, memory, GPUs",
    .description =
        "Lists running jobs with the processors and memory of their workers, the "
        "busiest GPU and the progress that they report. On a terminal the list is "
        "refreshed until Ctrl-C. 100% is one processor.",
    .examples = examples,
    .opts = opts,
    .conf_size = sizeof(struct top_conf),
    .run = job_top_command,
};
