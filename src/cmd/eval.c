/* SPDX-License-Identifier: Apache-2.0 */
/* eval: opens the config with its overrides and the checkpoint, builds the session with
 * the seed that the checkpoint was trained with, restores all of it, and runs one
 * evaluation over eval_input_path. The result goes to stdout and, as a line of JSON with
 * the step, to the end of eval_result.txt in model_dir, in the form of the lines that
 * training writes. Several ranks each evaluate their stretches of the data, with the tables
 * spread over them; the first one prints and writes.
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
#include "comm/comm.h"
#include "dist/shards.h"
#include "train/agree.h"
#include "train/dense_tables.h"
#include "train/export/export.h"
#include "train/save.h"
#include "train/trainer.h"

struct eval_conf {
    const char *eval_input, *model_dir, *checkpoint, *edit_config_json, *result,
        *table_dir, *device;
    struct opt_list set;
    int64_t threads, shards;
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
    {OPT_TEXT(struct eval_conf, result, NULL,
              "file in model_dir to append the result to; default: eval_result.txt, if "
              "model_dir can be written"),
     .flag = "eval-result-filename", .meta = "NAME", .filled = true},
    {OPT_LIST(struct eval_conf, set, "override a value of the config"),
     .meta = "PATH=VALUE"},
    {OPT_TEXT(struct eval_conf, edit_config_json, NULL,
              "override several values: an object of paths and values"),
     .meta = "JSON", .filled = true},
    {OPT_INT(struct eval_conf, threads, "0", 0, POOL_THREADS_MAX,
             "number of threads; 0: one per CPU")},
    {OPT_INT(struct eval_conf, shards, "0", 0, DIST_SHARDS_MAX,
             "number of stretches of the data that are evaluated by themselves and "
             "merged; 0: one per rank"),
     .meta = "N"},
    {CMD_DEVICE_OPT(struct eval_conf)},
    {OPT_TEXT(struct eval_conf, table_dir, NULL,
              "keep embedding tables in files in this directory"),
     .meta = "DIR", .filled = true},
    {OPT_BOOL(struct eval_conf, json, "false", "print the result as one line of JSON")},
    {0},
};

/* In model_dir. One that may only be read, such as another's, is no reason to refuse, unless
 * the file was asked for.
 */
static enum rc keep_result(const struct eval_conf *c, const struct pc_EasyRecConfig *pc,
                           const struct buf *line, struct err *err)
{
    char *path = fs_join(pc->model_dir, c->result ? c->result : "eval_result.txt");
    struct err why = {0};
    enum rc rc = fs_add_line(path, buf_str(line), line->n, c->result ? err : &why);
    if (rc && !c->result) {
        fprintf(stderr, "note: the result is not kept: %s\n", why.msg);
        rc = RC_OK;
    }
    mem_free(path);
    return rc;
}

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
    enum rc rc = keep_result(c, pc, &line, err);
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

/* Stretches of the data; there is at least one for each rank. */
static enum rc shards_of(const struct eval_conf *c, const struct cmd_ranks *ranks,
                         int *out, struct err *err)
{
    int least = ranks->comm ? ranks->world : 1;
    *out = c->shards ? (int)c->shards : ranks->shards > least ? ranks->shards : least;
    if (*out >= least)
        return RC_OK;
    return err_coded(err, RC_INVAL, E2505,
                     "%d ranks, but the data has %d shard%s: start at most as many ranks "
                     "as shards",
                     least, *out, *out == 1 ? "" : "s");
}

/* Ranks with other files would wait for each other, or add up what does not belong together. */
static enum rc agree(const struct conf *config, const struct train_session *s,
                     const struct ckpt *ckpt, struct err *err)
{
    static const char *const names[] = {"version of the program", "config",
                                        "number of shards", "checkpoint"};
    struct buf facts;
    buf_init(&facts, CMD_TEXT_MAX);
    buf_printf(&facts, "%s%c", TY_VERSION, 0);
    train_agree_config(config, &facts);
    buf_printf(&facts, "%d%cstep %jd%c", s->shards.total, 0, (intmax_t)ckpt_step(ckpt),
               0);
    enum rc rc = train_agree(s->options.comm, names, (int)ARRAY_LEN(names), &facts, err);
    buf_release(&facts);
    return rc;
}

/* The session is made for training, since a checkpoint restores all of it. */
static enum rc evaluate_checkpoint(const struct eval_conf *c, const struct conf *config,
                                   struct pool *pool, const struct device *device,
                                   const struct cmd_ranks *ranks, struct diags *diags,
                                   struct err *err)
{
    const struct pc_EasyRecConfig *pc = config->data;
    struct train_session_options so = {.pool = pool,
                                       .comm = ranks->comm,
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
    enum rc rc = shards_of(c, ranks, &so.shards, err);
    if (!rc)
        rc = train_export_pick(pc, c->checkpoint, &picked, why, err);
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
        rc = agree(config, s, ckpt, err);
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
    if (!rc && ranks->rank == 0)
        rc = print_result(c, pc, lines, n, ckpt_step(ckpt), err);
    train_score_destroy(score);
    train_session_destroy(s);
    ckpt_close(ckpt);
    return rc;
}

static enum rc eval_rank(const struct eval_conf *c, const struct opt_args *args,
                         const struct cmd_ranks *ranks, struct err *err)
{
    struct conf config = {0};
    struct diags diags = {0};
    struct pool *pool = NULL;
    struct device *device = NULL;
    int threads = cmd_ranks_threads(ranks, c->threads);
    const struct config_override overrides[] = {
        {"--eval-input", "eval_input_path", c->eval_input},
        {"--model-dir", "model_dir", c->model_dir}};
    enum rc rc = config_open(args->at[0], overrides, ARRAY_LEN(overrides), &c->set,
                             c->edit_config_json, &config, &diags, err);
    if (!rc)
        rc = pool_create(threads > 0 ? threads : cpu_count(), &pool, err);
    if (!rc)
        rc = cmd_device_open(c->device, &device, err);
    if (!rc)
        rc = evaluate_checkpoint(c, &config, pool, device, ranks, &diags, err);
    config_show(&diags);
    device_close(device);
    pool_destroy(pool);
    diags_release(&diags);
    conf_release(&config);
    return rc;
}

static enum rc eval_command(const void *conf, const struct opt_args *args,
                            struct err *err)
{
    struct cmd_ranks ranks = {0};
    enum rc rc = cmd_ranks_open(&ranks, err);
    if (!rc)
        rc = eval_rank(conf, args, &ranks, err);
    return cmd_ranks_close(&ranks, rc, err);
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
        "export_config says so or the run was trained with --patience, else the latest.\n"
        "\n"
        "Several ranks (see launch) share data and tables. Metrics depend on --shards in "
        "their last digit at most, and not on the number of ranks.",
    .examples = examples,
    .opts = opts,
    .conf_size = sizeof(struct eval_conf),
    .min_args = 1,
    .max_args = 1,
    .run = eval_command,
};
