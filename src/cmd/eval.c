/* SPDX-License-Identifier: Apache-2.0 */
/* eval: opens the config with its overrides and the checkpoint, builds the session with
 * the seed that the checkpoint was trained with, restores all of it, and runs one
 * evaluation over eval_input_path. The result goes to stdout and, as a line of JSON with
 * the step, to the end of eval_result.txt in model_dir, in the form of the lines that
 * training writes.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/cpu.h"
#include "base/fs.h"
#include "base/mem.h"
#include "ckpt/ckpt.h"
#include "cmd/cmd.h"
#include "cmd/device.h"
#include "cmd/ranks.h"
#include "cmd/train_config.h"
#include "train/dense_tables.h"
#include "train/export/export.h"
#include "train/save.h"
#include "train/trainer.h"

struct eval_conf {
    const char *eval_input, *model_dir, *checkpoint, *edit_config_json, *result,
        *table_dir, *device;
    struct opt_list set;
    int64_t threads;
    bool json;
};

static const struct opt opts[] = {
    {OPT_TEXT(struct eval_conf, eval_input, NULL, "override eval_input_path"),
     .meta = "PATH", .alias = "eval-input-path", .filled = true},
    {OPT_TEXT(struct eval_conf, model_dir, NULL, "override model_dir"), .meta = "DIR",
     .filled = true},
    {OPT_TEXT(struct eval_conf, checkpoint, NULL,
              "use this checkpoint instead of the latest or best one in model_dir"),
     .meta = "CKPT", .alias = "checkpoint-path", .filled = true},
    {OPT_TEXT(struct eval_conf, result, "eval_result.txt",
              "file in model_dir to append the result to"),
     .flag = "eval-result-filename", .meta = "NAME", .filled = true},
    {OPT_LIST(struct eval_conf, set, "override a value of the config"),
     .meta = "PATH=VALUE"},
    {OPT_TEXT(struct eval_conf, edit_config_json, NULL,
              "override several values: an object of paths and values"),
     .meta = "JSON", .filled = true},
    {OPT_INT(struct eval_conf, threads, "0", 0, POOL_THREADS_MAX,
             "number of threads; 0: one per CPU")},
    {CMD_DEVICE_OPT(struct eval_conf)},
    {OPT_TEXT(struct eval_conf, table_dir, NULL,
              "keep embedding tables in files in this directory"),
     .meta = "DIR", .filled = true},
    {OPT_BOOL(struct eval_conf, json, "false", "print the result as one line of JSON")},
    {0},
};

static enum rc print_result(const struct eval_conf *c, const struct pc_EasyRecConfig *pc,
                            const struct train_score_line *lines, size_t n, int64_t step,
                            struct err *err)
{
    struct buf b, line;
    buf_init(&b, CMD_TEXT_MAX);
    buf_init(&line, CMD_TEXT_MAX);
    train_score_json(lines, n, step, &line);
    if (c->json)
        buf_add(&b, buf_str(&line), line.n);
    for (size_t i = 0; i < n && !c->json; i++)
        if (lines[i].defined)
            buf_printf(&b, "%-24s %.6f%s%s\n", lines[i].name, lines[i].value,
                       lines[i].why ? "  " : "", lines[i].why ? lines[i].why : "");
        else
            buf_printf(&b, "%-24s undefined: %s\n", lines[i].name, lines[i].why);
    char *path = fs_join(pc->model_dir, c->result);
    enum rc rc = fs_add_line(path, buf_str(&line), line.n, err);
    mem_free(path);
    if (!rc)
        rc = cmd_print(&b, err);
    buf_release(&b);
    buf_release(&line);
    return rc;
}

/* A checkpoint that was converted from elsewhere has weights and nothing of a run. */
static enum rc load_session(struct train_session *s, const struct ckpt *c,
                            struct err *err)
{
    struct arena a = {0};
    const char *position;
    enum rc rc = ckpt_json(c, "session")
                     ? train_session_resume(s, c, false, &a, &position, err)
                     : train_session_load_weights(s, c, false, err);
    arena_release(&a);
    return rc;
}

/* The session is made for training, since a checkpoint restores all of it. */
static enum rc evaluate_checkpoint(const struct eval_conf *c, const struct conf *config,
                                   struct pool *pool, const struct device *device,
                                   struct diags *diags, struct err *err)
{
    const struct pc_EasyRecConfig *pc = config->data;
    struct train_session_options so = {.pool = pool,
                                       .device = device,
                                       .training = true,
                                       .farm_hash = config_farm_hash(),
                                       .table_dir = c->table_dir};
    struct ckpt *ckpt = NULL;
    struct train_session *s = NULL;
    struct train_score *score = NULL;
    const struct train_score_line *lines = NULL;
    size_t n = 0;
    char *picked = NULL, why[EXPORT_WHY_SIZE] = "";
    enum rc rc = train_export_pick(pc, c->checkpoint, &picked, why, err);
    if (!rc)
        rc = ckpt_open(picked, 0, &ckpt, NULL, err);
    if (!rc)
        config_tell_checkpoint(ckpt_path(ckpt), why);
    mem_free(picked);
    if (!rc && ckpt_json(ckpt, "session"))
        rc = train_session_saved_seed(ckpt, &so.seed, err);
    if (!rc) {
        train_dense_tables_of(ckpt, &so);
        rc = train_session_create(pc, &so, &s, diags, err);
    }
    if (!rc)
        rc = load_session(s, ckpt, err);
    if (!rc)
        config_note_types("eval", s);
    if (!rc)
        rc = train_score_create(s, false, &score, err);
    if (!rc)
        rc = train_evaluate(s, score, NULL, NULL, diags, &lines, &n, err);
    if (!rc && s->outside && s->outside[0])
        fprintf(stderr, "note: %s", s->outside);
    if (!rc)
        rc = print_result(c, pc, lines, n, ckpt_step(ckpt), err);
    train_score_destroy(score);
    train_session_destroy(s);
    ckpt_close(ckpt);
    return rc;
}

static enum rc eval_here(const void *conf, const struct opt_args *args, struct err *err)
{
    const struct eval_conf *c = conf;
    struct conf config = {0};
    struct diags diags = {0};
    struct pool *pool = NULL;
    struct device *device = NULL;
    const struct config_override overrides[] = {
        {"--eval-input", "eval_input_path", c->eval_input},
        {"--model-dir", "model_dir", c->model_dir}};
    enum rc rc = config_open(args->at[0], overrides, ARRAY_LEN(overrides), &c->set,
                             c->edit_config_json, &config, &diags, err);
    if (!rc)
        rc = pool_create(c->threads > 0 ? (int)c->threads : cpu_count(), &pool, err);
    if (!rc)
        rc = cmd_device_open(c->device, &device, err);
    if (!rc)
        rc = evaluate_checkpoint(c, &config, pool, device, &diags, err);
    config_show(&diags);
    device_close(device);
    pool_destroy(pool);
    diags_release(&diags);
    conf_release(&config);
    return rc;
}

/* Of several ranks the first does it. */
static enum rc eval_command(const void *conf, const struct opt_args *args,
                            struct err *err)
{
    return cmd_ranks_idle() ? RC_OK : eval_here(conf, args, err);
}

static const struct cmd_example examples[] = {
    {"the latest or best checkpoint, on the data the config names",
     "trainyard eval pipeline.config"},
    {"another checkpoint and other data",
     "trainyard eval pipeline.config --checkpoint run1/model.ckpt-1000 --eval-input day2"},
    {0},
};

const struct cmd cmd_eval = {
    .name = "eval",
    .args = "CONFIG",
    .summary = "evaluate a checkpoint",
    .description =
        "Prints the metrics that the config requests over all evaluation data, and "
        "appends them as a line of JSON to eval_result.txt in model_dir. If a metric "
        "cannot be computed, the output says why.\n"
        "\n"
        "The checkpoint is the one that export and predict take: the best if "
        "export_config says so or the run was trained with --patience, else the latest.",
    .examples = examples,
    .opts = opts,
    .conf_size = sizeof(struct eval_conf),
    .min_args = 1,
    .max_args = 1,
    .run = eval_command,
};
