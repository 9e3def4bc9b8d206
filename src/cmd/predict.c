/* SPDX-License-Identifier: Apache-2.0 */
/* predict: loads a model, an export or a checkpoint of a config, and has train/export
 * score the rows. struct loaded is what both ways end in: a session, the config that says
 * how data is read, and a name that tells this model from others, by which an interrupted
 * run knows whether it may go on. An export whose config is overridden is opened as it
 * is; only how its data is read comes from the edited config.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/cpu.h"
#include "base/fs.h"
#include "base/mem.h"
#include "cmd/cmd.h"
#include "cmd/device.h"
#include "cmd/predict.h"
#include "cmd/ranks.h"
#include "cmd/train_config.h"
#include "io/guard.h"
#include "train/export/export.h"
#include "train/export/predict.h"

struct predict_conf {
    const char *model, *config, *model_dir, *checkpoint, *input, *output,
        *reserved_columns, *output_columns, *dataset_type, *writer_type,
        *edit_config_json, *non_finite, *device;
    struct opt_list set;
    int64_t batch_size, threads, steps, debug_level, part_rows;
    bool overwrite;
};

static const struct opt opts[] = {
    {OPT_TEXT(struct predict_conf, model, NULL, "an export"), .meta = "DIR",
     .alias = "scripted-model-path", .filled = true},
    {OPT_TEXT(
         struct predict_conf, config, NULL,
         "score with the latest or best checkpoint of this config instead of an export"),
     .meta = "CONFIG", .alias = "pipeline-config-path", .filled = true},
    {OPT_TEXT(struct predict_conf, model_dir, NULL, "with a config: override model_dir"),
     .meta = "DIR", .filled = true},
    {OPT_TEXT(struct predict_conf, checkpoint, NULL,
              "with a config: use this checkpoint"),
     .meta = "CKPT", .alias = "checkpoint-path", .filled = true},
    {OPT_TEXT(struct predict_conf, input, NULL, "files, directories or patterns"),
     .meta = "PATH", .alias = "predict-input-path", .filled = true},
    {OPT_TEXT(struct predict_conf, output, NULL,
              "a directory of parts, a .parquet, .csv or .jsonl file, or - for stdout"),
     .meta = "PATH", .alias = "predict-output-path", .filled = true},
    {OPT_TEXT(struct predict_conf, reserved_columns, NULL,
              "input columns to copy to the output, comma-separated; ALL_COLUMNS: all of "
              "them, ALL_EFFECTIVE_COLUMNS: those that features read"),
     .meta = "NAMES"},
    {OPT_TEXT(struct predict_conf, output_columns, NULL,
              "model outputs to write; default: all"),
     .meta = "NAMES"},
    {OPT_INT(struct predict_conf, batch_size, "0", 0, 1 << 20,
             "rows per batch; 0: as in the config")},
    {OPT_INT(struct predict_conf, threads, "0", 0, POOL_THREADS_MAX,
             "number of threads; 0: one per CPU"),
     .alias = "predict-threads"},
    {CMD_DEVICE_OPT(struct predict_conf)},
    {OPT_INT(struct predict_conf, part_rows, "0", 0, INT64_MAX,
             "rows per part of an output directory; 0: 1000000, or 65536 with several "
             "ranks")},
    {OPT_INT(struct predict_conf, steps, "0", 0, INT64_MAX,
             "stop after this many batches; 0: no limit"),
     .flag = "predict-steps"},
    {OPT_INT(struct predict_conf, debug_level, "0", 0, 9,
             "above 0: add a column __features__ with the feature values of each row")},
    {OPT_TEXT(struct predict_conf, dataset_type, NULL,
              "override data_config.dataset_type"),
     .meta = "TYPE", .filled = true},
    {OPT_TEXT(struct predict_conf, writer_type, NULL,
              "parquet, csv or jsonl (ParquetWriter, CsvWriter); default: as the input"),
     .meta = "TYPE", .filled = true},
    {OPT_CHOICE(
        struct predict_conf, non_finite, "error", "error|null",
        "a row whose score or embedding is not a finite number: stop and name the "
        "row, or write null")},
    {OPT_BOOL(struct predict_conf, overwrite, "false",
              "replace an output file, or the parts in an output directory")},
    {OPT_LIST(struct predict_conf, set, "override a value of the config"),
     .meta = "PATH=VALUE"},
    {OPT_TEXT(struct predict_conf, edit_config_json, NULL,
              "override several values: an object of paths and values"),
     .meta = "JSON", .filled = true},
    {0},
};

/* What is predicted with: an export, or a checkpoint of a config. */
struct loaded {
    struct pool *pool;
    struct device *device; /* NULL: the CPU */
    struct train_export *export;
    struct conf conf; /* of a config; or, edited, that of an export */
    struct train_session *own;
    struct train_session *session;
    const struct pc_EasyRecConfig *config;
    char *name;         /* what tells it from other models */
    char *dir;          /* of an export */
    const char *output; /* of a part of it that was named; NULL: all */
};

static void loaded_release(struct loaded *l)
{
    train_session_destroy(l->own);
    train_export_close(l->export);
    conf_release(&l->conf);
    device_close(l->device);
    pool_destroy(l->pool);
    mem_free(l->name);
    mem_free(l->dir);
}

static enum rc load_config(const struct predict_conf *c, const char *path,
                           struct loaded *l, struct diags *diags, struct err *err)
{
    const struct config_override overrides[] = {
        {"--model-dir", "model_dir", c->model_dir},
        {"--dataset-type", "data_config.dataset_type", c->dataset_type}};
    enum rc rc = config_open(path, overrides, ARRAY_LEN(overrides), &c->set,
                             c->edit_config_json, &l->conf, diags, err);
    if (!rc)
        l->config = l->conf.data;
    return rc;
}

char *predict_model_dir(const char *path, const char **output)
{
    static const char *const parts[][2] = {{"user", "user_tower_emb"},
                                           {"item", "item_tower_emb"},
                                           {"embedding", "item_emb"},
                                           {"model", NULL}};
    char *dir = fs_dirname(path), *name = fs_basename(path);
    char *manifest = fs_join(dir, "manifest.json");
    bool part = !fs_exists(path) && fs_exists(manifest), found = false;
    for (size_t i = 0; i < ARRAY_LEN(parts) && part && !found; i++) {
        found = strcmp(name, parts[i][0]) == 0;
        if (found && output)
            *output = parts[i][1];
    }
    char *result = found ? dir : mem_strdup(path);
    if (!found)
        mem_free(dir);
    mem_free(name);
    mem_free(manifest);
    return result;
}

static enum rc load_export(const struct predict_conf *c, struct loaded *l,
                           struct diags *diags, struct err *err)
{
    l->dir = predict_model_dir(c->model, &l->output);
    enum rc rc = train_export_open_on(l->device, l->dir, 0, l->pool, &l->export, err);
    if (rc)
        return rc;
    l->session = train_export_session(l->export);
    l->config = train_export_conf(l->export);
    l->name = mem_strdup(train_export_id(l->export));
    if (!c->set.n && !c->edit_config_json && !c->dataset_type)
        return RC_OK;
    char *path = mem_printf("%s/pipeline.config", l->dir);
    rc = load_config(c, path, l, diags, err);
    mem_free(path);
    return rc;
}

static enum rc load_checkpoint(const struct predict_conf *c, const char *config,
                               struct loaded *l, struct diags *diags, struct err *err)
{
    char why[EXPORT_WHY_SIZE] = "";
    enum rc rc = load_config(c, config, l, diags, err);
    if (!rc)
        rc = train_export_checkpoint_session(l->config, c->checkpoint, config_farm_hash(),
                                             l->pool, l->device, &l->own, &l->name, why,
                                             diags, err);
    if (!rc)
        config_tell_checkpoint(l->name, why);
    l->session = l->own;
    return rc;
}

enum rc predict_writer(const char *name, const struct writer_ops **out, struct err *err)
{
    char word[32];
    size_t n = name ? strlen(name) : 0;
    *out = NULL;
    if (!name)
        return RC_OK;
    if (n > 6 && str_ends(name, "Writer"))
        n -= 6;
    for (size_t i = 0; i < n && i + 1 < sizeof(word); i++) {
        word[i] = name[i] >= 'A' && name[i] <= 'Z' ? (char)(name[i] + 32) : name[i];
        word[i + 1] = '\0';
    }
    *out = n && n < sizeof(word) ? writer_find(word) : NULL;
    if (*out)
        return RC_OK;
    return err_coded(err, RC_INVAL, E0603,
                     "--writer-type: '%s' is not one of parquet, csv, jsonl", name);
}

static enum rc check_usage(const struct predict_conf *c, const char *config,
                           struct err *err)
{
    if (!c->model && !config)
        return err_coded(err, RC_INVAL, E0605, "--model DIR or a CONFIG is missing");
    if (!c->input || !c->output)
        return err_coded(err, RC_INVAL, E0605, "--%s PATH is missing",
                         c->input ? "output" : "input");
    if (c->checkpoint && !config)
        return err_coded(err, RC_INVAL, E0604, "--checkpoint needs a CONFIG");
    if (c->model_dir && !config)
        return err_coded(err, RC_INVAL, E0609, "--model-dir needs a CONFIG");
    if (c->part_rows && !fs_is_dir(c->output) &&
        (io_is_direct(c->output) || writer_of_path(c->output)))
        return err_coded(err, RC_INVAL, E0609,
                         "--part-rows is for an output directory, and '%s' is one file",
                         io_output_name(c->output));
    if (c->model && config)
        fprintf(stderr,
                "note: --model %s has no effect: the config's checkpoint scores\n",
                c->model);
    return RC_OK;
}

static void predict_report(const struct predict_conf *c,
                           const struct train_predict_summary *s, int64_t ns)
{
    double seconds = (double)ns / (double)CLOCK_SECOND;
    if (s->done_before) {
        fprintf(stderr,
                "%s is already complete: %jd rows\n"
                "",
                c->output, (intmax_t)s->before);
        return;
    }
    if (s->before)
        fprintf(stderr,
                "resumed after row %jd\n"
                "",
                (intmax_t)s->before);
    if (s->nulls)
        fprintf(stderr, "warning: %jd row%s no finite score; null was written\n",
                (intmax_t)s->nulls, s->nulls == 1 ? " has" : "s have");
    struct str lines = str_c(s->outside ? s->outside : ""), line;
    while (lines.n && str_split(&lines, '\n', &line))
        if (line.n)
            fprintf(stderr, "note: %.*s\n", (int)line.n, line.p);
    fprintf(stderr, "predicted %jd rows into %s, %.0f rows/s\n", (intmax_t)s->rows,
            io_output_name(c->output), seconds > 0 ? (double)s->rows / seconds : 0.0);
}

static enum rc predict_rows(const struct predict_conf *c, const struct opt_args *args,
                            struct cmd_ranks *ranks, struct err *err)
{
    const char *config = args->n ? args->at[0] : c->config;
    struct loaded l = {0};
    struct diags diags = {0};
    struct train_predict_summary summary = {0};
    const struct writer_ops *format = NULL;
    int64_t threads = cmd_ranks_threads(ranks, c->threads), start = 0;
    threads = threads > 0 ? threads : cpu_count();
    enum rc rc = check_usage(c, config, err);
    if (!rc)
        rc = predict_writer(c->writer_type, &format, err);
    if (!rc)
        rc = pool_create((int)threads, &l.pool, err);
    if (!rc)
        rc = cmd_device_open(c->device, &l.device, err);
    if (!rc) /* a config wins over an export, as upstream */
        rc = config ? load_checkpoint(c, config, &l, &diags, err)
                    : load_export(c, &l, &diags, err);
    if (!rc)
        config_note_types("predict", l.session);
    if (!rc) {
        struct train_predict_options o = {.input = c->input,
                                          .output = c->output,
                                          .data = l.config->data_config,
                                          .model = l.name,
                                          .reserved = c->reserved_columns,
                                          .outputs = c->output_columns ? c->output_columns
                                                                       : l.output,
                                          .format = format,
                                          .threads = threads,
                                          .batch_size = c->batch_size,
                                          .part_rows = c->part_rows,
                                          .steps = c->steps,
                                          .features = c->debug_level > 0,
                                          .nulls = strcmp(c->non_finite, "null") == 0,
                                          .overwrite = c->overwrite,
                                          .comm = ranks->comm};
        start = clock_mono_ns();
        rc = train_predict_run(l.session, &o, &summary, &diags, err);
    }
    if (!rc)
        predict_report(c, &summary, clock_mono_ns() - start);
    train_predict_summary_release(&summary);
    config_show(&diags);
    loaded_release(&l);
    diags_release(&diags);
    return rc;
}

bool predict_is_one_file(const char *output)
{
    return !output || io_is_direct(output) ||
           (writer_of_path(output) && !fs_is_dir(output));
}

/* Several ranks share the parts of a directory. */
static enum rc predict_command(const void *conf, const struct opt_args *args,
                               struct err *err)
{
    const struct predict_conf *c = conf;
    struct cmd_ranks ranks = {0};
    bool alone = predict_is_one_file(c->output);
    if (alone && cmd_ranks_idle())
        return RC_OK;
    enum rc rc = alone ? RC_OK : cmd_ranks_open(&ranks, err);
    if (!rc)
        rc = predict_rows(c, args, &ranks, err);
    return cmd_ranks_close(&ranks, rc, err);
}

static const struct cmd_example examples[] = {
    {"score a day of rows with an export",
     "trainyard predict --model x --input day --output scores --reserved-columns user_id"},
    {"score with the latest checkpoint of a config, into one file",
     "trainyard predict pipeline.config --input day --output scores.csv"},
    {0},
};

const struct cmd cmd_predict = {
    .name = "predict",
    .args = "[CONFIG]",
    .summary = "score rows with an export or a checkpoint",
    .description =
        "Reads Parquet, CSV or JSON lines, computes features exactly as in training, "
        "and writes the model's outputs (sorted by name, or in the order of "
        "--output-columns) followed by the reserved columns. Rows keep the order of "
        "the input.\n"
        "\n"
        "An output directory is written in parts. If a run is killed, the same command "
        "continues after the last complete part: no row is lost or written twice.\n"
        "\n"
        "An output file that exists is refused unless --overwrite is given. An output "
        "directory may exist and hold other files, which stay; if it holds parts of "
        "another prediction it is refused unless --overwrite is given, which replaces "
        "them. An input, or a directory that holds one, is never an output.",
    .examples = examples,
    .opts = opts,
    .conf_size = sizeof(struct predict_conf),
    .min_args = 0,
    .max_args = 1,
    .run = predict_command,
};
