/* SPDX-License-Identifier: Apache-2.0 */
/* `df` shows who takes how much room, `gc` frees what nothing needs any more, and `job
 * delete` removes jobs.
 */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "cmd/cmd.h"
#include "cmd/job_common.h"

struct df_conf {
    struct job_where where;
    const char *by;
    double older_than;
    bool json, dry_run;
};

static const struct opt df_opts[] = {
    {OPT_CHOICE(struct df_conf, by, "user", "user|project",
                "one line per user or project")},
    {OPT_BOOL(struct df_conf, json, "false", "print one JSON object")},
    JOB_WHERE_OPTS(struct df_conf),
    JOB_SERVER_OPT(struct df_conf),
    {0},
};

static const struct opt gc_opts[] = {
    {OPT_BOOL(struct df_conf, dry_run, "false",
              "show what would be deleted, and delete nothing")},
    {OPT_DURATION(struct df_conf, older_than, "1d", 0, 3155760000,
                  "keep unreferenced files that were uploaded or used within this time")},
    {OPT_BOOL(struct df_conf, json, "false", "print one JSON object")},
    JOB_WHERE_OPTS(struct df_conf),
    JOB_SERVER_OPT(struct df_conf),
    {0},
};

static const struct opt delete_opts[] = {
    JOB_WHERE_OPTS(struct df_conf),
    JOB_SERVER_OPT(struct df_conf),
    {0},
};

static void show_table(const struct job_report *r, const char *by, struct buf *b)
{
    char x[24], y[24], z[24];
    job_space_words(r->disk.total, x);
    job_space_words(r->disk.free, y);
    job_space_words(r->disk.min_free, z);
    buf_printf(b, "disk %s, free %s, kept free %s%s\n", x, y, z,
               r->disk.free < r->disk.min_free ? ": no job starts" : "");
    job_space_words(r->here_bytes, x);
    buf_printf(b, "contents of jobs submitted on this machine: %s\n\n", x);
    buf_printf(b, "%-20s %8s %12s %8s %12s %12s %12s\n",
               strcmp(by, "user") ? "PROJECT" : "USER", "JOBS", "IN JOBS", "MODELS",
               "STORED", "EXPERIMENTS", "IN THEM");
    for (size_t i = 0; i < r->rows.n; i++) {
        const struct job_report_row *row = &r->rows.at[i];
        job_space_words(row->job_bytes, x);
        job_space_words(row->stored_bytes, y);
        job_space_words(row->experiment_bytes, z);
        buf_printf(b, "%-20s %8jd %12s %8jd %12s %12jd %12s\n",
                   *row->name ? row->name : "-", (intmax_t)row->jobs, x,
                   (intmax_t)row->models, y, (intmax_t)row->experiments, z);
    }
}

static void show_json(const struct job_report *r, struct buf *b)
{
    struct json_out j = {.out = b};
    json_open(&j, NULL, '{');
    json_put_int(&j, "total", r->disk.total);
    json_put_int(&j, "free", r->disk.free);
    json_put_int(&j, "min_free", r->disk.min_free);
    json_put_int(&j, "here_bytes", r->here_bytes);
    json_open(&j, "use", '[');
    for (size_t i = 0; i < r->rows.n; i++) {
        const struct job_report_row *row = &r->rows.at[i];
        json_open(&j, NULL, '{');
        json_put_str(&j, "name", row->name);
        json_put_int(&j, "jobs", row->jobs);
        json_put_int(&j, "job_bytes", row->job_bytes);
        json_put_int(&j, "models", row->models);
        json_put_int(&j, "stored_bytes", row->stored_bytes);
        json_put_int(&j, "experiments", row->experiments);
        json_put_int(&j, "experiment_bytes", row->experiment_bytes);
        json_close(&j, '}');
    }
    json_close(&j, ']');
    json_close(&j, '}');
    buf_putc(b, '\n');
}

static enum rc df_command(const void *conf, const struct opt_args *args, struct err *err)
{
    const struct df_conf *c = conf;
    struct cmd_place p;
    struct job_report r = {.here_bytes = 0};
    struct buf b;
    enum rc rc = job_open(&c->where, &p, err);
    if (rc)
        return rc;
    buf_init(&b, CMD_TEXT_MAX);
    rc = p.ops->storage->report(&p, strcmp(c->by, "project") == 0, &r, err);
    if (!rc && c->json)
        show_json(&r, &b);
    else if (!rc)
        show_table(&r, c->by, &b);
    if (!rc)
        rc = cmd_print(&b, err);
    buf_release(&b);
    job_report_release(&r);
    cmd_place_close(&p);
    return rc;
}

static void tell_removed(const struct df_conf *c, const struct job_removed *n,
                         struct buf *b)
{
    char x[24], y[24], z[24];
    job_space_words(n->job_bytes, x);
    job_space_words(n->object_bytes, y);
    job_space_words(n->experiment_bytes, z);
    if (c->json)
        buf_printf(b,
                   "{\"jobs\":%jd,\"job_bytes\":%jd,\"objects\":%jd,\"object_bytes\":%jd,"
                   "\"orphans\":%jd,\"experiments\":%jd,\"experiment_bytes\":%jd}\n",
                   (intmax_t)n->jobs, (intmax_t)n->job_bytes, (intmax_t)n->objects,
                   (intmax_t)n->object_bytes, (intmax_t)n->orphans,
                   (intmax_t)n->experiments, (intmax_t)n->experiment_bytes);
    else
        buf_printf(
            b,
            "%s%jd jobs (%s) and %jd experiments (%s) by policy, %jd contents (%s) "
            "that nothing refers to, %jd directories without a job\n",
            c->dry_run ? "would remove " : "removed ", (intmax_t)n->jobs, x,
            (intmax_t)n->experiments, z, (intmax_t)n->objects, y, (intmax_t)n->orphans);
}

static enum rc gc_command(const void *conf, const struct opt_args *args, struct err *err)
{
    const struct df_conf *c = conf;
    struct cmd_place p;
    struct job_removed n = {0};
    struct buf b;
    enum rc rc = job_open(&c->where, &p, err);
    if (rc)
        return rc;
    buf_init(&b, 4096);
    rc = p.ops->storage->collect(&p, (int64_t)c->older_than, c->dry_run, &n, err);
    if (!rc) {
        tell_removed(c, &n, &b);
        rc = cmd_print(&b, err);
    }
    buf_release(&b);
    cmd_place_close(&p);
    return rc;
}

static enum rc delete_one(const struct cmd_place *p, const char *id, struct err *err)
{
    enum rc rc = p->ops->storage->delete_job(p, id, err);
    if (!rc)
        printf("%s deleted\n", id);
    return rc;
}

/* With the jobs that were run again. */
static enum rc delete_array(const struct cmd_place *p, const char *id, struct err *err)
{
    struct store_filter f = {.label_key = "array", .label_value = id};
    struct store_jobs jobs = {0};
    enum rc rc = p->ops->list(p, &f, &jobs, err);
    if (!rc && !jobs.n)
        rc = err_coded(err, RC_NOTFOUND, E3103, "no array '%.64s'", id);
    for (size_t i = 0; i < jobs.n && !rc; i++)
        rc = delete_one(p, jobs.at[i].id, err);
    store_jobs_release(&jobs);
    return rc;
}

static enum rc job_delete_command(const void *conf, const struct opt_args *args,
                                  struct err *err)
{
    const struct df_conf *c = conf;
    struct cmd_place p;
    enum rc rc = job_open(&c->where, &p, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < args->n && !rc; i++)
        rc = str_starts(args->at[i], "ja-") ? delete_array(&p, args->at[i], err)
                                            : delete_one(&p, args->at[i], err);
    cmd_place_close(&p);
    return rc;
}

static const struct cmd_example df_examples[] = {
    {"who takes the room", "trainyard df"},
    {"by project", "trainyard df --by project"},
    {0}};

const struct cmd cmd_df = {
    .name = "df",
    .summary = "show disk usage by user or project",
    .description =
        "Shows the size of the disk, its free space and the reserve, and for each user "
        "or project the number and size of jobs, models, stored uploads and "
        "experiments. Without an admin token a server shows only your own line.",
    .examples = df_examples,
    .opts = df_opts,
    .conf_size = sizeof(struct df_conf),
    .run = df_command,
};

static const struct cmd_example gc_examples[] = {
    {"what would go", "trainyard gc --dry-run"}, {"free the room", "trainyard gc"}, {0}};

const struct cmd cmd_gc = {
    .name = "gc",
    .summary = "delete expired jobs and unreferenced files",
    .description =
        "Deletes jobs and experiments that the retention policies no longer keep, then "
        "uploads and copies of code that no job, schedule or model refers to and that "
        "nobody sent or used within a day. A server does this by itself. At a server, "
        "admins clean up for all users; others delete only what they uploaded and no "
        "longer use.",
    .examples = gc_examples,
    .opts = gc_opts,
    .conf_size = sizeof(struct df_conf),
    .run = gc_command,
};

static const struct cmd_example delete_examples[] = {
    {"delete two jobs", "trainyard job delete jb-0123456789ab jb-0123456789ac"}, {0}};

const struct cmd cmd_job_delete = {
    .name = "job delete",
    .args = "JOB...",
    .summary = "delete jobs that have ended: record, logs and outputs",
    .description =
        "The id of an array stands for all its jobs. Jobs that have not ended are "
        "refused: stop them first. What they used still counts in `trainyard usage`, "
        "and models registered from them stay. This cannot be undone.",
    .examples = delete_examples,
    .opts = delete_opts,
    .conf_size = sizeof(struct df_conf),
    .min_args = 1,
    .max_args = CMD_ANY,
    .run = job_delete_command,
};
