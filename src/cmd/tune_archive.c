/* SPDX-License-Identifier: Apache-2.0 */
/* tune save and tune load: an experiment as one file. The archive holds experiment.json and
 * log.jsonl, which are all that an experiment is; what trials wrote stays where it is. Loading
 * puts them into a new folder below the directory of experiments, under the id that the
 * experiment has, with the code directory of this machine. It is looked at, or continued, like
 * any other.
 */
#include <stdio.h>
#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "cmd/cmd.h"
#include "cmd/tune_at.h"
#include "cmd/tune_common.h"
#include "cmd/zip.h"
#include "io/guard.h"
#include "text/json.h"

#define FILE_MAX ((size_t)1 << 30)

struct archive_conf {
    struct job_where where;
    const char *dir, *to, *code;
    bool overwrite;
};

static const struct opt save_opts[] = {
    {OPT_TEXT(struct archive_conf, dir, NULL, "experiment directory"), .meta = "DIR"},
    {OPT_TEXT(struct archive_conf, to, ".", "directory for the archive"), .meta = "DIR"},
    {OPT_BOOL(struct archive_conf, overwrite, "false", "replace an archive that exists")},
    TUNE_SERVER_OPT(struct archive_conf),
    {0},
};

static enum rc add_file(struct zip_writer *w, const char *dir, const char *name,
                        struct err *err)
{
    char *path = fs_join(dir, name), *data = NULL;
    size_t n = 0;
    enum rc rc = fs_exists(path) ? fs_read(path, FILE_MAX, &data, &n, err) : RC_OK;
    if (!rc && data)
        zip_add(w, name, data, n);
    mem_free(data);
    mem_free(path);
    return rc;
}

static enum rc tune_save_command(const void *conf, const struct opt_args *args,
                                 struct err *err)
{
    const struct archive_conf *o = conf;
    struct tune_at at = {.dir = NULL};
    struct exp_peek is;
    struct zip_writer w;
    zip_begin(&w);
    enum rc rc = tune_at_open(&o->where, o->dir, args->n ? args->at[0] : NULL, &at, err);
    if (!rc)
        rc = experiment_peek(at.dir, &is, err);
    char *name = rc ? NULL : mem_printf("nni_experiment_%s.zip", is.id);
    char *path = rc ? NULL : fs_join(o->to, name);
    if (!rc)
        rc = io_guard_file(path, NULL, o->overwrite, err);
    if (!rc)
        rc = add_file(&w, at.dir, "experiment.json", err);
    if (!rc)
        rc = add_file(&w, at.dir, "log.jsonl", err);
    zip_end(&w);
    if (!rc)
        rc = buf_check(&w.out, err);
    if (!rc)
        rc = fs_write(path, w.out.p, w.out.n, 0600, err);
    if (!rc)
        printf("%s\n", path);
    mem_free(path);
    mem_free(name);
    zip_release(&w);
    tune_at_close(&at);
    return rc;
}

static const struct cmd_example save_examples[] = {
    {"into the current directory", "trainyard tune save x7k2m9qa"},
    {0},
};

const struct cmd cmd_tune_save = {
    .name = "tune save",
    .args = "[ID]",
    .summary = "save an experiment to an archive",
    .description =
        "Writes nni_experiment_ID.zip with the settings and the log of the experiment, "
        "from which `trainyard tune load` restores it on another machine. Files "
        "written by trials are not included.",
    .examples = save_examples,
    .opts = save_opts,
    .conf_size = sizeof(struct archive_conf),
    .max_args = 1,
    .run = tune_save_command,
};

static const struct opt load_opts[] = {
    {OPT_TEXT(struct archive_conf, code, ".", "code directory of the trials"),
     .meta = "DIR"},
    {OPT_TEXT(struct archive_conf, dir, NULL,
              "experiment directory; default: a new one in ~/nni-experiments"),
     .meta = "DIR"},
    {0},
};

/* The settings with this machine's code directory, and nobody's: it is local now. */
static enum rc load_settings(struct str text, const char *code, struct doc *doc,
                             struct exp_settings *out, struct err *err)
{
    struct err why = {0};
    enum rc rc = json_read("experiment.json", text.p, text.n, doc, &why);
    if (rc)
        return err_coded(err, RC_FORMAT, E4005, "%s", why.msg);
    rc = experiment_settings_read(doc->root, out, err);
    if (!rc &&
        (!*out->id || strspn(out->id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTU"
                                      "VWXYZ0123456789_-") != strlen(out->id)))
        rc = err_coded(err, RC_FORMAT, E4005, "'%s' is not the id of an experiment",
                       out->id);
    out->code_dir = code;
    out->owner = out->source = "";
    return rc;
}

/* Written whole and tried before it is known by its id. */
static enum rc load_into(const char *dir, const struct exp_settings *s, struct str log,
                         struct err *err)
{
    struct experiment *e = NULL;
    char *path = fs_join(dir, "log.jsonl");
    enum rc rc = fs_mkdirs(dir, 0755, err);
    if (!rc)
        rc = experiment_create(dir, s, err);
    if (!rc)
        rc = fs_write(path, log.p, log.n, 0644, err);
    if (!rc)
        rc = experiment_open(dir, &e, err);
    if (!rc)
        printf("%s\n", e->set.id);
    experiment_close(e);
    mem_free(path);
    return rc;
}

static enum rc tune_load_command(const void *conf, const struct opt_args *args,
                                 struct err *err)
{
    const struct archive_conf *o = conf;
    struct doc doc = {0};
    struct exp_settings s = {0};
    struct str settings = {0}, log = {0};
    char *data = NULL, *code = tune_absolute(o->code, ".");
    size_t n = 0;
    enum rc rc = fs_read(args->at[0], FILE_MAX, &data, &n, err);
    if (!rc)
        rc = zip_find(data, n, "experiment.json", &settings, err);
    if (!rc) /* one that never ran has no log */
        rc = zip_find(data, n, "log.jsonl", &log, err);
    if (rc == RC_NOTFOUND && settings.p)
        rc = RC_OK;
    if (!rc)
        rc = load_settings(settings, code, &doc, &s, err);
    char *home = tune_home(), *dir = o->dir ? mem_strdup(o->dir) : fs_join(home, s.id);
    if (!rc && fs_exists(dir) && !o->dir)
        rc = err_coded(err, RC_INVAL, E4004, "there is an experiment '%s' already", s.id);
    if (!rc)
        rc = load_into(dir, &s, log.p ? log : str_c(""), err);
    mem_free(dir);
    mem_free(home);
    mem_free(code);
    doc_release(&doc);
    mem_free(data);
    return rc ? err_wrap(err, rc, "'%.200s'", args->at[0]) : RC_OK;
}

static const struct cmd_example load_examples[] = {
    {"an experiment of another machine",
     "trainyard tune load nni_experiment_x7k2m9qa.zip --code ~/model"},
    {0},
};

const struct cmd cmd_tune_load = {
    .name = "tune load",
    .args = "FILE",
    .summary = "load an experiment from an archive",
    .description =
        "Restores an experiment from an archive of `trainyard tune save` and prints "
        "its id. You can inspect it, or continue it with `trainyard tune resume`; "
        "trials that ran elsewhere then end as failed.",
    .examples = load_examples,
    .opts = load_opts,
    .conf_size = sizeof(struct archive_conf),
    .min_args = 1,
    .max_args = 1,
    .run = tune_load_command,
};
