/* SPDX-License-Identifier: Apache-2.0 */
/* tune register, unregister, algorithms: classes of one's own under names that experiment files
 * use like those of built-in algorithms. A meta file has one algorithm or, under `algorithms`, a
 * list; every class is loaded once before any is registered, so that a name always stands for
 * something that can start.
 */
#include <stdio.h>
#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "cmd/cmd.h"
#include "cmd/tune_common.h"
#include "text/diag.h"
#include "text/json_out.h"
#include "text/nni/registered.h"
#include "text/yaml.h"
#include "tune/custom.h"

struct algo_conf {
    const char *python;
    bool json;
};

static const struct opt register_opts[] = {
    {OPT_TEXT(struct algo_conf, python, "python3", "interpreter that runs the class"),
     .meta = "PROGRAM"},
    {0},
};
static const struct opt list_opts[] = {
    {OPT_BOOL(struct algo_conf, json, "false", "print JSON")},
    {0},
};
static const struct opt no_opts[] = {{0}};

static bool is_builtin(const char *name)
{
    return nni_algo_find(NNI_TUNER, name) || nni_algo_find(NNI_ASSESSOR, name);
}

static enum rc bad_meta(const char *path, const char *what, const char *value,
                        struct err *err)
{
    return err_coded(err, RC_INVAL, E4020, "'%.200s': %s '%.100s'", path, what, value);
}

/* One entry of a meta file. */
static enum rc read_meta(const struct node *n, const char *path, const char *dir,
                         struct arena *a, struct nni_registered *out, struct err *err)
{
    struct nni_registered x = {
        .type = arena_strdup(a, node_get_text(n, "algoType", "")),
        .name = arena_strdup(a, node_get_text(n, "builtinName", "")),
        .class_name = arena_strdup(a, node_get_text(n, "className", "")),
        .validator = arena_strdup(a, node_get_text(n, "classArgsValidator", "")),
        .dir = arena_strdup(a, dir)};
    if (strcmp(x.type, "tuner") != 0 && strcmp(x.type, "assessor") != 0 &&
        strcmp(x.type, "advisor") != 0)
        return bad_meta(path, "algoType is tuner, assessor or advisor, not", x.type, err);
    if (!*x.name)
        return bad_meta(path, "builtinName is missing for the class", x.class_name, err);
    if (!strchr(x.class_name, '.'))
        return bad_meta(path, "className takes module.Class, not", x.class_name, err);
    if (*x.validator && !strchr(x.validator, '.'))
        return bad_meta(path, "classArgsValidator takes module.Class, not", x.validator,
                        err);
    if (is_builtin(x.name))
        return bad_meta(path, "there is a built-in algorithm", x.name, err);
    *out = x;
    return RC_OK;
}

static enum rc open_meta(const char *path, struct doc *doc, struct err *err)
{
    struct diags diags = {0};
    enum rc rc = source_open(path, &doc->src, err);
    if (!rc && yaml_parse(doc, false, &diags))
        rc = err_coded(err, RC_FORMAT, E4020, "'%.200s': %.300s", path,
                       diags.list.n ? diags.list.at[0].msg : "not YAML");
    if (!rc && (!doc->root || doc->root->kind != NODE_MAP))
        rc = bad_meta(path, "is not a description of algorithms", "", err);
    diags_release(&diags);
    return rc;
}

static void put_entry(struct nni_register *r, const struct nni_registered *x)
{
    const struct nni_registered *old = nni_register_find(r, x->name);
    if (old)
        r->list.at[old - r->list.at] = *x;
    else
        VEC_PUSH(&r->list, *x);
    printf("%s %s\n", x->name, old ? "updated" : "registered");
}

static enum rc register_all(const struct algo_conf *c, const struct node *root,
                            const char *path, struct nni_register *r, struct err *err)
{
    const struct node *list = node_find(root, "algorithms");
    bool many = list && list->kind == NODE_LIST;
    size_t n = many ? list->list.n : 1;
    char *real = tune_absolute(path, "."), *dir = fs_dirname(real);
    struct nni_registered *made = mem_calloc(n + 1, sizeof(*made));
    enum rc rc = RC_OK;
    for (size_t i = 0; i < n && !rc; i++) {
        rc = read_meta(many ? list->list.at[i] : root, path, dir, &r->arena, &made[i],
                       err);
        if (!rc)
            rc = tune_custom_check(c->python, made[i].class_name, made[i].validator, dir,
                                   err);
    }
    for (size_t i = 0; i < n && !rc; i++)
        put_entry(r, &made[i]);
    if (!rc)
        rc = nni_register_write(r, err);
    mem_free(made);
    mem_free(dir);
    mem_free(real);
    return rc;
}

static enum rc tune_register_command(const void *conf, const struct opt_args *args,
                                     struct err *err)
{
    const struct algo_conf *c = conf;
    struct nni_register r = {.list = {0}};
    struct doc doc = {0};
    enum rc rc = open_meta(args->at[0], &doc, err);
    if (!rc)
        rc = nni_register_read(&r, err);
    if (!rc)
        rc = register_all(c, doc.root, args->at[0], &r, err);
    nni_register_release(&r);
    if (doc.src)
        doc_release(&doc);
    return rc;
}

static enum rc not_found(const char *name, struct err *err)
{
    return err_coded(err, RC_NOTFOUND, E4020, "no algorithm '%.100s' is registered",
                     name);
}

static enum rc tune_unregister_command(const void *conf, const struct opt_args *args,
                                       struct err *err)
{
    struct nni_register r = {.list = {0}};
    const char *name = args->at[0];
    if (is_builtin(name))
        return err_coded(err, RC_INVAL, E4020,
                         "'%.100s' is built in and cannot be unregistered", name);
    enum rc rc = nni_register_read(&r, err);
    const struct nni_registered *x = rc ? NULL : nni_register_find(&r, name);
    if (!rc && !x)
        rc = not_found(name, err);
    if (!rc) {
        size_t at = (size_t)(x - r.list.at);
        memmove(&r.list.at[at], &r.list.at[at + 1],
                (r.list.n - at - 1) * sizeof(*r.list.at));
        r.list.n--;
        rc = nni_register_write(&r, err);
    }
    if (!rc)
        printf("%s unregistered\n", name);
    nni_register_release(&r);
    return rc;
}

/* One line of the table, or one object. */
struct algo_row {
    const char *name, *type, *source, *class_name, *validator;
};

#define RULE                                                                             \
    "+-----------------+------------+-----------+----------------------+---------------" \
    "---------------------------+\n"

static void put_row(const struct algo_row *x, struct buf *b)
{
    const char *dot = strrchr(x->class_name, '.');
    int module = dot ? (int)(dot - x->class_name) : 0;
    buf_printf(b, "| %-15s | %-10s | %-9s | %-20s | %-40.*s |\n", x->name, x->type,
               x->source, dot ? dot + 1 : "", module > 40 ? 40 : module, x->class_name);
}

static void put_object(const struct algo_row *x, struct json_out *j)
{
    json_open(j, NULL, '{');
    json_put_str(j, "algoType", x->type);
    json_put_str(j, "builtinName", x->name);
    json_put_str(j, "source", x->source);
    if (*x->class_name)
        json_put_str(j, "className", x->class_name);
    if (*x->validator)
        json_put_str(j, "classArgsValidator", x->validator);
    json_close(j, '}');
}

static size_t collect_rows(const struct nni_register *r, struct algo_row *rows)
{
    size_t n_algos, n = 0;
    const struct nni_algo *algos = nni_algos(&n_algos);
    for (size_t i = 0; i < n_algos; i++)
        if (!(algos[i].flags & NNI_ELSEWHERE))
            rows[n++] = (struct algo_row){.name = algos[i].name,
                                          .type = algos[i].role == NNI_TUNER ? "tuner"
                                                                             : "assessor",
                                          .source = "trainyard",
                                          .class_name = "",
                                          .validator = ""};
    for (size_t i = 0; i < r->list.n; i++)
        rows[n++] = (struct algo_row){.name = r->list.at[i].name,
                                      .type = r->list.at[i].type,
                                      .source = "user",
                                      .class_name = r->list.at[i].class_name,
                                      .validator = r->list.at[i].validator};
    return n;
}

static enum rc print_rows(const struct algo_conf *c, const char *name,
                          const struct algo_row *rows, size_t n, struct err *err)
{
    struct buf b;
    struct json_out j = {.out = &b};
    bool found = !name;
    buf_init(&b, CMD_TEXT_MAX);
    if (c->json && !name)
        json_open(&j, NULL, '[');
    else if (!c->json)
        buf_puts(&b,
                 RULE "| Name            | Type       | source    | Class Name           "
                      "| Module Name                              |\n" RULE);
    for (size_t i = 0; i < n; i++) {
        if (name && strcasecmp(name, rows[i].name) != 0)
            continue;
        found = true;
        if (c->json)
            put_object(&rows[i], &j);
        else
            put_row(&rows[i], &b);
    }
    if (c->json && !name)
        json_close(&j, ']');
    buf_puts(&b, c->json ? "\n" : RULE);
    enum rc rc = found ? cmd_print(&b, err) : not_found(name, err);
    buf_release(&b);
    return rc;
}

static enum rc tune_algorithms_command(const void *conf, const struct opt_args *args,
                                       struct err *err)
{
    struct nni_register r = {.list = {0}};
    size_t n_algos;
    (void)nni_algos(&n_algos);
    enum rc rc = nni_register_read(&r, err);
    if (rc)
        return rc;
    struct algo_row *rows = mem_calloc(n_algos + r.list.n + 1, sizeof(*rows));
    size_t n = collect_rows(&r, rows);
    rc = print_rows(conf, args->n ? args->at[0] : NULL, rows, n, err);
    mem_free(rows);
    nni_register_release(&r);
    return rc;
}

static const struct cmd_example register_examples[] = {
    {"a custom tuner", "trainyard tune register meta.yml"}, {0}};

const struct cmd cmd_tune_register = {
    .name = "tune register",
    .args = "FILE",
    .summary = "register tuners or assessors of your own under names",
    .description =
        "FILE is NNI's description of algorithms: algoType (tuner, assessor, advisor), "
        "builtinName and className (module.Class), optionally classArgsValidator; or a "
        "list of these under `algorithms`. The classes are looked for beside the file, "
        "then "
        "where Python looks. Experiment files then use the name like a built-in one.",
    .examples = register_examples,
    .opts = register_opts,
    .conf_size = sizeof(struct algo_conf),
    .min_args = 1,
    .max_args = 1,
    .run = tune_register_command,
};

static const struct cmd_example unregister_examples[] = {
    {"forget a name", "trainyard tune unregister mytuner"}, {0}};

const struct cmd cmd_tune_unregister = {
    .name = "tune unregister",
    .args = "NAME",
    .summary = "forget a registered tuner or assessor",
    .description = "Experiments that were made with it keep their class. Built-in "
                   "algorithms cannot be unregistered.",
    .examples = unregister_examples,
    .opts = no_opts,
    .conf_size = sizeof(struct algo_conf),
    .min_args = 1,
    .max_args = 1,
    .run = tune_unregister_command,
};

static const struct cmd_example list_examples[] = {
    {"all of them", "trainyard tune algorithms"},
    {"one", "trainyard tune algorithms TPE --json"},
    {0}};

const struct cmd cmd_tune_algorithms = {
    .name = "tune algorithms",
    .args = "[NAME]",
    .summary = "list tuners and assessors, built in and registered",
    .description = "With a NAME, only that one.",
    .examples = list_examples,
    .opts = list_opts,
    .conf_size = sizeof(struct algo_conf),
    .max_args = 1,
    .run = tune_algorithms_command,
};
