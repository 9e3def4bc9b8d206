/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs as a table, as JSON or counted by state; filters go to the store, not over rows that
 * were read.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cmd/cmd.h"
#include "cmd/job_common.h"
#include "job/quote.h"
#include "job/state.h"

struct list_conf {
    struct job_where where;
    const char *state, *owner, *project, *queue, *name, *label, *backend, *format,
        *before;
    double since;
    int64_t limit;
    bool json, live, count;
};

static const struct opt opts[] = {
    {OPT_TEXT(struct list_conf, state, NULL, "only these states, comma-separated"),
     .meta = "S,S"},
    {OPT_BOOL(struct list_conf, live, "false", "only jobs that have not ended")},
    {OPT_TEXT(struct list_conf, name, NULL, "only jobs whose name contains TEXT"),
     .meta = "TEXT"},
    {OPT_TEXT(struct list_conf, owner, NULL, "only jobs of this user"), .meta = "USER"},
    {OPT_TEXT(struct list_conf, project, NULL, "only jobs of this project"), .meta = "P"},
    {OPT_TEXT(struct list_conf, queue, NULL, "only jobs of this queue"), .meta = "Q"},
    {OPT_TEXT(struct list_conf, backend, NULL, "only jobs of this backend"), .meta = "B"},
    {OPT_TEXT(struct list_conf, label, NULL, "only jobs with this label"),
     .meta = "NAME[=VALUE]"},
    {OPT_DURATION(struct list_conf, since, "0", 0, 1e9, "only jobs younger than this")},
    {OPT_INT(struct list_conf, limit, "50", 1, STORE_ROWS_MAX,
             "at most N jobs, newest first")},
    {OPT_TEXT(struct list_conf, before, NULL,
              "only jobs older than this one, for the next page"),
     .meta = "ID"},
    {OPT_BOOL(struct list_conf, count, "false", "count the jobs in each state")},
    {OPT_BOOL(struct list_conf, json, "false", "print a JSON list")},
    {OPT_CHOICE(struct list_conf, format, "own", "own|dlc", "words of the answer"),
     .hidden = true},
    JOB_WHERE_OPTS(struct list_conf),
    JOB_SERVER_OPT(struct list_conf),
    {0},
};

static void put_cell(struct buf *out, const char *text, int width)
{
    struct buf b;
    buf_init(&b, 4096);
    job_quote_terminal(str_c(text), &b);
    buf_printf(out, "%-*.*s  ", width, width > 24 ? width : 40, buf_str(&b));
    buf_release(&b);
}

/* At a server with whose they are. */
static void put_table(const struct store_jobs *l, bool people, struct buf *out)
{
    char age[32], took[32];
    buf_printf(out, "%-15s  %-24s  ", "id", "name");
    if (people)
        buf_printf(out, "%-12s  %-12s  ", "owner", "project");
    buf_printf(out, "%-12s  %-16s  %3s  %7s  %8s  %8s\n", "state", "reason", "pri",
               "workers", "age", "ran");
    for (size_t i = 0; i < l->n; i++) {
        const struct store_job *j = &l->at[i];
        job_span(j->created, 0, age);
        job_span(j->started, j->finished, took);
        put_cell(out, j->id, 15);
        put_cell(out, j->name, 24);
        if (people) {
            put_cell(out, j->owner, 12);
            put_cell(out, *j->project ? j->project : "-", 12);
        }
        buf_printf(out, "%-12s  %-16s  %3jd  %7jd  %8s  %8s\n", j->state, j->reason,
                   (intmax_t)j->priority, (intmax_t)j->workers, age, took);
    }
}

static enum rc put_json(const struct list_conf *c, const struct cmd_place *p,
                        const struct store_jobs *l, struct buf *out, struct err *err)
{
    bool dlc = strcmp(c->format, "dlc") == 0;
    enum rc rc = RC_OK;
    buf_puts(out, dlc ? "{\"Jobs\": [" : "[");
    for (size_t i = 0; i < l->n && !rc; i++) {
        buf_puts(out, i ? ",\n" : "");
        rc = dlc ? job_dlc_json(p, &l->at[i], out, err)
                 : job_json(p, &l->at[i], false, false, out, err);
    }
    if (dlc)
        buf_printf(out, "], \"TotalCount\": %zu}\n", l->n);
    else
        buf_puts(out, "]\n");
    return rc;
}

static enum rc check_states(const char *states, struct err *err)
{
    struct str rest = str_c(states ? states : ""), part;
    enum job_state s;
    while (rest.n && str_split(&rest, ',', &part)) {
        char *name = mem_strndup(part.p, part.n);
        bool known = job_state_find(name, &s);
        enum rc rc = known ? RC_OK
                           : err_coded(err, RC_INVAL, E0603,
                                       "--state: no state '%.60s'; %s,"
                                       "Succeeded,Failed,Stopped",
                                       name, job_live_states());
        mem_free(name);
        if (rc)
            return rc;
    }
    return RC_OK;
}

static enum rc put_counts(const struct list_conf *c, const struct cmd_place *p,
                          struct buf *out, struct err *err)
{
    struct store_count counts[JOB_STATES];
    size_t n = 0;
    enum rc rc = p->ops->counts(p, counts, ARRAY_LEN(counts), &n, err);
    buf_puts(out, c->json ? "{" : "");
    for (size_t i = 0; i < n && !rc; i++)
        buf_printf(out, c->json ? "%s\"%s\": %jd" : "%s%-12s  %jd\n",
                   c->json && i ? ", " : "", counts[i].state, (intmax_t)counts[i].n);
    buf_puts(out, c->json ? "}\n" : "");
    return rc;
}

static enum rc list_jobs(const struct list_conf *c, const struct cmd_place *p,
                         struct buf *out, struct err *err)
{
    struct store_jobs jobs = {0};
    char *key =
        mem_strndup(c->label ? c->label : "", strcspn(c->label ? c->label : "", "="));
    const char *eq = c->label ? strchr(c->label, '=') : NULL;
    struct store_filter f = {.states = c->live ? job_live_states() : c->state,
                             .owner = c->owner,
                             .project = c->project,
                             .queue = c->queue,
                             .backend = c->backend,
                             .name = c->name,
                             .label_key = key,
                             .label_value = eq ? eq + 1 : NULL,
                             .limit = (size_t)c->limit};
    enum rc rc = check_states(c->state, err);
    if (c->since > 0)
        f.since = clock_wall_ns() - (int64_t)(c->since * 1e9);
    if (!rc && c->before) {
        rc = p->ops->get(p, c->before, &jobs, err);
        f.before = rc ? 0 : jobs.at[0].num;
        store_jobs_release(&jobs);
    }
    if (!rc)
        rc = p->ops->list(p, &f, &jobs, err);
    if (!rc && (c->json || strcmp(c->format, "dlc") == 0))
        rc = put_json(c, p, &jobs, out, err);
    else if (!rc)
        put_table(&jobs, !p->dir, out);
    store_jobs_release(&jobs);
    mem_free(key);
    return rc;
}

static enum rc run_job_list(const void *conf, const struct opt_args *args,
                            struct err *err)
{
    const struct list_conf *c = conf;
    struct cmd_place p;
    struct buf out;
    enum rc rc = job_open(&c->where, &p, err);
    if (rc)
        return rc;
    buf_init(&out, CMD_TEXT_MAX);
    job_revive(&p);
    rc = c->count ? put_counts(c, &p, &out, err) : list_jobs(c, &p, &out, err);
    if (!rc)
        rc = cmd_print(&out, err);
    buf_release(&out);
    cmd_place_close(&p);
    return rc;
}

static const struct cmd_example examples[] = {
    {"jobs that wait or run", "trainyard job list --live"},
    {"jobs that failed in the last day", "trainyard job list --state Failed --since 1d"},
    {"jobs of a project at a server", "trainyard job list --project ads"},
    {"for a program", "trainyard job list --json --label team=ads"},
    {0},
};

const struct cmd cmd_job_list = {
    .name = "job list",
    .summary = "list jobs, newest first",
    .examples = examples,
    .opts = opts,
    .conf_size = sizeof(struct list_conf),
    .run = run_job_list,
};
