/* SPDX-License-Identifier: Apache-2.0 */
/* `job outputs` lists what a job has written so far, `job download` fetches it. Both speak to
 * p->ops, so they are the same for this machine and for a server.
 */
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "cmd/cmd.h"
#include "cmd/download.h"
#include "cmd/job_common.h"
#include "job/name.h"
#include "job/tree.h"

struct outputs_conf {
    struct job_where where;
    const char *channel, *path;
    bool json;
};

#define WHICH_OPTS                                                                       \
    {OPT_TEXT(struct outputs_conf, channel, NULL, "only this channel"), .meta = "NAME"}, \
    {                                                                                    \
        OPT_TEXT(struct outputs_conf, path, NULL,                                        \
                 "only files whose path matches: * and ? as in a shell, * also for /"),  \
            .meta = "PATTERN"                                                            \
    }

static const struct opt outputs_opts[] = {
    WHICH_OPTS,
    {OPT_BOOL(struct outputs_conf, json, "false", "print a JSON list")},
    JOB_WHERE_OPTS(struct outputs_conf),
    JOB_SERVER_OPT(struct outputs_conf),
    {0},
};

static const struct opt download_opts[] = {
    WHICH_OPTS,
    JOB_WHERE_OPTS(struct outputs_conf),
    JOB_SERVER_OPT(struct outputs_conf),
    {0},
};

static bool is_wanted(const struct outputs_conf *c, const struct job_output *o)
{
    return (!c->channel || strcmp(c->channel, o->channel) == 0) &&
           (!c->path || fnmatch(c->path, o->path, 0) == 0);
}

static void put_row(struct buf *b, const struct job_id *of, const struct job_output *o)
{
    buf_printf(b, "%14jd  %-12.12s  ", (intmax_t)o->bytes, *o->sha256 ? o->sha256 : "-");
    if (of->index >= 0)
        buf_printf(b, "%jd/", (intmax_t)of->index);
    buf_printf(b, "%s/", o->channel);
    job_name_show(o->path, b);
    if (*o->where)
        buf_printf(b, "  (at %s)", o->where);
    buf_putc(b, '\n');
}

static void put_json(struct json_out *j, const struct job_id *of,
                     const struct job_output *o)
{
    json_open(j, NULL, '{');
    if (of->index >= 0) {
        json_put_str(j, "job", of->text);
        json_put_int(j, "index", of->index);
    }
    json_put_str(j, "channel", o->channel);
    buf_puts(j->out, ",");
    job_name_json(o->path, j->out);
    json_put_int(j, "bytes", o->bytes);
    if (*o->sha256)
        json_put_str(j, "sha256", o->sha256);
    if (*o->where)
        json_put_str(j, "where", o->where);
    json_close(j, '}');
}

static void show(const struct outputs_conf *c, const struct job_id *of,
                 const struct job_outputs *l, struct json_out *j)
{
    for (size_t i = 0; i < l->list.n; i++) {
        if (!is_wanted(c, &l->list.at[i]))
            continue;
        if (c->json)
            put_json(j, of, &l->list.at[i]);
        else
            put_row(j->out, of, &l->list.at[i]);
    }
}

static enum rc list_outputs(const struct outputs_conf *c, const struct cmd_place *p,
                            const char *text, struct buf *b, struct err *err)
{
    struct job_ids ids = {.list = {0}};
    struct json_out j = {.out = b};
    enum rc rc = job_pick_all(p, &text, 1, &ids, err);
    if (c->json)
        json_open(&j, NULL, '[');
    else
        buf_printf(b, "%14s  %-12s  %s\n", "BYTES", "SHA256", "FILE");
    for (size_t i = 0; i < ids.list.n && !rc; i++) {
        struct job_outputs l = {.list = {0}};
        rc = p->ops->outputs(p, ids.list.at[i].text, &l, err);
        if (!rc)
            show(c, &ids.list.at[i], &l, &j);
        job_outputs_release(&l);
    }
    if (c->json) {
        json_close(&j, ']');
        buf_putc(b, '\n');
    }
    job_ids_release(&ids);
    return rc;
}

static enum rc job_outputs_command(const void *conf, const struct opt_args *args,
                                   struct err *err)
{
    const struct outputs_conf *c = conf;
    struct cmd_place p;
    struct buf b;
    enum rc rc = job_open(&c->where, &p, err);
    if (rc)
        return rc;
    buf_init(&b, CMD_TEXT_MAX);
    rc = list_outputs(c, &p, args->at[0], &b, err);
    if (!rc)
        rc = cmd_print(&b, err);
    buf_release(&b);
    cmd_place_close(&p);
    return rc;
}

struct fetching {
    const struct cmd_place *p;
    const char *id;
    const struct job_output *o;
};

static enum rc fetch_part(void *arg, int64_t at, char version[80], struct buf *out,
                          struct err *err)
{
    const struct fetching *f = arg;
    return f->p->ops->output(f->p, f->id, f->o, at, version, out, err);
}

static void say_file(FILE *to, const char *dir, const struct job_output *o,
                     const char *what, const char *where)
{
    struct buf b;
    buf_init(&b, 1 << 16);
    buf_printf(&b, "%s/", *dir ? dir : o->channel);
    job_name_show(o->path, &b);
    fprintf(to, "%s%s%s\n", buf_str(&b), what, where);
    buf_release(&b);
}

static enum rc fetch_one(const struct cmd_place *p, const char *id, const char *dir,
                         const struct job_output *o, struct err *err)
{
    struct fetching f = {.p = p, .id = id, .o = o};
    bool kept = false;
    if (*o->where) {
        say_file(stderr, "", o, " lies at ", o->where);
        return RC_OK;
    }
    if (!job_tree_path_ok(o->channel) || strchr(o->channel, '/'))
        return err_coded(err, RC_INVAL, E5503, "'%.100s' is not the name of a channel",
                         o->channel);
    char *below = fs_join(dir, o->channel);
    struct download d = {.dir = below,
                         .path = o->path,
                         .bytes = o->bytes,
                         .sha256 = o->sha256,
                         .part = fetch_part,
                         .arg = &f};
    enum rc rc = download_file(&d, &kept, err);
    if (!rc)
        say_file(stdout, below, o, kept ? " (there already)" : "", "");
    mem_free(below);
    return rc;
}

/* The files of one job below `dir`; *any: there were some. */
static enum rc fetch_job(const struct outputs_conf *c, const struct cmd_place *p,
                         const char *id, const char *dir, size_t *n, struct err *err)
{
    struct job_outputs l = {.list = {0}};
    enum rc rc = p->ops->outputs(p, id, &l, err);
    for (size_t i = 0; i < l.list.n && !rc; i++)
        if (is_wanted(c, &l.list.at[i])) {
            (*n)++;
            rc = fetch_one(p, id, dir, &l.list.at[i], err);
        }
    job_outputs_release(&l);
    return rc;
}

static enum rc fetch_all(const struct outputs_conf *c, const struct cmd_place *p,
                         const struct opt_args *args, struct err *err)
{
    struct job_ids ids = {.list = {0}};
    const char *text = args->at[0];
    size_t n = 0;
    enum rc rc = job_pick_all(p, &text, 1, &ids, err);
    for (size_t i = 0; i < ids.list.n && !rc; i++) {
        const struct job_id *one = &ids.list.at[i];
        const char *dir = args->n > 1 ? args->at[1] : one->index < 0 ? one->text : text;
        char *below = one->index < 0 ? mem_strdup(dir)
                                     : mem_printf("%s/%jd", dir, (intmax_t)one->index);
        rc = fetch_job(c, p, one->text, below, &n, err);
        mem_free(below);
    }
    if (!rc && !n)
        rc = err_coded(err, RC_NOTFOUND, E5502, "%s %s has no such outputs",
                       ids.list.n > 1 ? "array" : "job", text);
    job_ids_release(&ids);
    return rc;
}

static enum rc job_download_command(const void *conf, const struct opt_args *args,
                                    struct err *err)
{
    const struct outputs_conf *c = conf;
    struct cmd_place p;
    enum rc rc = job_open(&c->where, &p, err);
    if (rc)
        return rc;
    rc = fetch_all(c, &p, args, err);
    cmd_place_close(&p);
    return rc;
}

static const struct cmd_example outputs_examples[] = {
    {"what a job has written so far", "trainyard job outputs jb-0123456789ab"},
    {0},
};

const struct cmd cmd_job_outputs = {
    .name = "job outputs",
    .args = "JOB",
    .summary = "list the files in a job's output channels",
    .description =
        "Prints size, SHA-256 and path of each file below /ml/output, also while the "
        "job runs; digests are available once it has succeeded. Links are not listed. "
        "Control characters and bytes that are not UTF-8 are shown as \\n"
        " and \\xff; --json also gives such names in hexadecimal (path_hex). For an "
        "array, the files of all jobs are listed, each prefixed with its index.",
    .examples = outputs_examples,
    .opts = outputs_opts,
    .conf_size = sizeof(struct outputs_conf),
    .min_args = 1,
    .max_args = 1,
    .run = job_outputs_command,
};

static const struct cmd_example download_examples[] = {
    {"fetch the model", "trainyard job download jb-0123456789ab model --channel model"},
    {"fetch the latest checkpoint of a running job",
     "trainyard job download jb-0123456789ab --channel checkpoints --path 'step-900/*'"},
    {0},
};

const struct cmd cmd_job_download = {
    .name = "job download",
    .args = "JOB [DIR]",
    .summary = "fetch the files in a job's output channels",
    .description =
        "Writes DIR/CHANNEL/FILE; DIR defaults to the name of the job. Each file is "
        "verified against its SHA-256 before it appears. Run the command again to "
        "resume an interrupted download; files that are already there are not fetched "
        "again. For an array it fetches the files of all jobs, to "
        "DIR/INDEX/CHANNEL/FILE.",
    .examples = download_examples,
    .opts = download_opts,
    .conf_size = sizeof(struct outputs_conf),
    .min_args = 1,
    .max_args = 2,
    .run = job_download_command,
};
