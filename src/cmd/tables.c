/* SPDX-License-Identifier: Apache-2.0 */
/* tables init and tables from-zch: checkpoints that a run with dynamicemb tables starts
 * from. Both write DIR/model.ckpt-0, print its tables and the command that takes it.
 */
#include <stdio.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/pool.h"
#include "ckpt/ckpt.h"
#include "cmd/cmd.h"
#include "cmd/data_input.h"
#include "cmd/train_config.h"
#include "io/guard.h"
#include "text/json_out.h"
#include "train/dynamic_convert.h"

struct tables_conf {
    const char *save_dir, *separator, *config, *edit_config_json;
    struct opt_list set;
    bool json, overwrite;
};

#define SAVE_DIR_OPT                                                       \
    {                                                                      \
        OPT_TEXT(struct tables_conf, save_dir, ".",                        \
                 "write the checkpoint model.ckpt-0 into this directory"), \
            .meta = "DIR"                                                  \
    }
#define CONFIG_OPTS                                                         \
    {OPT_LIST(struct tables_conf, set, "override a value of the config"),   \
     .meta = "PATH=VALUE"},                                                 \
    {                                                                       \
        OPT_TEXT(struct tables_conf, edit_config_json, NULL,                \
                 "override several values: an object of paths and values"), \
            .meta = "JSON"                                                  \
    }

static const struct opt init_opts[] = {
    SAVE_DIR_OPT,
    {OPT_TEXT(struct tables_conf, separator, ",",
              "between the numbers of a vector that is a text"),
     .meta = "TEXT"},
    CONFIG_OPTS,
    DATA_OVERWRITE_OPT(struct tables_conf),
    {OPT_BOOL(struct tables_conf, json, "false", "print one JSON object")},
    {0},
};

static const struct opt zch_opts[] = {
    {OPT_TEXT(struct tables_conf, config, NULL,
              "config of the run that will take it, with dynamicemb blocks (required)"),
     .meta = "CONFIG", .alias = "target-config"},
    SAVE_DIR_OPT,
    CONFIG_OPTS,
    DATA_OVERWRITE_OPT(struct tables_conf),
    {OPT_BOOL(struct tables_conf, json, "false", "print one JSON object")},
    {0},
};

static void print_text(const struct train_dynamic_report *r, const char *dir,
                       const char *config, struct buf *out)
{
    for (size_t i = 0; i < r->tables.n; i++) {
        const struct train_dynamic_table *t = &r->tables.at[i];
        buf_printf(out, "%s: %jd ids of at most %jd, %s", t->name, (intmax_t)t->rows,
                   (intmax_t)t->capacity, t->from);
        if (t->again)
            buf_printf(out, "; %jd rows were replaced by later ones of the same id",
                       (intmax_t)t->again);
        buf_putc(out, '\n');
    }
    buf_printf(out, "written to %s\nnext: ", dir);
    cmd_put_words(out, "trainyard", "train", config, "--fine-tune", dir, NULL);
    buf_putc(out, '\n');
}

static void print_json(const struct train_dynamic_report *r, const char *dir,
                       struct buf *out)
{
    struct json_out j = {.out = out};
    json_open(&j, NULL, '{');
    json_put_str(&j, "checkpoint", dir);
    json_open(&j, "tables", '[');
    for (size_t i = 0; i < r->tables.n; i++) {
        const struct train_dynamic_table *t = &r->tables.at[i];
        json_open(&j, NULL, '{');
        json_put_str(&j, "name", t->name);
        json_put_str(&j, "from", t->from);
        json_put_int(&j, "ids", t->rows);
        json_put_int(&j, "replaced", t->again);
        json_put_int(&j, "capacity", t->capacity);
        json_close(&j, '}');
    }
    json_close(&j, ']');
    json_close(&j, '}');
    buf_putc(out, '\n');
}

static enum rc show(const struct tables_conf *c, const struct train_dynamic_report *r,
                    const char *config, struct err *err)
{
    char *dir = ckpt_dir(c->save_dir, 0);
    struct buf out;
    buf_init(&out, CMD_TEXT_MAX);
    if (c->json)
        print_json(r, dir, &out);
    else
        print_text(r, dir, config, &out);
    enum rc rc = cmd_print(&out, err);
    buf_release(&out);
    mem_free(dir);
    return rc;
}

static enum rc check_free(const struct tables_conf *c, struct err *err)
{
    char *dir = ckpt_dir(c->save_dir, 0);
    enum rc rc = io_guard_file(dir, NULL, c->overwrite, err);
    mem_free(dir);
    return rc;
}

/* Either of the two, of an open config; `from` is NULL for tables init. */
static enum rc make(const struct tables_conf *c, const struct conf *config,
                    const struct ckpt *from, struct train_dynamic_report *out,
                    struct diags *diags, struct err *err)
{
    struct buf text;
    struct pool *pool = NULL;
    buf_init(&text, CMD_TEXT_MAX * 64);
    conf_print(config, &text);
    struct train_dynamic_conf how = {.save_dir = c->save_dir,
                                     .separator = c->separator,
                                     .config = buf_str(&text),
                                     .farm_hash = config_farm_hash()};
    enum rc rc = pool_create(1, &pool, err);
    how.pool = pool;
    if (!rc)
        rc = from ? train_dynamic_convert(from, config->data, &how, out, diags, err)
                  : train_dynamic_init(config->data, &how, out, diags, err);
    pool_destroy(pool);
    buf_release(&text);
    return rc;
}

static enum rc tables_of(const struct tables_conf *c, const char *path,
                         const struct ckpt *from, struct err *err)
{
    struct conf config = {0};
    struct diags diags = {0};
    struct train_dynamic_report report = {0};
    enum rc rc = check_free(c, err);
    if (!rc)
        rc = config_open(path, NULL, 0, &c->set, c->edit_config_json, &config, &diags,
                         err);
    if (!rc)
        rc = make(c, &config, from, &report, &diags, err);
    config_show(&diags);
    if (!rc)
        rc = show(c, &report, path, err);
    train_dynamic_report_release(&report);
    diags_release(&diags);
    conf_release(&config);
    return rc;
}

static enum rc tables_init_command(const void *conf, const struct opt_args *args,
                                   struct err *err)
{
    return tables_of(conf, args->at[0], NULL, err);
}

static enum rc tables_from_zch_command(const void *conf, const struct opt_args *args,
                                       struct err *err)
{
    const struct tables_conf *c = conf;
    struct ckpt *from = NULL;
    if (!c->config || !c->config[0])
        return err_set(err, RC_INVAL, "missing option --config CONFIG");
    enum rc rc = ckpt_open(args->at[0], 0, &from, NULL, err);
    if (!rc)
        rc = tables_of(c, c->config, from, err);
    ckpt_close(from);
    return rc;
}

static const struct cmd_example init_examples[] = {
    {"rows of all init_tables, then a run that starts from them",
     "trainyard tables init pipeline.config --save-dir start && trainyard train "
     "pipeline.config --fine-tune start/model.ckpt-0"},
    {0},
};

const struct cmd cmd_tables_init = {
    .name = "tables init",
    .args = "CONFIG",
    .summary = "make a checkpoint of the init_tables of dynamicemb features",
    .description =
        "For each feature whose dynamicemb block has an init_table: the first column of that "
        "data is the id, the second its vector, a list of numbers or a text of them. Ids are "
        "hashed as the feature hashes its values. The checkpoint holds these tables alone; "
        "`train --fine-tune` takes them.",
    .examples = init_examples,
    .opts = init_opts,
    .conf_size = sizeof(struct tables_conf),
    .min_args = 1,
    .max_args = 1,
    .run = tables_init_command,
};

static const struct cmd_example zch_examples[] = {
    {"the latest checkpoint of a model_dir, for a config with dynamicemb instead",
     "trainyard tables from-zch old_model --config new.config --save-dir start"},
    {0},
};

const struct cmd cmd_tables_from_zch = {
    .name = "tables from-zch",
    .args = "CKPT",
    .summary = "convert the zch tables of a checkpoint to dynamicemb",
    .description =
        "Ids of zch tables that the config has as dynamicemb keep their vectors, and with LFU, "
        "STEP or TIMESTAMP what is known of how often or when they were seen. Optimizer state "
        "of these tables starts anew; dense parameters, other tables and their state are "
        "copied. `train --fine-tune` takes the result.",
    .examples = zch_examples,
    .opts = zch_opts,
    .conf_size = sizeof(struct tables_conf),
    .min_args = 1,
    .max_args = 1,
    .run = tables_from_zch_command,
};
