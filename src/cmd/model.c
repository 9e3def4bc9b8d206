/* SPDX-License-Identifier: Apache-2.0 */
/* `model register|list|show|download|delete`: names for outputs of jobs. `show` draws where a
 * version came from: its job, the code, parameters and inputs; an input that is a version of a
 * model is followed to its own origin. All speak to the model table of p->ops.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cmd/cmd.h"
#include "cmd/download.h"
#include "cmd/job_common.h"
#include "job/quote.h"
#include "job/space.h"
#include "job/status.h"
#include "text/job/job.h"
#include "text/json.h"

#define DEPTH_MAX 8 /* of models that were made from models */

struct model_conf {
    struct job_where where;
    const char *job, *channel, *note;
    bool json;
};

static const struct opt register_opts[] = {
    {OPT_TEXT(struct model_conf, job, NULL, "job whose outputs to register"),
     .meta = "JOB"},
    {OPT_TEXT(struct model_conf, channel, "model", "output channel"), .meta = "NAME"},
    {OPT_TEXT(struct model_conf, note, NULL, "for people"), .meta = "TEXT"},
    JOB_WHERE_OPTS(struct model_conf),
    JOB_SERVER_OPT(struct model_conf),
    {0},
};

static const struct opt show_opts[] = {
    {OPT_BOOL(struct model_conf, json, "false", "print JSON")},
    JOB_WHERE_OPTS(struct model_conf),
    JOB_SERVER_OPT(struct model_conf),
    {0},
};

static const struct opt plain_opts[] = {
    JOB_WHERE_OPTS(struct model_conf),
    JOB_SERVER_OPT(struct model_conf),
    {0},
};

static enum rc read_name(const char *text, struct arena *a, const char **name,
                         int64_t *version, struct err *err)
{
    if (job_model_parse(text, a, name, version) && !jobspec_check_name(str_c(*name)))
        return RC_OK;
    return err_coded(err, RC_INVAL, E0603,
                     "'%.100s' is not a model: NAME or NAME:VERSION, names have letters, "
                     "digits, '_', '.' and '-'",
                     text);
}

static enum rc model_register_command(const void *conf, const struct opt_args *args,
                                      struct err *err)
{
    const struct model_conf *c = conf;
    struct cmd_place p;
    struct arena a = {0};
    int64_t version = 0;
    struct job_model_new n = {.channel = c->channel, .note = c->note};
    enum rc rc = read_name(args->at[0], &a, &n.name, &version, err);
    if (!rc && !c->job)
        rc = err_coded(err, RC_INVAL, E0603, "--job: say whose outputs get the name");
    if (!rc && version > 0)
        rc = err_coded(err, RC_INVAL, E0603, "'%.100s': the version is given by itself",
                       args->at[0]);
    if (!rc)
        rc = job_open(&c->where, &p, err);
    if (!rc) {
        rc = p.ops->models->create(&p, c->job, &n, &version, err);
        if (!rc)
            printf("%s:%jd\n", n.name, (intmax_t)version);
        cmd_place_close(&p);
    }
    arena_release(&a);
    return rc;
}

static void put_json(struct json_out *j, const struct store_model *m)
{
    json_open(j, NULL, '{');
    json_put_str(j, "name", m->name);
    json_put_int(j, "version", m->version);
    json_put_str(j, "owner", m->owner);
    json_put_str(j, "project", m->project);
    json_put_str(j, "job", m->job);
    json_put_str(j, "channel", m->channel);
    json_put_int(j, "files", m->files);
    json_put_int(j, "bytes", m->bytes);
    json_put_str(j, "note", m->note);
    json_put_time(j, "created", m->created);
    if (*m->lineage)
        json_put_raw(j, "lineage", m->lineage);
    json_close(j, '}');
}

static void put_row(struct buf *b, const struct store_model *m)
{
    char when[CLOCK_TEXT_SIZE], size[24];
    clock_rfc3339(m->created, when);
    job_space_words(m->bytes, size);
    buf_printf(b, "%-24s %7jd %-15s %-12s %10s  %.16s  ", m->name, (intmax_t)m->version,
               m->job, m->owner, size, when);
    job_quote_terminal(str_c(m->note), b);
    buf_putc(b, '\n');
}

static enum rc model_list_command(const void *conf, const struct opt_args *args,
                                  struct err *err)
{
    const struct model_conf *c = conf;
    struct cmd_place p;
    struct store_models l = {0};
    struct arena a = {0};
    struct buf b;
    const char *name = NULL;
    int64_t version = 0;
    enum rc rc = args->n ? read_name(args->at[0], &a, &name, &version, err) : RC_OK;
    if (!rc)
        rc = job_open(&c->where, &p, err);
    if (rc) {
        arena_release(&a);
        return rc;
    }
    buf_init(&b, CMD_TEXT_MAX);
    struct json_out j = {.out = &b};
    rc = p.ops->models->get(&p, name, 0, &l, err);
    if (c->json)
        json_open(&j, NULL, '[');
    else
        buf_printf(&b, "%-24s %7s %-15s %-12s %10s  %-16s  NOTE\n", "NAME", "VERSION",
                   "JOB", "OWNER", "SIZE", "CREATED");
    for (size_t i = 0; i < l.n && !rc; i++) {
        if (c->json)
            put_json(&j, &l.at[i]);
        else
            put_row(&b, &l.at[i]);
    }
    if (c->json) {
        json_close(&j, ']');
        buf_putc(&b, '\n');
    }
    if (!rc)
        rc = cmd_print(&b, err);
    buf_release(&b);
    store_models_release(&l);
    cmd_place_close(&p);
    arena_release(&a);
    return rc;
}

static void put_line(struct buf *b, int depth, const char *what, const char *text)
{
    buf_printf(b, "%*s%-12s ", depth * 2, "", what);
    job_quote_terminal(str_c(text), b);
    buf_putc(b, '\n');
}

static void put_value(struct buf *b, int depth, const struct node *lineage,
                      const char *field, const char *what)
{
    const struct node *n = node_find(lineage, field);
    struct buf text;
    if (!n || (n->kind == NODE_MAP && !n->map.n))
        return;
    buf_init(&text, 1 << 20);
    if (n->kind == NODE_STR)
        buf_puts(&text, n->text.p);
    else
        json_print(n, 0, &text);
    put_line(b, depth, what, buf_str(&text));
    buf_release(&text);
}

static void put_origin(const struct cmd_place *p, const struct store_model *m, int depth,
                       struct buf *b);

static void put_input(const struct cmd_place *p, const struct node *in, int depth,
                      struct buf *b)
{
    const char *model = node_get_text(in, "model", NULL), *name = NULL;
    char *text = mem_printf("%s from %s%s%s", node_get_text(in, "name", ""),
                            node_get_text(in, "from", ""),
                            model ? ", which is model " : "", model ? model : "");
    struct arena a = {0};
    struct store_models l = {0};
    int64_t version = 0;
    put_line(b, depth, "input", text);
    if (model && depth < DEPTH_MAX && job_model_parse(model, &a, &name, &version) &&
        p->ops->models->get(p, name, version, &l, NULL) == RC_OK)
        put_origin(p, &l.at[0], depth + 1, b);
    store_models_release(&l);
    arena_release(&a);
    mem_free(text);
}

static void put_origin(const struct cmd_place *p, const struct store_model *m, int depth,
                       struct buf *b)
{
    struct doc doc = {0};
    const struct node *x = job_json_open(m->lineage, &doc), *in = node_find(x, "inputs");
    char *job =
        mem_printf("%s '%s' of %s, output '%s'", m->job, node_get_text(x, "job_name", ""),
                   node_get_text(x, "job_owner", ""), m->channel);
    put_line(b, depth, "job", job);
    put_value(b, depth, x, "finished", "finished");
    put_value(b, depth, x, "command", "command");
    put_value(b, depth, x, "image", "image");
    put_value(b, depth, x, "source", "code");
    put_value(b, depth, x, "hp", "parameters");
    put_value(b, depth, x, "metrics", "metrics");
    put_value(b, depth, x, "data", "data");
    for (size_t i = 0; in && in->kind == NODE_LIST && i < in->list.n; i++)
        put_input(p, in->list.at[i], depth, b);
    if (doc.src)
        doc_release(&doc);
    mem_free(job);
}

static enum rc show_model(const struct model_conf *c, const struct cmd_place *p,
                          const struct store_model *m, struct err *err)
{
    struct job_outputs files = {.list = {0}};
    struct buf b;
    char size[24];
    buf_init(&b, CMD_TEXT_MAX);
    struct json_out j = {.out = &b};
    enum rc rc = p->ops->models->files(p, m, &files, err);
    if (!rc && c->json) {
        put_json(&j, m);
        buf_putc(&b, '\n');
    } else if (!rc) {
        job_space_words(m->bytes, size);
        buf_printf(&b, "%s:%jd  %jd files, %s, by %s\n", m->name, (intmax_t)m->version,
                   (intmax_t)m->files, size, m->owner);
        if (*m->note)
            put_line(&b, 0, "note", m->note);
        put_origin(p, m, 0, &b);
        for (size_t i = 0; i < files.list.n; i++)
            put_line(&b, 0, "file", files.list.at[i].path);
    }
    if (!rc)
        rc = cmd_print(&b, err);
    buf_release(&b);
    job_outputs_release(&files);
    return rc;
}

/* What is done about one version. */
typedef enum rc version_fn(const struct model_conf *c, const struct cmd_place *p,
                           const struct store_model *m, const struct opt_args *args,
                           struct err *err);

static enum rc with_version(const void *conf, const struct opt_args *args,
                            version_fn *then, struct err *err)
{
    const struct model_conf *c = conf;
    struct cmd_place p;
    struct store_models l = {0};
    struct arena a = {0};
    const char *name = NULL;
    int64_t version = 0;
    enum rc rc = read_name(args->at[0], &a, &name, &version, err);
    if (!rc)
        rc = job_open(&c->where, &p, err);
    if (!rc) {
        rc = p.ops->models->get(&p, name, version, &l, err);
        if (!rc)
            rc = then(c, &p, &l.at[0], args, err);
        store_models_release(&l);
        cmd_place_close(&p);
    }
    arena_release(&a);
    return rc;
}

static enum rc show_version(const struct model_conf *c, const struct cmd_place *p,
                            const struct store_model *m, const struct opt_args *args,
                            struct err *err)
{
    return show_model(c, p, m, err);
}

static enum rc model_show_command(const void *conf, const struct opt_args *args,
                                  struct err *err)
{
    return with_version(conf, args, show_version, err);
}

static enum rc delete_version(const struct model_conf *c, const struct cmd_place *p,
                              const struct store_model *m, const struct opt_args *args,
                              struct err *err)
{
    if (!strchr(args->at[0], ':'))
        return err_coded(err, RC_INVAL, E0603, "say which version: %s:%jd is the latest",
                         m->name, (intmax_t)m->version);
    enum rc rc = p->ops->models->delete_version(p, m, err);
    if (!rc)
        printf("%s:%jd deleted\n", m->name, (intmax_t)m->version);
    return rc;
}

static enum rc model_delete_command(const void *conf, const struct opt_args *args,
                                    struct err *err)
{
    return with_version(conf, args, delete_version, err);
}

struct fetching {
    const struct cmd_place *p;
    const struct store_model *m;
    const char *path;
};

static enum rc fetch_part(void *arg, int64_t at, char version[80], struct buf *out,
                          struct err *err)
{
    const struct fetching *f = arg;
    return f->p->ops->models->file(f->p, f->m, f->path, at, version, out, err);
}

static enum rc download_version(const struct model_conf *c, const struct cmd_place *p,
                                const struct store_model *m, const struct opt_args *args,
                                struct err *err)
{
    struct job_outputs l = {.list = {0}};
    char *own = mem_printf("%s-%jd", m->name, (intmax_t)m->version);
    const char *dir = args->n > 1 ? args->at[1] : own;
    enum rc rc = p->ops->models->files(p, m, &l, err);
    for (size_t i = 0; i < l.list.n && !rc; i++) {
        const struct job_output *o = &l.list.at[i];
        struct fetching f = {.p = p, .m = m, .path = o->path};
        struct download d = {.dir = dir,
                             .path = o->path,
                             .bytes = o->bytes,
                             .sha256 = o->sha256,
                             .part = fetch_part,
                             .arg = &f};
        bool kept = false;
        rc = download_file(&d, &kept, err);
        if (!rc)
            printf("%s/%s%s\n", dir, o->path, kept ? " (there already)" : "");
    }
    job_outputs_release(&l);
    mem_free(own);
    return rc;
}

static enum rc model_download_command(const void *conf, const struct opt_args *args,
                                      struct err *err)
{
    return with_version(conf, args, download_version, err);
}

static const struct cmd_example register_examples[] = {
    {"the model of a job", "trainyard model register ctr --job jb-0123456789ab"}, {0}};

const struct cmd cmd_model_register = {
    .name = "model register",
    .args = "NAME",
    .summary = "give the outputs of a job a name and a version",
    .description =
        "Copies the files of an output channel of a job that has ended and prints "
        "NAME:VERSION. They stay when the job is deleted. The name belongs to whoever "
        "used it first and to the members of that job's project. A later job can take "
        "it as an input: --input base=model:NAME:VERSION.",
    .examples = register_examples,
    .opts = register_opts,
    .conf_size = sizeof(struct model_conf),
    .min_args = 1,
    .max_args = 1,
    .run = model_register_command,
};

static const struct cmd_example list_examples[] = {
    {"all", "trainyard model list"},
    {"versions of one", "trainyard model list ctr"},
    {0}};

const struct cmd cmd_model_list = {
    .name = "model list",
    .args = "[NAME]",
    .summary = "list models and their versions",
    .examples = list_examples,
    .opts = show_opts,
    .conf_size = sizeof(struct model_conf),
    .max_args = 1,
    .run = model_list_command,
};

static const struct cmd_example show_examples[] = {
    {"where the latest version came from", "trainyard model show ctr"},
    {"an earlier one", "trainyard model show ctr:3"},
    {0}};

const struct cmd cmd_model_show = {
    .name = "model show",
    .args = "NAME[:VERSION]",
    .summary = "show a version of a model, its files and where it came from",
    .description =
        "The job, its code, parameters, metrics and inputs; an input that is a version "
        "of "
        "a model is followed to its own origin.",
    .examples = show_examples,
    .opts = show_opts,
    .conf_size = sizeof(struct model_conf),
    .min_args = 1,
    .max_args = 1,
    .run = model_show_command,
};

static const struct cmd_example download_examples[] = {
    {"the latest version", "trainyard model download ctr"}, {0}};

const struct cmd cmd_model_download = {
    .name = "model download",
    .args = "NAME[:VERSION] [DIR]",
    .summary = "fetch the files of a version of a model",
    .description =
        "Into DIR, by default NAME-VERSION. Files are checked and resumed as by "
        "`trainyard "
        "job download`.",
    .examples = download_examples,
    .opts = plain_opts,
    .conf_size = sizeof(struct model_conf),
    .min_args = 1,
    .max_args = 2,
    .run = model_download_command,
};

static const struct cmd_example delete_examples[] = {
    {"one version", "trainyard model delete ctr:3"}, {0}};

const struct cmd cmd_model_delete = {
    .name = "model delete",
    .args = "NAME:VERSION",
    .summary = "delete a version of a model",
    .description =
        "Version numbers are never reused. The next `trainyard gc` removes the files, "
        "unless another version or a job uses them.",
    .examples = delete_examples,
    .opts = plain_opts,
    .conf_size = sizeof(struct model_conf),
    .min_args = 1,
    .max_args = 1,
    .run = model_delete_command,
};
