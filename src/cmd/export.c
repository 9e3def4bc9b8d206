/* SPDX-License-Identifier: Apache-2.0 */
/* export: turns options into struct train_export_options, has train/export write the directory,
 * and prints a summary. The checkpoint is the one named, or the latest or best one as
 * export_config says. The directory appears only when it has been loaded and verified.
 */
#include <stdio.h>
#include <string.h>

#include "base/cpu.h"
#include "base/mem.h"
#include "cmd/cmd.h"
#include "cmd/data_input.h"
#include "cmd/ranks.h"
#include "cmd/train_config.h"
#include "train/export/cost.h"

struct export_conf {
    const char *export_dir, *checkpoint, *model_dir, *asset_files, *additional,
        *sample_input, *edit_config_json, *table_type, *sequence_table_type, *format,
        *python;
    struct opt_list set;
    int64_t sample_rows, threads;
    bool json, overwrite, cost;
};

static const struct opt opts[] = {
    {OPT_TEXT(struct export_conf, export_dir, NULL, "where to write"), .meta = "DIR",
     .filled = true},
    {OPT_TEXT(struct export_conf, checkpoint, NULL,
              "use this checkpoint instead of the latest or best one in model_dir"),
     .meta = "CKPT", .alias = "checkpoint-path", .filled = true},
    {OPT_TEXT(struct export_conf, model_dir, NULL, "override model_dir"), .meta = "DIR",
     .filled = true},
    {OPT_CHOICE(struct export_conf, table_type, "f32", "f32|bf16|f16|int8|int4|int2",
                "data type of the embedding tables; integers have a scale per row")},
    {OPT_CHOICE(struct export_conf, sequence_table_type, "same",
                "same|f32|bf16|f16|int8|int4|int2",
                "data type of the tables of sequences")},
    {OPT_CHOICE(struct export_conf, format, "trainyard", "trainyard|torchscript",
                "torchscript: also scripted_model.pt, which TorchEasyRec's predictor "
                "loads; made by the torch of --python")},
    {OPT_TEXT(struct export_conf, python, "python3",
              "interpreter with torch, for --format torchscript"),
     .meta = "PROGRAM"},
    {OPT_BOOL(
        struct export_conf, cost, "true",
        "with another --table-type than f32: evaluate both and print the difference, "
        "if the config has eval_input_path")},
    {OPT_INT(struct export_conf, sample_rows, "32", 0, 65536,
             "sample rows to store with their predictions; every load verifies them")},
    {OPT_TEXT(struct export_conf, sample_input, NULL,
              "read the sample rows from here instead of train_input_path"),
     .meta = "PATH", .alias = "item-input-path", .filled = true},
    {OPT_TEXT(struct export_conf, asset_files, NULL,
              "more files to copy, comma-separated"),
     .meta = "FILES", .filled = true},
    {OPT_TEXT(struct export_conf, additional, NULL,
              "JSON for other programs, stored in the manifest"),
     .flag = "additional-export-config", .meta = "JSON", .filled = true},
    {OPT_LIST(struct export_conf, set, "override a value of the config"),
     .meta = "PATH=VALUE"},
    {OPT_TEXT(struct export_conf, edit_config_json, NULL,
              "override several values: an object of paths and values"),
     .meta = "JSON", .filled = true},
    {OPT_INT(struct export_conf, threads, "0", 0, POOL_THREADS_MAX,
             "number of threads; 0: one per CPU")},
    DATA_OVERWRITE_OPT(struct export_conf),
    {OPT_BOOL(struct export_conf, json, "false", "print a summary as JSON")},
    {0},
};

static enum train_export_tables tables_of(const char *name)
{
    return strcmp(name, "bf16") == 0   ? EXPORT_BF16
           : strcmp(name, "f16") == 0  ? EXPORT_F16
           : strcmp(name, "int8") == 0 ? EXPORT_INT8
           : strcmp(name, "int4") == 0 ? EXPORT_INT4
           : strcmp(name, "int2") == 0 ? EXPORT_INT2
                                       : EXPORT_F32;
}

/* The type that the cost is of. */
static const char *small_type(const struct export_conf *c)
{
    return strcmp(c->table_type, "f32") == 0 ? c->sequence_table_type : c->table_type;
}

/* What the tables cost; a run that cannot tell says why, and goes on. */
static void measure_cost(const struct export_conf *c, const struct conf *config,
                         const struct train_export_summary *s, struct pool *pool,
                         struct train_export_cost *out)
{
    const struct pc_EasyRecConfig *pc = config->data;
    struct diags diags = {0};
    struct err err = {0};
    *out = (struct train_export_cost){0};
    bool exact = strcmp(c->table_type, "f32") == 0 &&
                 (strcmp(c->sequence_table_type, "same") == 0 ||
                  strcmp(c->sequence_table_type, "f32") == 0);
    if (!c->cost || exact || !pc->eval_input_path[0])
        return;
    if (train_export_cost(config, s->checkpoint, c->export_dir, config_farm_hash(), pool,
                          out, &diags, &err)) {
        out->metric[0] = '\0';
        fprintf(stderr, "trainyard export: note: what %s tables cost is not known: %s\n",
                small_type(c), err.msg);
    }
    diags_release(&diags);
}

static enum rc print_summary(const struct export_conf *c,
                             const struct train_export_summary *s,
                             const struct train_export_cost *cost, struct err *err)
{
    struct buf b;
    buf_init(&b, CMD_TEXT_MAX);
    if (c->json) {
        buf_puts(&b, "{\"export_dir\": ");
        buf_json_str(&b, c->export_dir, strlen(c->export_dir));
        buf_puts(&b, ", \"checkpoint\": ");
        buf_json_str(&b, s->checkpoint, strlen(s->checkpoint));
        buf_printf(&b,
                   ", \"step\": %jd, \"tables\": %jd, \"table_rows\": %jd, \"dense\": "
                   "%jd, \"samples\": %jd, \"bytes\": %jd",
                   (intmax_t)s->step, (intmax_t)s->tables, (intmax_t)s->table_rows,
                   (intmax_t)s->dense, (intmax_t)s->samples, (intmax_t)s->bytes);
        if (cost->metric[0]) {
            buf_puts(&b, ", \"cost\": {\"metric\": ");
            buf_json_str(&b, cost->metric, strlen(cost->metric));
            buf_printf(&b, ", \"f32\": %.9g, \"%s\": %.9g, \"rows\": %jd}", cost->before,
                       small_type(c), cost->after, (intmax_t)cost->rows);
        }
        if (s->scripted.version[0]) {
            buf_puts(&b, ", \"torchscript\": {\"torch\": ");
            buf_json_str(&b, s->scripted.version, strlen(s->scripted.version));
            buf_printf(&b, ", \"difference\": %.3g}", s->scripted.difference);
        }
        buf_puts(&b, "}\n");
    } else {
        buf_printf(&b,
                   "exported %s to %s\n%jd tables of %jd rows in all as %s, %jd dense "
                   "parameters, %jd sample rows, %.1f MB\n",
                   s->checkpoint, c->export_dir, (intmax_t)s->tables,
                   (intmax_t)s->table_rows, c->table_type, (intmax_t)s->dense,
                   (intmax_t)s->samples, (double)s->bytes / 1e6);
        if (s->scripted.version[0])
            buf_printf(&b,
                       "scripted_model.pt by torch %s, scores of the sample rows within "
                       "%.1e\n",
                       s->scripted.version, s->scripted.difference);
        if (cost->metric[0])
            buf_printf(&b, "%s %.6f, with %s tables %.6f (%+.6f) on %jd rows\n",
                       cost->metric, cost->before, small_type(c), cost->after,
                       cost->after - cost->before, (intmax_t)cost->rows);
    }
    config_tell_checkpoint(s->checkpoint, s->why);
    if (s->note[0])
        fprintf(stderr, "trainyard export: note: %s\n", s->note);
    enum rc rc = cmd_print(&b, err);
    buf_release(&b);
    return rc;
}

static enum rc export_here(const void *conf, const struct opt_args *args, struct err *err)
{
    const struct export_conf *c = conf;
    struct conf config = {0};
    struct diags diags = {0};
    struct pool *pool = NULL;
    struct train_export_summary summary = {0};
    const struct config_override overrides[] = {
        {"--model-dir", "model_dir", c->model_dir}};
    if (!c->export_dir)
        return err_coded(err, RC_INVAL, E0605, "--export-dir DIR is missing");
    enum rc rc = config_open(args->at[0], overrides, ARRAY_LEN(overrides), &c->set,
                             c->edit_config_json, &config, &diags, err);
    if (!rc)
        rc = pool_create(c->threads > 0 ? (int)c->threads : cpu_count(), &pool, err);
    if (!rc) {
        struct train_export_options o = {
            .dir = c->export_dir,
            .checkpoint = c->checkpoint,
            .asset_files = c->asset_files,
            .extra_config = c->additional,
            .sample_input = c->sample_input,
            .sample_rows = c->sample_rows,
            .tables = tables_of(c->table_type),
            .sequence_tables = tables_of(strcmp(c->sequence_table_type, "same") == 0
                                             ? c->table_type
                                             : c->sequence_table_type),
            .farm_hash = config_farm_hash(),
            .overwrite = c->overwrite,
            .torchscript = strcmp(c->format, "torchscript") == 0 ? c->python : NULL,
            .pool = pool};
        rc = train_export_write(&config, &o, &diags, &summary, err);
    }
    if (!rc) {
        struct train_export_cost cost;
        measure_cost(c, &config, &summary, pool, &cost);
        rc = print_summary(c, &summary, &cost, err);
    }
    config_show(&diags);
    pool_destroy(pool);
    diags_release(&diags);
    conf_release(&config);
    return rc;
}

/* Of several ranks the first does it. */
static enum rc export_command(const void *conf, const struct opt_args *args,
                              struct err *err)
{
    return cmd_ranks_idle() ? RC_OK : export_here(conf, args, err);
}

static const struct cmd_example examples[] = {
    {"the latest checkpoint of model_dir",
     "trainyard export pipeline.config --export-dir model"},
    {"a given checkpoint, with tables a quarter of the size",
     "trainyard export c.config --checkpoint m/model.ckpt-9 --table-type int8 --export-dir x"},
    {"for TorchEasyRec's predictor too",
     "trainyard export c.config --export-dir x --format torchscript --python venv/bin/python3"},
    {0},
};

const struct cmd cmd_export = {
    .name = "export",
    .args = "CONFIG",
    .summary = "export a trained model for serving",
    .description =
        "Writes a directory with tables and parameters (safetensors), the graph "
        "(ONNX), fg.json, the config, and sample rows with the model's predictions. "
        "The directory is loaded and verified before it appears; there is never a "
        "partial one.\n"
        "\n"
        "export_config in the config selects the latest or the best checkpoint.",
    .examples = examples,
    .opts = opts,
    .conf_size = sizeof(struct export_conf),
    .min_args = 1,
    .max_args = 1,
    .run = export_command,
};
