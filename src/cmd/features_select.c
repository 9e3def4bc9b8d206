/* SPDX-License-Identifier: Apache-2.0 */
/* features select: reads from a checkpoint the learnt probability with which each feature
 * is left out, prunes the config to the best --topk of each group, and writes one table
 * per group and the new config. train/select.c knows which features must stay; here are
 * the outputs. The new config has the name of the old one, so all outputs are guarded
 * before the first is written: nothing lands on the config that was read.
 */
#include <stdio.h>
#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "cmd/cmd.h"
#include "cmd/data_input.h"
#include "cmd/train_config.h"
#include "io/guard.h"
#include "text/json_out.h"
#include "train/select.h"

struct select_conf {
    const char *model_dir, *checkpoint, *output_dir, *edit_config_json;
    struct opt_list set;
    int64_t topk;
    bool clear_variational_dropout, json, overwrite;
};

static const struct opt opts[] = {
    {OPT_TEXT(struct select_conf, model_dir, NULL, "override model_dir"), .meta = "DIR"},
    {OPT_TEXT(struct select_conf, checkpoint, NULL,
              "use this checkpoint instead of the latest one in model_dir"),
     .meta = "CKPT", .alias = "checkpoint-path"},
    {OPT_TEXT(struct select_conf, output_dir, NULL,
              "output directory; default: feature_selection in model_dir"),
     .meta = "DIR"},
    {OPT_INT(struct select_conf, topk, "100", 1, 1000000, "features to keep per group")},
    {OPT_BOOL(struct select_conf, clear_variational_dropout, "false",
              "remove variational_dropout from the new config")},
    {OPT_LIST(struct select_conf, set, "override a value of the config"),
     .meta = "PATH=VALUE"},
    {OPT_TEXT(struct select_conf, edit_config_json, NULL,
              "override several values: an object of paths and values"),
     .meta = "JSON"},
    DATA_OVERWRITE_OPT(struct select_conf),
    {OPT_BOOL(struct select_conf, json, "false", "print one JSON object")},
    {0},
};

static enum rc write_text(const char *dir, const char *name, struct buf *text,
                          struct err *err)
{
    char *path = fs_join(dir, name);
    enum rc rc = buf_check(text, err);
    if (!rc)
        rc = fs_write(path, buf_str(text), text->n, 0666, err);
    mem_free(path);
    return rc;
}

static enum rc write_tables(const struct train_selection *s, const char *dir,
                            struct err *err)
{
    enum rc rc = RC_OK;
    for (size_t i = 0; i < s->groups.n && !rc; i++) {
        const struct train_select_group *g = &s->groups.at[i];
        char *name = mem_printf("feature_dropout_ratio_%s.csv", g->name);
        struct buf b;
        buf_init(&b, CMD_TEXT_MAX);
        buf_puts(&b, "feature_name,mean_drop_p\n");
        for (size_t k = 0; k < g->n; k++)
            buf_printf(&b, "%s,%.9g\n", g->at[k].name, g->at[k].drop);
        rc = strchr(g->name, '/')
                 ? err_set(err, RC_INVAL, "group '%s' is not a valid file name", g->name)
                 : write_text(dir, name, &b, err);
        buf_release(&b);
        mem_free(name);
    }
    return rc;
}

static void print_text(const struct select_conf *c, const struct train_selection *s,
                       size_t gone, const char *dir, struct buf *out)
{
    for (size_t i = 0; i < s->groups.n; i++) {
        const struct train_select_group *g = &s->groups.at[i];
        buf_printf(out, "%sgroup %s: %zu of %zu stay\n", i ? "\n" : "", g->name,
                   g->n < (size_t)c->topk ? g->n : (size_t)c->topk, g->n);
        for (size_t k = 0; k < g->n; k++)
            buf_printf(out, "  %-40s left out with %.4f%s\n", g->at[k].name,
                       g->at[k].drop, k < (size_t)c->topk ? "" : "  goes");
    }
    buf_printf(out, "\n%zu feature%s taken out of the config; written to %s\n", gone,
               gone == 1 ? " was" : "s were", dir);
}

static void print_json(const struct select_conf *c, const struct train_selection *s,
                       size_t gone, const char *dir, struct buf *out)
{
    struct json_out j = {.out = out};
    json_open(&j, NULL, '{');
    json_put_str(&j, "output_dir", dir);
    json_put_int(&j, "removed", (int64_t)gone);
    json_open(&j, "groups", '{');
    for (size_t i = 0; i < s->groups.n; i++) {
        const struct train_select_group *g = &s->groups.at[i];
        json_open(&j, g->name, '[');
        for (size_t k = 0; k < g->n; k++) {
            json_open(&j, NULL, '{');
            json_put_str(&j, "feature_name", g->at[k].name);
            json_put_real(&j, "mean_drop_p", g->at[k].drop);
            json_put_bool(&j, "kept", k < (size_t)c->topk);
            json_close(&j, '}');
        }
        json_close(&j, ']');
    }
    json_close(&j, '}');
    json_close(&j, '}');
    buf_putc(out, '\n');
}

/* The new config must not land on the one that was read, nor anything on what exists. */
static enum rc check_outputs(const struct select_conf *c, const struct train_selection *s,
                             const char *path, const char *dir, struct err *err)
{
    struct fs_names in = {.at = (char *[]){(char *)path}, .n = 1};
    const char *names[] = {strrchr(path, '/') ? strrchr(path, '/') + 1 : path, NULL};
    enum rc rc = io_guard_files(dir, names, &in, c->overwrite, err);
    for (size_t i = 0; i < s->groups.n && !rc; i++) {
        char *name = mem_printf("feature_dropout_ratio_%s.csv", s->groups.at[i].name);
        rc = io_guard_files(dir, (const char *[]){name, NULL}, NULL, c->overwrite, err);
        mem_free(name);
    }
    return rc;
}

/* Tables and the new config into `dir`; what was done to stdout. */
static enum rc write_all(const struct select_conf *c, const struct train_selection *s,
                         struct conf *config, const char *path, const char *dir,
                         struct err *err)
{
    struct buf text, out;
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    buf_init(&text, CMD_TEXT_MAX);
    buf_init(&out, CMD_TEXT_MAX);
    size_t gone =
        train_select_prune(s, (size_t)c->topk, c->clear_variational_dropout, config);
    conf_print(config, &text);
    enum rc rc = fs_mkdirs(dir, 0777, err);
    if (!rc)
        rc = write_tables(s, dir, err);
    if (!rc)
        rc = write_text(dir, name, &text, err);
    if (!rc) {
        (c->json ? print_json : print_text)(c, s, gone, dir, &out);
        rc = cmd_print(&out, err);
    }
    buf_release(&text);
    buf_release(&out);
    return rc;
}

static enum rc features_select_command(const void *conf, const struct opt_args *args,
                                       struct err *err)
{
    const struct select_conf *c = conf;
    const struct config_override overrides[] = {
        {"--model-dir", "model_dir", c->model_dir}};
    struct conf config = {0};
    struct diags diags = {0};
    struct train_selection s = {0};
    struct ckpt *ckpt = NULL;
    char *dir = NULL;
    enum rc rc = config_open(args->at[0], overrides, 1, &c->set, c->edit_config_json,
                             &config, &diags, err);
    const struct pc_EasyRecConfig *pc = config.data;
    if (!rc)
        rc = ckpt_open(c->checkpoint && c->checkpoint[0] ? c->checkpoint : pc->model_dir,
                       0, &ckpt, NULL, err);
    if (!rc)
        rc = train_select_read(pc, ckpt, &s, err);
    if (!rc) {
        dir = c->output_dir && c->output_dir[0]
                  ? mem_strdup(c->output_dir)
                  : fs_join(pc->model_dir, "feature_selection");
        rc = check_outputs(c, &s, args->at[0], dir, err);
        if (!rc)
            rc = write_all(c, &s, &config, args->at[0], dir, err);
    }
    config_show(&diags);
    mem_free(dir);
    train_select_release(&s);
    ckpt_close(ckpt);
    diags_release(&diags);
    conf_release(&config);
    return rc;
}

static const struct cmd_example examples[] = {
    {"the 20 most useful features of each group",
     "trainyard features select --topk 20 pipeline.config"},
    {"a config without variational dropout, in another directory",
     "trainyard features select --clear-variational-dropout --output-dir slim "
     "pipeline.config"},
    {0},
};

const struct cmd cmd_features_select = {
    .name = "features select",
    .args = "CONFIG",
    .summary = "rank features by variational dropout and keep the best",
    .description =
        "Reads a checkpoint of a model trained with variational_dropout {} in "
        "model_config, which learns a dropout probability for each feature of a group. "
        "Writes feature_dropout_ratio_GROUP.csv for each group, most useful feature "
        "first, and a copy of CONFIG whose groups keep the best --topk features.\n"
        "\n"
        "Features that nothing uses any more are removed from feature_configs. "
        "Sequences, and features that other features, sessions or grouped metrics "
        "read, are kept.",
    .examples = examples,
    .opts = opts,
    .conf_size = sizeof(struct select_conf),
    .min_args = 1,
    .max_args = 1,
    .run = features_select_command,
};
