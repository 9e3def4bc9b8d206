/* SPDX-License-Identifier: Apache-2.0 */
/* train: opens the config with its overrides, fills in struct train_options and hands
 * over to train_run(). train_show.c shows what happens; struct watch ties it to the file
 * descriptor of signals, by which the trainer asks after each step whether to stop. With
 * --patience the config is looked at first: the best checkpoint is kept, unless it says
 * itself which one is exported.
 */
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "cmd/cmd.h"
#include "cmd/device.h"
#include "cmd/ranks.h"
#include "cmd/stop_signals.h"
#include "cmd/train_config.h"
#include "cmd/train_ps.h"
#include "cmd/train_show.h"
#include "dist/shards.h"
#include "model/reference.h"
#include "train/trainer.h"

struct train_conf {
    const char *train_input, *eval_input, *temporary, *model_dir, *fine_tune,
        *edit_config_json, *log;
    const char *table_dir, *data, *device, *like_reference, *reference_plan, *wire;
    const char *ps, *ps_mode;
    struct opt_list set;
    int64_t threads, seed, patience, shards, geo_step;
    double save_every;
    int64_t memory;
    bool resume, overcommit, fresh, strict, restart_schedules;
};

static const struct opt opts[] = {
    {OPT_TEXT(struct train_conf, train_input, NULL, "override train_input_path"),
     .meta = "PATH", .alias = "train-input-path", .filled = true},
    {OPT_TEXT(struct train_conf, eval_input, NULL, "override eval_input_path"),
     .meta = "PATH", .alias = "eval-input-path"},
    {OPT_CHOICE(struct train_conf, temporary, NULL, "train|eval|both",
                "which of --train-input and --eval-input is about to be deleted: "
                "MODEL_DIR/pipeline.config names the config's own input instead"),
     .flag = "temporary-input"},
    {OPT_TEXT(struct train_conf, model_dir, NULL, "override model_dir"), .meta = "DIR",
     .filled = true},
    {OPT_BOOL(struct train_conf, resume, "false",
              "resume from the latest checkpoint in model_dir, if there is one"),
     .flag = "continue", .alias = "continue-train"},
    {OPT_CHOICE(
        struct train_conf, data, "auto", "auto|restart|resume",
        "with --continue: start the data at its beginning, or resume where the "
        "checkpoint left it (E1212 if it is other data); auto: resume if it is the "
        "same data")},
    {OPT_BOOL(struct train_conf, restart_schedules, "false",
              "with --continue: restart learning-rate schedules, including warm-up")},
    {OPT_TEXT(struct train_conf, like_reference, NULL,
              "follow TorchEasyRec where Trainyard differs on purpose: mean, workers, "
              "schedules, tables, steps, comma-separated, or all; see docs/compat.md"),
     .meta = "WHAT", .filled = true},
    {OPT_TEXT(
         struct train_conf, reference_plan, NULL,
         "with --like-reference tables: a checkpoint of TorchEasyRec, whose plan says "
         "which tables the dense optimizer updates"),
     .meta = "DIR", .filled = true},
    {OPT_TEXT(struct train_conf, fine_tune, NULL,
              "initialize the weights from this checkpoint"),
     .meta = "CKPT", .alias = "fine-tune-checkpoint", .filled = true},
    {OPT_BOOL(struct train_conf, fresh, "false",
              "with --fine-tune or --continue: discard the checkpoint's optimizer state"),
     .flag = "fresh-optimizer", .alias = "ignore-restore-optimizer"},
    {OPT_BOOL(
        struct train_conf, strict, "false",
        "with --fine-tune: refuse a checkpoint in which a parameter has another shape, "
        "instead of initializing that parameter")},
    {OPT_LIST(struct train_conf, set, "override a value of the config"),
     .meta = "PATH=VALUE"},
    {OPT_TEXT(struct train_conf, edit_config_json, NULL,
              "override several values: an object of paths and values"),
     .meta = "JSON", .filled = true},
    {OPT_INT(struct train_conf, threads, "0", 0, POOL_THREADS_MAX,
             "number of threads; 0: one per CPU. Results do not depend on it")},
    {CMD_DEVICE_OPT(struct train_conf)},
    {OPT_INT(struct train_conf, shards, "0", 0, DIST_SHARDS_MAX,
             "number of shards of a batch, each with batch_size rows; 0: as in the "
             "checkpoint, else one per rank"),
     .meta = "N"},
    {OPT_CHOICE(
        struct train_conf, wire, "f32", "f32|bf16",
        "with several shards: format in which embedding vectors and their gradients "
        "are sent; bf16 rounds them and halves the bytes. Results then differ from "
        "f32, but not with the number of ranks")},
    {OPT_TEXT(struct train_conf, table_dir, NULL,
              "keep embedding tables in files in this directory, for tables larger "
              "than memory"),
     .meta = "DIR", .filled = true},
    {OPT_INT(struct train_conf, seed, "1", 0, INT64_MAX, "random seed")},
    {OPT_DURATION(struct train_conf, save_every, "0", 0, 1e9,
                  "save a checkpoint at least this often, in addition to the config; "
                  "0: off")},
    {OPT_INT(struct train_conf, patience, "0", 0, INT64_MAX,
             "stop after this many evaluations in a row without improvement; 0: never"),
     .meta = "N"},
    {OPT_SIZE(struct train_conf, memory, "0", 0, INT64_MAX,
              "memory the run may use, or each of its ranks; 0: what is free and allowed "
              "on this machine"),
     .meta = "SIZE"},
    {OPT_BOOL(struct train_conf, overcommit, "false",
              "start even if the run is expected to need more memory")},
    {OPT_TEXT(struct train_conf, ps, NULL,
              "train with parameter servers: so many of them and so many trainers, as "
              "processes of this machine"),
     .meta = "SERVERSxTRAINERS", .filled = true},
    {OPT_CHOICE(struct train_conf, ps_mode, "async", "sync|half_async|async|geo",
                "with --ps: how trainers wait for each other")},
    {OPT_INT(struct train_conf, geo_step, "100", 1, INT32_MAX,
             "with --ps-mode geo: batches of a trainer between two exchanges"),
     .flag = "ps-geo-step", .meta = "N"},
    {OPT_CHOICE(struct train_conf, log, "text", "text|json",
                "format of progress messages")},
    {0},
};

struct watch {
    struct train_show show;
    int signals; /* fd, or -1 */
    struct cmd_ranks *ranks;
};

/* `arg` is the show, which comes first in struct watch. */
static bool on_stop(void *arg)
{
    struct watch *w = arg;
    if (!stop_signals_came(w->signals))
        return false;
    train_show_note(&w->show, "stopping: saving a checkpoint; press Ctrl-C again to stop "
                              "immediately");
    return true;
}

/* The courier of a step would wait for the others otherwise. */
static void on_failed(void *arg, enum rc rc, struct err *err)
{
    struct watch *w = arg;
    cmd_ranks_fail(w->ranks, rc, err);
}

static enum train_data data_of(const char *name)
{
    return strcmp(name, "restart") == 0  ? TRAIN_DATA_RESTART
           : strcmp(name, "resume") == 0 ? TRAIN_DATA_RESUME
                                         : TRAIN_DATA_AUTO;
}

/* The bits of --like-reference. */
static enum rc reference_of(const char *list, unsigned *out, struct err *err)
{
    static const struct {
        const char *name;
        unsigned bits;
    } names[] = {{"mean", REFERENCE_MEAN},           {"workers", REFERENCE_WORKERS},
                 {"schedules", REFERENCE_SCHEDULES}, {"tables", REFERENCE_TABLES},
                 {"steps", REFERENCE_STEPS},         {"all", REFERENCE_ALL}};
    struct str rest = str_c(list ? list : ""), part;
    *out = 0;
    while (rest.n && str_split(&rest, ',', &part)) {
        size_t i = 0;
        part = str_trim(part);
        while (i < ARRAY_LEN(names) && !str_is(part, names[i].name))
            i++;
        if (i == ARRAY_LEN(names))
            return err_coded(err, RC_INVAL, E0603,
                             "--like-reference: '%.*s' is not one of mean, workers, "
                             "schedules, tables, steps, all",
                             (int)part.n, part.p);
        *out |= names[i].bits;
    }
    return RC_OK;
}

/* Of one rank: what is free is for all of this machine. */
static int64_t memory_of(const struct train_conf *c, const struct cmd_ranks *ranks)
{
    return c->memory ? c->memory : config_memory(0) / (ranks->here > 0 ? ranks->here : 1);
}

static enum rc train_config_file(const struct train_conf *c, const struct conf *config,
                                 struct cmd_ranks *ranks, const struct device *device,
                                 struct diags *diags, struct err *err)
{
    const struct pc_EasyRecConfig *pc = config->data;
    struct train_result result = {0};
    unsigned reference = 0;
    enum rc bad = reference_of(c->like_reference, &reference, err);
    if (!bad && c->reference_plan && !(reference & REFERENCE_TABLES))
        bad = err_coded(err, RC_INVAL, E0603,
                        "--reference-plan goes with --like-reference tables");
    if (bad)
        return bad;
    struct watch w = {.signals = stop_signals_watch(), .ranks = ranks};
    struct train_options o = {.conf = config,
                              .threads = cmd_ranks_threads(ranks, c->threads),
                              .comm = ranks->comm,
                              .seed = (uint64_t)c->seed,
                              .resume = c->resume,
                              .data = data_of(c->data),
                              .restart_schedules =
                                  c->restart_schedules ||
                                  (c->resume && reference & REFERENCE_SCHEDULES),
                              .reference = reference,
                              .reference_plan = c->reference_plan,
                              .fine_tune = c->fine_tune,
                              .fresh_optimizer = c->fresh,
                              .strict = c->strict,
                              .farm_hash = config_farm_hash(),
                              .shards = (int)c->shards,
                              .first_shards = ranks->shards,
                              .force_plan = config_force_plan(),
                              .half_wire = strcmp(c->wire, "bf16") == 0,
                              .local = ranks->here,
                              .table_dir = c->table_dir,
                              .device = device,
                              .save_seconds = c->save_every,
                              .patience = c->patience,
                              .memory = c->overcommit ? 0 : memory_of(c, ranks),
                              .watch = {.stop = on_stop, .failed = on_failed}};
    if (ranks->launched)
        stop_signals_launched();
    train_show_init(&w.show, strcmp(c->log, "json") == 0);
    o.watch.arg = &w.show;
    if (ranks->rank == 0 || ranks->logs)
        train_show_watch(&w.show, &o.watch);
    enum rc rc = train_run(&o, &result, diags, err);
    train_show_clear(&w.show);
    if (w.show.json)
        config_show_json(diags);
    else
        config_show(diags);
    if (!rc && (ranks->rank == 0 || ranks->logs))
        train_show_end(&w.show, &result, pc->model_dir);
    if (w.signals >= 0)
        close(w.signals);
    train_result_release(&result);
    return rc;
}

typedef enum rc open_fn(const char *path, const struct config_override *overrides,
                        size_t n, const struct opt_list *set, const char *edit_json,
                        struct conf *c, struct diags *diags, struct err *err);

static enum rc open_config(const struct train_conf *c, const char *path, open_fn *fn,
                           bool best, struct conf *out, struct diags *diags,
                           struct err *err)
{
    const struct config_override overrides[] = {
        {"--train-input", "train_input_path", c->train_input},
        {"--eval-input", "eval_input_path", c->eval_input},
        {"--model-dir", "model_dir", c->model_dir},
        {"--patience", "export_config.exporter_type", best ? "best" : NULL}};
    return fn(path, overrides, ARRAY_LEN(overrides), &c->set, c->edit_config_json, out,
              diags, err);
}

/* Early stopping is of no use when the worse model after the best is exported: unless the
 * config says which one, the best is kept, and taken by export and predict.
 */
static bool wants_best(const struct train_conf *c, const char *path)
{
    struct conf config = {0};
    struct diags unheard = {0};
    bool best = c->patience > 0 && open_config(c, path, config_read, false, &config,
                                               &unheard, NULL) == RC_OK;
    if (best) {
        const struct pc_EasyRecConfig *pc = config.data;
        best = !(pc->export_config && pc->export_config->has_exporter_type);
    }
    diags_release(&unheard);
    conf_release(&config);
    return best;
}

/* What the config says by itself about an input that will be gone goes into the tree that
 * is kept in model_dir; the run reads what is bound already.
 */
static void forget_inputs(const struct train_conf *c, const char *path,
                          struct conf *config)
{
    const bool both = c->temporary && strcmp(c->temporary, "both") == 0;
    const struct {
        const char *field;
        bool gone;
    } inputs[] = {
        {"train_input_path",
         both || (c->temporary && strcmp(c->temporary, "train") == 0)},
        {"eval_input_path", both || (c->temporary && strcmp(c->temporary, "eval") == 0)}};
    struct train_conf own = *c;
    struct conf before = {0};
    struct diags unheard = {0};
    own.train_input = own.eval_input = NULL;
    (void)open_config(&own, path, config_read, false, &before, &unheard, NULL);
    for (size_t i = 0; c->temporary && i < ARRAY_LEN(inputs); i++) {
        if (!inputs[i].gone)
            continue;
        const char *said =
            before.doc.root ? node_get_text(before.doc.root, inputs[i].field, "") : "";
        node_remove(config->doc.root, inputs[i].field);
        if (*said)
            node_put(&config->arena, config->doc.root, inputs[i].field,
                     node_str(&config->arena, said, strlen(said), (struct span){0}));
    }
    diags_release(&unheard);
    conf_release(&before);
}

/* Options that would be taken without a word and do nothing. */
static enum rc check_usage(const struct train_conf *c, struct err *err)
{
    if (strcmp(c->data, "auto") != 0 && !c->resume)
        return err_coded(err, RC_INVAL, E0609, "--data %s needs --continue", c->data);
    if (c->restart_schedules && !c->resume)
        return err_coded(err, RC_INVAL, E0609, "--restart-schedules needs --continue");
    unsigned reference;
    enum rc rc = reference_of(c->like_reference, &reference, err);
    if (rc)
        return rc;
    if (c->memory && c->overcommit)
        return err_coded(
            err, RC_INVAL, E0609,
            "--memory sets a limit that --overcommit ignores; leave one out");
    return RC_OK;
}

static enum rc check_patience(const struct train_conf *c, const struct conf *config,
                              struct err *err)
{
    const struct pc_EasyRecConfig *pc = config->data;
    if (c->patience <= 0 || pc->eval_input_path[0])
        return RC_OK;
    return err_coded(
        err, RC_INVAL, E0609,
        "--patience needs evaluations, and the config has no eval_input_path; "
        "--eval-input PATH names one");
}

static enum rc train_rank(const struct train_conf *c, const char *path,
                          struct cmd_ranks *ranks, struct err *err)
{
    struct conf config = {0};
    struct diags diags = {0};
    struct device *device = NULL;
    bool json = strcmp(c->log, "json") == 0;
    enum rc rc = open_config(c, path, json ? config_open_json : config_open,
                             wants_best(c, path), &config, &diags, err);
    if (!rc && c->temporary)
        forget_inputs(c, path, &config);
    if (!rc)
        rc = check_patience(c, &config, err);
    if (!rc)
        rc = cmd_device_open(c->device, &device, err);
    if (!rc)
        rc = train_config_file(c, &config, ranks, device, &diags, err);
    device_close(device);
    diags_release(&diags);
    conf_release(&config);
    return rc;
}

/* What servers and trainers do not do. */
static enum rc check_ps(const struct train_conf *c, struct err *err)
{
    const struct {
        const char *flag;
        bool given;
    } without[] = {{"--continue", c->resume},
                   {"--fine-tune", c->fine_tune},
                   {"--like-reference", c->like_reference},
                   {"--shards", c->shards > 0},
                   {"--table-dir", c->table_dir},
                   {"--save-every", c->save_every > 0},
                   {"--patience", c->patience > 0},
                   {"--log json", strcmp(c->log, "json") == 0},
                   {"--device", c->device && strcmp(c->device, "cpu") != 0}};
    for (size_t i = 0; i < ARRAY_LEN(without); i++)
        if (without[i].given)
            return err_coded(err, RC_INVAL, E0609, "--ps has no %s", without[i].flag);
    return RC_OK;
}

/* This command again, for each process; in `a`. */
static const char *const *ps_words(const struct train_conf *c, const char *path,
                                   struct arena *a)
{
    const char **w = arena_alloc(a, (2 * c->set.n + 24) * sizeof(*w));
    const char *pairs[][2] = {{"--train-input", c->train_input},
                              {"--eval-input", c->eval_input},
                              {"--model-dir", c->model_dir},
                              {"--edit-config-json", c->edit_config_json},
                              {"--temporary-input", c->temporary},
                              {"--ps", c->ps},
                              {"--ps-mode", c->ps_mode}};
    size_t n = 0;
    w[n++] = "train";
    for (size_t i = 0; i < ARRAY_LEN(pairs); i++)
        if (pairs[i][1]) {
            w[n++] = pairs[i][0];
            w[n++] = pairs[i][1];
        }
    for (size_t i = 0; i < c->set.n; i++) {
        w[n++] = "--set";
        w[n++] = c->set.at[i];
    }
    w[n++] = arena_printf(a, "--ps-geo-step=%jd", (intmax_t)c->geo_step);
    w[n++] = arena_printf(a, "--seed=%jd", (intmax_t)c->seed);
    w[n++] = arena_printf(a, "--threads=%jd", (intmax_t)(c->threads ? c->threads : 1));
    w[n++] = "--";
    w[n++] = path;
    w[n] = NULL;
    return w;
}

static enum rc train_with_servers(const struct train_conf *c, const char *path,
                                  struct err *err)
{
    struct conf config = {0};
    struct diags diags = {0};
    struct arena a = {0};
    struct train_ps_command p = {.ps = c->ps,
                                 .mode = c->ps_mode,
                                 .conf = &config,
                                 .geo_step = c->geo_step,
                                 .seed = c->seed,
                                 .threads = c->threads,
                                 .args = ps_words(c, path, &a)};
    enum rc rc = check_ps(c, err);
    if (!rc)
        rc = open_config(c, path, config_open, false, &config, &diags, err);
    if (!rc)
        rc = train_ps_command(&p, err);
    diags_release(&diags);
    conf_release(&config);
    arena_release(&a);
    return rc;
}

static enum rc train_command(const void *conf, const struct opt_args *args,
                             struct err *err)
{
    struct cmd_ranks ranks;
    const struct train_conf *c = conf;
    enum rc rc = check_usage(c, err);
    if (!rc && c->ps)
        return train_with_servers(c, args->at[0], err);
    if (!rc) {
        rc = cmd_ranks_open(&ranks, err);
        if (!rc)
            rc = train_rank(c, args->at[0], &ranks, err);
        rc = cmd_ranks_close(&ranks, rc, err);
    }
    if (rc && strcmp(c->log, "json") == 0)
        train_show_failure(rc, err);
    return rc;
}

static const struct cmd_example examples[] = {
    {"as the config says", "trainyard train pipeline.config"},
    {"other data and another model directory",
     "trainyard train pipeline.config --train-input 'data/*.parquet' --model-dir run1"},
    {"resume an interrupted run exactly where it stopped",
     "trainyard train pipeline.config --continue"},
    {"by two parameter servers and four trainers",
     "trainyard train pipeline.config --ps 2x4 --ps-mode geo"},
    {"on four ranks", "mpirun -n 4 trainyard train pipeline.config"},
    {0},
};

const struct cmd cmd_train = {
    .name = "train",
    .args = "CONFIG",
    .summary = "train the model described by a pipeline.config",
    .description =
        "Reads the data, trains, saves checkpoints and evaluates after each of them, "
        "as the config says. Results depend only on the config, the data and the seed, "
        "not on the number of threads or on where a run was interrupted and resumed.\n"
        "\n"
        "Progress goes to stderr. SIGTERM, SIGHUP, Ctrl-C or a reader that closes stderr "
        "(2>&1 | head) saves a checkpoint and ends the run; a second SIGTERM or Ctrl-C "
        "ends it immediately. Only one run at a time may write to a model_dir.\n"
        "\n"
        "Started by mpirun, `trainyard launch` or srun, the processes train the model "
        "together: each works on some of the shards of a batch, and tables are spread "
        "over them. Results depend on the number of shards, not on the number of "
        "processes. See docs/ranks.md.",
    .examples = examples,
    .opts = opts,
    .conf_size = sizeof(struct train_conf),
    .min_args = 1,
    .max_args = 1,
    .run = train_command,
};
