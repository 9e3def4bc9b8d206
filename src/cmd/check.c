/* SPDX-License-Identifier: Apache-2.0 */
/* Problems are this command's result and go to stdout; with --print the file is the
 * result and the problems go to stderr.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/vec.h"
#include "cmd/cmd.h"
#include "cmd/colour.h"
#include "text/conf.h"
#include "text/json.h"
#include "text/pipeline/pipeline.h"
#include "train/session.h"

struct check_conf {
    const char *kind, *edit_config_json, *color;
    struct opt_list set;
    bool json, print, print_json, werror;
};

static const struct opt opts[] = {
    {OPT_TEXT(struct check_conf, kind, NULL,
              "kind of the files; detected from their content by default")},
    {OPT_LIST(struct check_conf, set, "override a value before checking"),
     .meta = "PATH=VALUE"},
    {OPT_TEXT(struct check_conf, edit_config_json, NULL,
              "override several values: an object of paths and values"),
     .meta = "JSON"},
    {OPT_BOOL(struct check_conf, print, "false",
              "print the file with the overrides applied; problems go to stderr")},
    {OPT_BOOL(struct check_conf, print_json, "false", "the same as one line of JSON")},
    {OPT_BOOL(struct check_conf, json, "false",
              "print each problem as one line of JSON, for editors")},
    {OPT_BOOL(struct check_conf, werror, "false", "treat warnings as errors")},
    {OPT_CHOICE(struct check_conf, color, "auto", "auto|always|never",
                "color the output; auto: on a terminal, unless NO_COLOR is set"),
     .alias = "colour"},
    {0},
};

/* One run over all files. */
struct check {
    const struct check_conf *conf;
    struct conf_options options;
    bool colour;
    struct buf result, problems; /* for stdout, for stderr */
    enum rc worst;               /* RC_INVAL before anything else that failed */
};

static bool wants_colour(const struct check_conf *c)
{
    if (strcmp(c->color, "auto") != 0)
        return strcmp(c->color, "always") == 0;
    return cmd_colours(c->print || c->print_json ? STDERR_FILENO : STDOUT_FILENO);
}

static enum rc unknown_kind(const char *name, struct err *err)
{
    size_t n;
    const struct conf_kind *const *kinds = conf_kinds(&n);
    VEC(const char *) names = {0};
    struct buf list;
    buf_init(&list, 500);
    for (size_t i = 0; i < n; i++) {
        VEC_PUSH(&names, kinds[i]->name);
        buf_printf(&list, "%s%s", i ? ", " : "", kinds[i]->name);
    }
    const char *near = str_nearest(str_c(name), names.at, names.n);
    enum rc rc =
        err_coded(err, RC_INVAL, E0603, "--kind: '%.100s' is not one of %s%s%s%s", name,
                  buf_str(&list), near ? ", did you mean '" : "", near ? near : "",
                  near ? "'?" : "");
    buf_release(&list);
    VEC_RELEASE(&names);
    return rc;
}

static void check_fail(struct check *k, enum rc rc)
{
    if (k->worst != RC_INVAL)
        k->worst = rc;
}

/* A file that could not be read, or is of no known kind. */
static void report_unread(struct check *k, const char *path, enum rc rc,
                          const struct err *err)
{
    const struct code_info *info = code_info(err_code_of(err, rc));
    check_fail(k, cmd_exit_status(rc, err) == 2 ? RC_INVAL : rc);
    if (!k->conf->json) {
        buf_printf(&k->problems, "trainyard check: error[%s]: %s\n", info->id, err->msg);
        return;
    }
    buf_printf(&k->result,
               "{\"severity\":\"error\",\"code\":\"%s\",\"title\":", info->id);
    buf_json_str(&k->result, info->title, strlen(info->title));
    buf_puts(&k->result, ",\"file\":");
    buf_json_str(&k->result, path, strlen(path));
    buf_puts(&k->result, ",\"line\":0,\"column\":0,\"end_line\":0,\"end_column\":0,"
                         "\"message\":");
    buf_json_str(&k->result, err->msg, strlen(err->msg));
    buf_puts(&k->result, ",\"where\":null,\"hint\":null}\n");
}

static void report_good(struct check *k, const char *path, const struct conf *c,
                        size_t n_warnings)
{
    buf_printf(&k->result, "ok: %s: %s", path, c->kind->title);
    if (c->kind->describe) {
        buf_puts(&k->result, ", ");
        c->kind->describe(c, &k->result);
    }
    if (n_warnings)
        buf_printf(&k->result, " (%zu warning%s)", n_warnings,
                   n_warnings == 1 ? "" : "s");
    buf_putc(&k->result, '\n');
}

static void print_tree(const struct conf *c, struct buf *out)
{
    json_print(c->doc.root, 0, out);
    buf_putc(out, '\n');
}

static void check_report(struct check *k, const char *path, const struct conf *c,
                         struct diags *diags)
{
    bool apart = k->conf->print || k->conf->print_json;
    struct buf *to = apart ? &k->problems : &k->result;
    bool bad = diags->n_errors || (k->conf->werror && diags->n_warnings);
    diags_sort(diags);
    if (k->conf->json)
        diags_json(diags, to);
    else
        diags_print(diags, to, k->colour);
    if (bad)
        check_fail(k, RC_INVAL);
    if (k->conf->print_json && c->doc.root) /* as far as it was read */
        print_tree(c, &k->result);
    else if (bad)
        return;
    else if (k->conf->print)
        conf_print(c, &k->result);
    else if (!k->conf->json)
        report_good(k, path, c, diags->n_warnings);
}

static enum rc read_stdin(struct buf *text, struct err *err)
{
    char chunk[65536];
    size_t n;
    buf_init(text, SOURCE_MAX + 1);
    while ((n = fread(chunk, 1, sizeof(chunk), stdin)) > 0 && !text->failed)
        buf_add(text, chunk, n);
    if (ferror(stdin))
        return err_sys(err, errno, "cannot read stdin");
    return buf_check(text, err);
}

static enum rc open_one(const char *path, const struct conf_options *o, struct conf *c,
                        struct diags *diags, struct err *err)
{
    if (strcmp(path, "-") != 0)
        return conf_open(path, o, c, diags, err);
    struct buf text;
    enum rc rc = read_stdin(&text, err);
    if (!rc)
        rc = conf_from("-", buf_str(&text), text.n, o, c, diags, err);
    buf_release(&text);
    return rc;
}

/* What `train` would refuse when it builds the model, such as limits of a layer. */
static enum rc try_model(const char *path, const struct conf *c, struct diags *diags,
                         struct err *err)
{
    const struct pc_EasyRecConfig *pc = c->kind == &conf_kind_pipeline ? c->data : NULL;
    const struct msg *model;
    struct pool *pool = NULL;
    if (!pc || !pc->train_config || !pc->data_config || !pc->model_config ||
        !schema_oneof(&pc->model_config->base, "model", &model))
        return RC_OK;
    enum rc rc = pool_create(1, &pool, err);
    if (!rc)
        rc = train_session_try(pc, pool, diags, err);
    pool_destroy(pool);
    return rc ? err_wrap(err, rc, "%s", path) : RC_OK;
}

static enum rc check_one(struct check *k, const char *path, struct err *err)
{
    struct conf c = {0};
    struct diags diags = {0};
    struct err why = {0};
    enum rc rc = open_one(path, &k->options, &c, &diags, &why);
    if (!rc && !diags.n_errors)
        rc = try_model(path, &c, &diags, &why);
    if (rc && !diags.n_errors)
        report_unread(k, path, rc, &why);
    else
        check_report(k, path, &c, &diags);
    diags_release(&diags);
    conf_release(&c);
    rc = buf_check(&k->problems, err);
    fwrite(buf_str(&k->problems), 1, k->problems.n, stderr);
    buf_clear(&k->problems);
    return rc ? rc : cmd_print(&k->result, err);
}

/* The caller frees *out. */
static size_t collect_edits(const struct check_conf *c, struct conf_edit **out)
{
    size_t n = 0;
    *out = mem_calloc(c->set.n + 1, sizeof(**out));
    if (c->edit_config_json)
        (*out)[n++] = (struct conf_edit){
            .origin = "--edit-config-json", .text = c->edit_config_json, .json = true};
    for (size_t i = 0; i < c->set.n; i++)
        (*out)[n++] = (struct conf_edit){.origin = "--set", .text = c->set.at[i]};
    return n;
}

static enum rc check_command(const void *conf, const struct opt_args *args,
                             struct err *err)
{
    const struct check_conf *c = conf;
    struct check k = {.conf = c, .colour = wants_colour(c)};
    struct conf_edit *edits;
    enum rc rc = RC_OK;
    if (c->kind && !(k.options.kind = conf_kind_find(c->kind)))
        return unknown_kind(c->kind, err);
    k.options.n_edits = collect_edits(c, &edits);
    k.options.edits = edits;
    buf_init(&k.result, CMD_TEXT_MAX * 4);
    buf_init(&k.problems, CMD_TEXT_MAX);
    for (size_t i = 0; !rc && i < args->n; i++)
        rc = check_one(&k, args->at[i], err);
    buf_release(&k.result);
    buf_release(&k.problems);
    mem_free(edits);
    return rc ? rc : k.worst; /* shown already: no message */
}

static const struct cmd_example examples[] = {
    {"all problems in a file", "trainyard check pipeline.config"},
    {"check it with another value",
     "trainyard check --set train_config.num_epochs=2 pipeline.config"},
    {"write a changed copy",
     "trainyard check --print --set data_config.batch_size=512 a.config > b.config"},
    {"for an editor: check an unsaved buffer",
     "trainyard check --json - < pipeline.config"},
    {0},
};

const struct cmd cmd_check = {
    .name = "check",
    .args = "FILE...",
    .summary = "report every problem in configuration files",
    .description =
        "Detects the kind of each file from its content and reports all problems at "
        "once: unknown fields, wrong types, values out of range, and conflicting "
        "settings. `-` reads stdin. Exit status: 0 if all files are valid, 2 if any "
        "has errors, 1 if any cannot be read.",
    .examples = examples,
    .opts = opts,
    .conf_size = sizeof(struct check_conf),
    .min_args = 1,
    .max_args = CMD_ANY,
    .run = check_command,
};
