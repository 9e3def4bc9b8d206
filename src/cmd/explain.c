/* SPDX-License-Identifier: Apache-2.0 */
/* explain: finds out what is asked about and hands it on. An error code is looked up in
 * the table of codes; any other word is searched in the schemas of all kinds of files
 * (explain_find.c) and printed (explain_text.c). --markdown writes the reference pages
 * (explain_markdown.c) from the same tables, so that pages and program agree.
 */
#include "cmd/explain.h"

#include <ctype.h>
#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "cmd/cmd.h"
#include "text/conf.h"

struct explain_conf {
    bool all, words, json;
    const char *markdown;
};

static const struct opt opts[] = {
    {OPT_BOOL(struct explain_conf, all, "false",
              "list every message, enum and error code")},
    {OPT_BOOL(struct explain_conf, json, "false",
              "print all messages and enums of a kind of file as JSON")},
    {OPT_TEXT(struct explain_conf, markdown, NULL,
              "write the reference pages to this directory"),
     .meta = "DIR"},
    {OPT_BOOL(struct explain_conf, words, "false", "list the bare names"),
     .hidden = true},
    {0},
};

/* Each family once, in the order of the kinds; NULL at the end; the caller's. */
static const struct schema_family **collect_families(void)
{
    size_t n_kinds, n = 0;
    const struct conf_kind *const *kinds = conf_kinds(&n_kinds);
    const struct schema_family **out = mem_calloc(n_kinds + 1, sizeof(const void *));
    for (size_t i = 0; i < n_kinds; i++) {
        bool known = !kinds[i]->family;
        for (size_t k = 0; k < n; k++)
            known = known || out[k] == kinds[i]->family;
        if (!known)
            out[n++] = kinds[i]->family;
    }
    return out;
}

static enum rc write_page(const char *dir, const char *name, struct buf *text,
                          struct err *err)
{
    char *file = mem_printf("%s.md", name);
    char *path = fs_join(dir, file);
    enum rc rc = buf_check(text, err);
    if (!rc)
        rc = fs_write(path, buf_str(text), text->n, 0644, err);
    buf_clear(text);
    mem_free(path);
    mem_free(file);
    return rc;
}

static enum rc write_reference(families all, const char *dir, struct err *err)
{
    struct buf text;
    buf_init(&text, CMD_TEXT_MAX);
    enum rc rc = fs_mkdirs(dir, 0755, err);
    for (size_t i = 0; !rc && all[i]; i++) {
        explain_family_md(all[i], &text);
        rc = write_page(dir, all[i]->name, &text, err);
    }
    if (!rc) {
        explain_codes_md(&text);
        rc = write_page(dir, "errors", &text, err);
    }
    if (!rc) {
        explain_commands_md(&text);
        rc = write_page(dir, "commands", &text, err);
    }
    buf_release(&text);
    return rc;
}

static bool looks_like_code(const char *s)
{
    return (*s == 'E' || *s == 'e') && strspn(s + 1, "0123456789") == 4 && strlen(s) == 5;
}

static enum rc explain_one(families all, const char *what, struct buf *out,
                           struct err *err)
{
    struct hits hits = {0};
    if (looks_like_code(what)) {
        const struct code_info *code = code_find(what);
        if (!code)
            return err_coded(err, RC_NOTFOUND, E0608,
                             "no error code %s; --all lists them", what);
        explain_code(code, out);
        return RC_OK;
    }
    enum rc rc = explain_find(all, what, &hits, err);
    if (!rc)
        explain_hits(&hits, out);
    hits_release(&hits);
    return rc;
}

static enum rc explain_schema(families all, const char *name, struct buf *out,
                              struct err *err)
{
    struct buf known;
    for (size_t i = 0; all[i]; i++)
        if (strcmp(all[i]->name, name) == 0) {
            explain_family_json(all[i], out);
            return RC_OK;
        }
    buf_init(&known, 500);
    for (size_t i = 0; all[i]; i++)
        buf_printf(&known, "%s%s", i ? ", " : "", all[i]->name);
    enum rc rc = err_coded(err, RC_NOTFOUND, E0608, "--json: '%.100s' is not one of %s",
                           name, buf_str(&known));
    buf_release(&known);
    return rc;
}

static enum rc explain_asked(families all, const struct explain_conf *c,
                             const struct opt_args *args, struct buf *out,
                             struct err *err)
{
    if (c->markdown)
        return write_reference(all, c->markdown, err);
    if (c->words)
        explain_words(all, out);
    else if (c->all)
        explain_all(all, out);
    else if (args->n == 0)
        return err_coded(err, RC_INVAL, E0605, "argument WHAT is missing");
    for (size_t i = 0; i < args->n; i++) {
        if (i && !c->json)
            buf_putc(out, '\n');
        enum rc rc = c->json ? explain_schema(all, args->at[i], out, err)
                             : explain_one(all, args->at[i], out, err);
        if (rc)
            return rc;
    }
    return RC_OK;
}

static enum rc explain_command(const void *conf, const struct opt_args *args,
                               struct err *err)
{
    const struct schema_family **all = collect_families();
    struct buf out;
    buf_init(&out, CMD_TEXT_MAX);
    enum rc rc = explain_asked(all, conf, args, &out, err);
    struct err later = {0};
    enum rc printed = cmd_print(&out, rc ? &later : err);
    buf_release(&out);
    mem_free(all);
    return rc ? rc : printed;
}

static const struct cmd_example examples[] = {
    {"an error code in full", "trainyard explain E0201"},
    {"the fields of a message, by its name or by the field that holds it",
     "trainyard explain id_feature"},
    {"one field", "trainyard explain train_config.num_epochs"},
    {"a message of one kind of file", "trainyard explain nni:ExperimentConfig"},
    {"list everything", "trainyard explain --all"},
    {"the schema of pipeline.config for a program", "trainyard explain --json pipeline"},
    {0},
};

const struct cmd cmd_explain = {
    .name = "explain",
    .args = "WHAT...",
    .summary = "describe an error code or a configuration field",
    .description =
        "WHAT is an error code; the name of a message, field or enum of any known kind "
        "of file; or the path of a field. Case and underscores are ignored. If several "
        "kinds of file share a name, prefix it with the kind, such as `pipeline:`.",
    .examples = examples,
    .opts = opts,
    .conf_size = sizeof(struct explain_conf),
    .max_args = CMD_ANY,
    .words = CMD_WORDS_EXPLAIN,
    .run = explain_command,
};
