/* SPDX-License-Identifier: Apache-2.0 */
/* Before the first step, in this order: the session and its scores, an earlier checkpoint
 * to resume or to fine-tune from, the data behind the position of that checkpoint, the
 * memory that the run will take, and the files of model_dir. Results of steps that come
 * again are truncated last, when nothing can fail any more.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/cpu.h"
#include "base/fs.h"
#include "base/mem.h"
#include "comm/comm.h"
#include "data/reader.h"
#include "text/json.h"
#include "text/prototext.h"
#include "train/budget.h"
#include "train/changes.h"
#include "train/columns.h"
#include "train/event_time.h"
#include "train/placement.h"
#include "train/run_file.h"
#include "train/save.h"
#include "train/trainer_private.h"

#define CHANGES_SHOWN 5

void trainer_note(const struct trainer *t, const char *fmt, ...)
{
    char text[ERR_MSG_SIZE];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    if (t->o->watch.note)
        t->o->watch.note(t->o->watch.arg, text);
}

void trainer_note_lines(const struct trainer *t, const char *about, const char *text)
{
    struct str rest = str_c(text ? text : ""), line;
    while (rest.n && str_split(&rest, '\n', &line))
        if (line.n)
            trainer_note(t, "%s: %.*s", about, (int)line.n, line.p);
}

/* The config as it is after all edits, kept beside the checkpoints. */
static enum rc write_config(struct trainer *t, struct err *err)
{
    const char *dir = t->conf->model_dir;
    buf_init(&t->config, SOURCE_MAX);
    prototext_print(t->o->conf->doc.root, &t->config);
    enum rc rc = buf_check(&t->config, err);
    if (rc || !trainer_writes(t))
        return rc;
    if (!rc)
        rc = fs_mkdirs(dir, 0755, err);
    char *path = fs_join(dir, "pipeline.config");
    if (!rc)
        rc = fs_write(path, t->config.p, t->config.n, 0644, err);
    mem_free(path);
    path = fs_join(dir, "version");
    if (!rc)
        rc = fs_write(path, TY_VERSION "\n", strlen(TY_VERSION) + 1, 0644, err);
    mem_free(path);
    if (!rc && t->placement.plan.n)
        rc = train_plan_write(dir, &t->placement, err);
    return rc;
}

/* `blob` is NULL when the data had no event times. */
static void resume_event_time(struct trainer *t, const struct node *blob)
{
    const struct node *ms = blob ? node_find(blob, "ms") : NULL;
    if (ms && node_i64(ms, &t->event_from_ms))
        t->event_ms = t->event_from_ms;
}

static enum rc resume_from(struct trainer *t, const char *dir, struct err *err)
{
    struct ckpt *c = NULL;
    char *passed_over = NULL;
    enum rc rc = ckpt_open(dir, 0, &c, &passed_over, err);
    if (passed_over)
        trainer_note(t, "%s", passed_over);
    mem_free(passed_over);
    if (!rc)
        rc = train_session_resume(t->session, c, t->o->fresh_optimizer, &t->arena,
                                  &t->position, err);
    if (!rc) {
        t->saved_step = t->told_step = (int64_t)t->session->step - 1;
        if (t->o->restart_schedules) {
            t->session->schedule_step = t->session->step;
            t->session->schedule_epoch = t->session->epoch;
        }
        t->resumed_from = arena_strdup(&t->arena, ckpt_path(c));
        t->old_config = arena_strdup(&t->arena, ckpt_config(c));
        t->untyped = t->session->columns.n == 0 &&
                     t->conf->data_config->dataset_type == pc_DatasetType_CsvDataset;
        if (ckpt_json(c, TRAIN_METRICS))
            train_score_load(t->moving, ckpt_json(c, TRAIN_METRICS));
        resume_event_time(t, ckpt_json(c, TRAIN_EVENT_TIME));
    }
    ckpt_close(c);
    return rc;
}

/* The position of a checkpoint of another run: the epochs of this one count from 0. */
static const char *position_in(struct trainer *t, const struct ckpt *c)
{
    const struct node *data = ckpt_json(c, "data");
    struct buf b;
    if (!data)
        return NULL;
    struct node *copy = node_clone(&t->arena, data), *epoch = node_find(copy, "epoch");
    if (epoch)
        *epoch = *node_int(&t->arena, 0, epoch->at);
    buf_init(&b, (size_t)1 << 30);
    json_print(copy, 0, &b);
    const char *text = arena_strdup(&t->arena, buf_str(&b));
    buf_release(&b);
    return text;
}

static enum rc start_from(struct trainer *t, const char *path, struct err *err)
{
    struct ckpt *c = NULL;
    enum rc rc = ckpt_open(path, 0, &c, NULL, err);
    if (!rc)
        rc = train_fine_tune(
            t->session, c,
            &(struct train_fine_tune_conf){.map = t->tc->fine_tune_ckpt_param_map,
                                           .fresh = t->o->fresh_optimizer,
                                           .strict = t->o->strict},
            &t->started, err);
    if (!rc) {
        t->started_from = arena_strdup(&t->arena, ckpt_path(c));
        train_columns_read(ckpt_json(c, TRAIN_COLUMNS), &t->session->columns);
    }
    if (!rc && t->o->resume)
        t->position = position_in(t, c);
    ckpt_close(c);
    return rc;
}

static enum rc parse_config(const char *text, struct doc *out)
{
    struct diags diags = {0};
    enum rc rc = source_from("config", text, strlen(text), &out->src, NULL);
    if (!rc)
        rc = prototext_parse(out, &diags);
    diags_release(&diags);
    return rc;
}

/* A run may go on with another learning rate or more epochs; it is said. */
static void note_changes(const struct trainer *t)
{
    struct doc old = {0}, now = {0};
    struct buf b;
    buf_init(&b, ERR_MSG_SIZE / 2);
    if (parse_config(t->old_config, &old) == RC_OK &&
        parse_config(buf_str(&t->config), &now) == RC_OK &&
        train_config_changes(old.root, now.root, CHANGES_SHOWN, &b) > 0)
        trainer_note(t, "the config has changed since the checkpoint: %s", buf_str(&b));
    buf_release(&b);
    doc_release(&old);
    doc_release(&now);
}

/* A directory beside model_dir whose name is like it and that holds a checkpoint. */
static const char *nearest_run(struct trainer *t)
{
    char *up = fs_dirname(t->conf->model_dir), *base = fs_basename(t->conf->model_dir);
    struct fs_names all = {0};
    VEC(const char *) runs = {0};
    enum rc rc = fs_list(up, &all, NULL);
    for (size_t i = 0; !rc && i < all.n; i++) {
        int64_t step = -1;
        char *path = fs_join(up, all.at[i]);
        if (fs_is_dir(path) && ckpt_latest(path, &step, NULL) == RC_OK && step >= 0)
            VEC_PUSH(&runs, all.at[i]);
        mem_free(path);
    }
    const char *near = str_nearest(str_c(base), runs.at, runs.n);
    if (near)
        near = strcmp(up, ".") == 0 ? arena_strdup(&t->arena, near)
                                    : arena_printf(&t->arena, "%s/%s", up, near);
    VEC_RELEASE(&runs);
    fs_names_release(&all);
    mem_free(up);
    mem_free(base);
    return near;
}

static void note_no_checkpoint(struct trainer *t)
{
    const char *near = nearest_run(t);
    t->no_checkpoint = arena_printf(
        &t->arena,
        "--continue: model_dir '%s' holds no checkpoint, so the run starts from its "
        "beginning%s%s%s",
        t->conf->model_dir, near ? "; did you mean '" : "", near ? near : "",
        near ? "'?" : "");
}

/* What was there before: a checkpoint of this run, or one to start from. */
static enum rc restore(struct trainer *t, struct err *err)
{
    const char *dir = t->conf->model_dir;
    const char *start = t->o->fine_tune ? t->o->fine_tune : t->tc->fine_tune_checkpoint;
    int64_t latest = -1;
    enum rc rc = ckpt_latest(dir, &latest, err);
    if (rc)
        return rc;
    if (latest >= 0 && !t->o->resume)
        return err_coded(
            err, RC_INVAL, E1405,
            "model_dir '%s' holds a checkpoint of step %jd: use --continue to resume "
            "from it, or another model_dir",
            dir, (intmax_t)latest);
    if (latest >= 0)
        return resume_from(t, dir, err);
    if (start && start[0])
        return start_from(t, start, err);
    if (t->o->resume)
        note_no_checkpoint(t);
    return RC_OK;
}

/* Rows of the shard that has most; see data/dataset_plan.c. */
static int64_t most_rows(const struct trainer *t, int64_t batch)
{
    int64_t rows = train_rounds_rows(t->rounds), shards = t->session->shards.total;
    int64_t size = rows / shards, extra = rows % shards;
    bool odd = extra && (size + 1) % batch == 1 && size % batch == 0;
    return size + (extra && !odd);
}

/* Steps of the whole run; 0 when only reading the data tells. */
static uint64_t count_steps(const struct trainer *t)
{
    int64_t batch = train_rounds_batch_size(t->rounds);
    uint64_t by_epochs = 0;
    if (t->tc->num_epochs && train_rounds_rows(t->rounds) > 0 && batch > 0) {
        int64_t rows = most_rows(t, batch);
        bool drop = t->conf->data_config->drop_remainder;
        int64_t per_pass = drop ? rows / batch : (rows + batch - 1) / batch;
        by_epochs = t->session->data_step + (uint64_t)per_pass * t->tc->num_epochs;
    }
    uint64_t last = trainer_last_step(t);
    if (last && (!by_epochs || last < by_epochs))
        return last;
    return by_epochs;
}

static enum rc open_data(struct trainer *t, struct err *err)
{
    enum rc rc = trainer_choose_data(t, err);
    struct train_rounds_conf conf = {.path = t->conf->train_input_path,
                                     .use = SOURCE_TRAIN,
                                     .epochs = t->tc->num_epochs,
                                     .cursor = t->position,
                                     .positions = true,
                                     .first_step = t->session->step};
    if (train_event_is_asked(t->tc))
        conf.quorum = t->tc->save_checkpoints_timestamp_quorum;
    if (!rc)
        rc = train_rounds_open(t->session, &conf, &t->rounds, t->diags, err);
    if (!rc) {
        t->total_steps = count_steps(t);
        train_columns_add(&t->session->columns, t->session->plan,
                          train_rounds_schema(t->rounds));
    }
    struct str notes = str_c(rc ? "" : train_rounds_notes(t->rounds)), line;
    while (str_split(&notes, '\n', &line))
        if (line.n)
            trainer_note(t, "%.*s", (int)line.n, line.p);
    return rc;
}

static enum rc check_memory(struct trainer *t, struct err *err)
{
    struct train_budget b;
    if (t->o->memory <= 0 || t->o->table_dir)
        return RC_OK;
    train_budget_init(&b, t->session, train_rounds_rows(t->rounds));
    t->most_memory = b.most;
    t->expected_memory = b.expected;
    enum rc rc = train_budget_check(&b, t->o->memory, err);
    train_budget_release(&b);
    return rc;
}

/* One batch through evaluation, so that a missing file, column or label is told now and not
 * after the first checkpoint, hours later.
 */
static enum rc check_evaluation(struct trainer *t, struct err *err)
{
    const char *path = t->conf->eval_input_path;
    if (!path[0] || strstr(path, "kafka://")) /* a stream would lose the batch */
        return RC_OK;
    enum rc rc = train_evaluate_try(t->session, t->eval, t->diags, err);
    if (!rc)
        dataset_print(path, t->eval_data);
    if (!rc)
        trainer_note_lines(t, "evaluation data, first rows", t->session->outside);
    return rc;
}

/* What a checkpoint to start from did not give, or gave in vain. */
static void tell_rest(const struct train_fine_tune_result *r, const struct trainer *t)
{
    if (r->missing[0])
        trainer_note(t, "not in that checkpoint, so initialized: %s", r->missing);
    if (r->shapes[0])
        trainer_note(t, "of another shape in that checkpoint, so initialized: %s",
                     r->shapes);
    if (r->moved[0])
        trainer_note(t, "rows follow their words: %s", r->moved);
    if (r->meanings[0])
        trainer_note(t, "initialized: rows mean other ids: %s", r->meanings);
    if (r->extra[0])
        trainer_note(t, "only in that checkpoint, and left out: %s", r->extra);
}

static void tell_unread(const struct trainer *t)
{
    struct buf b;
    buf_init(&b, ERR_MSG_SIZE / 2);
    model_unread_groups(t->session->model, &b);
    if (b.n)
        trainer_note(t, "feature groups that %s does not read: %s",
                     t->session->model->ops->name, buf_str(&b));
    buf_release(&b);
}

/* Options that ask for something which this run does not come to. */
static void tell_idle(const struct trainer *t)
{
    const struct train_options *o = t->o;
    if (o->fine_tune && t->resumed_from)
        trainer_note(
            t, "--fine-tune has no effect: the run resumes from its own checkpoint");
    if (o->strict && !t->started_from)
        trainer_note(t, "--strict has no effect: the run does not start from the weights "
                        "of another");
    if (o->fresh_optimizer && !t->started_from && !t->resumed_from)
        trainer_note(t, "--fresh-optimizer has no effect: no checkpoint is loaded");
    if (o->restart_schedules && !t->resumed_from)
        trainer_note(t, "--restart-schedules has no effect: no checkpoint is resumed");
    if (o->data != TRAIN_DATA_AUTO && !t->resumed_from && !t->position && !t->data_anew)
        trainer_note(t, "--data has no effect: no checkpoint is resumed");
}

/* What is not as one might think. */
static void tell_notes(const struct trainer *t)
{
    char most[32], have[32];
    tell_unread(t);
    if (t->no_checkpoint)
        trainer_note(t, "%s", t->no_checkpoint);
    tell_idle(t);
    if (t->data_note)
        trainer_note(t, "%s", t->data_note);
    if (t->untyped)
        trainer_note(t,
                     "the checkpoint does not tell the types of its columns (an earlier "
                     "version wrote it, or it was converted): they are guessed from this "
                     "data, and kept from here on");
    if (t->most_memory > t->o->memory)
        trainer_note(t,
                     "if every row of every table comes to be used, %s of memory are "
                     "needed, and %s may be used",
                     train_budget_text(t->most_memory, most),
                     train_budget_text(t->o->memory, have));
    const struct reader_ops *ops = reader_of_scheme(t->conf->train_input_path);
    if (train_event_is_asked(t->tc) && !(ops && ops->time))
        trainer_note(t,
                     "save_checkpoints_timestamp*: rows of files have no time of their "
                     "own, so no checkpoint is saved by it");
    if (t->started_from)
        tell_rest(&t->started, t);
    if (t->old_config)
        note_changes(t);
}

static void tell_start(const struct trainer *t)
{
    struct train_start s = {.session = t->session,
                            .model_dir = t->conf->model_dir,
                            .rows = train_rounds_rows(t->rounds),
                            .files = train_rounds_files(t->rounds),
                            .total_steps = t->total_steps,
                            .resumed_from = t->resumed_from,
                            .started_from = t->started_from,
                            .n_started = t->started.loaded,
                            .memory_expected = t->expected_memory,
                            .memory_allowed = t->o->memory};
    if (t->o->watch.start)
        t->o->watch.start(t->o->watch.arg, &s);
    tell_notes(t);
}

/* A run goes on without curves when their files cannot be written. */
static void open_summary(struct trainer *t)
{
    struct err err = {0};
    int64_t next = t->o->resume ? (int64_t)t->session->step : -1;
    if (train_summary_open(t->session, buf_str(&t->config), next, &t->summary, &err) !=
        RC_OK)
        trainer_note(t, "no files for TensorBoard: %s", err.msg);
}

/* The same of what it says of itself. */
static void begin_run_file(struct trainer *t)
{
    struct err err = {0};
    if (train_run_file_begin(t->conf->model_dir, &t->about, &err) != RC_OK)
        trainer_note(t, "no run.json: %s", err.msg);
}

/* Shards of the checkpoint that the run goes on from; 0: there is none. */
static enum rc saved_shards(struct trainer *t, int *out, struct err *err)
{
    struct ckpt *c = NULL;
    int64_t latest = -1;
    *out = 0;
    enum rc rc = ckpt_latest(t->conf->model_dir, &latest, err);
    if (rc || latest < 0 || !t->o->resume)
        return rc;
    rc = ckpt_open(t->conf->model_dir, CKPT_NO_CHECKSUMS, &c, NULL, err);
    if (!rc)
        *out = train_session_saved_shards(c);
    ckpt_close(c);
    return rc;
}

/* A run keeps its shards: the results of a step depend on them. */
static enum rc choose_shards(struct trainer *t, int *out, struct err *err)
{
    int saved, asked = t->o->shards, world = comm_world(t->o->comm);
    enum rc rc = saved_shards(t, &saved, err);
    if (rc)
        return rc;
    int first = t->o->first_shards > world ? t->o->first_shards : world;
    *out = saved ? saved : asked ? asked : first;
    if (saved && asked && saved != asked)
        return err_coded(err, RC_INVAL, E2505,
                         "--shards %d: the run in model_dir '%s' has %d shard%s, which "
                         "cannot change; leave out --shards",
                         asked, t->conf->model_dir, saved, saved == 1 ? "" : "s");
    if (*out < world)
        return err_coded(err, RC_INVAL, E2505,
                         "%d ranks, but a batch has %d shard%s: start at most as many "
                         "ranks as shards",
                         world, *out, *out == 1 ? "" : "s");
    return RC_OK;
}

/* The plan of the run, or of the one that it starts from, binds some tables. */
static enum rc read_pins(struct trainer *t, struct train_pins *out, struct err *err)
{
    const char *start = t->o->fine_tune ? t->o->fine_tune : t->tc->fine_tune_checkpoint;
    int64_t latest = -1;
    enum rc rc = ckpt_latest(t->conf->model_dir, &latest, err);
    if (!rc && latest >= 0)
        return train_pins_read(t->conf->model_dir, t->o->force_plan, out, err);
    return rc || !start || !start[0] ? rc
                                     : train_pins_read(start, t->o->force_plan, out, err);
}

static enum rc place_tables(struct trainer *t, struct err *err)
{
    const char *whole = NULL;
    struct train_pins pins = {0};
    if (comm_world(t->o->comm) == 1)
        return RC_OK;
    enum rc rc = read_pins(t, &pins, err);
    if (!rc)
        rc = train_placement_apply(t->session, &pins, &t->placement, &whole, err);
    if (whole)
        trainer_note(t,
                     "embedding_constraints of '%s' and maybe others want columns on "
                     "different ranks, but its optimizer looks at whole rows: rows stay "
                     "whole, with the same result",
                     whole);
    train_pins_release(&pins);
    return rc;
}

/* Where TorchEasyRec's planner put the tables, as a checkpoint of it says. */
static enum rc read_reference_plan(const struct trainer *t, struct train_pins *out,
                                   struct err *err)
{
    const char *dir = t->o->reference_plan;
    char *path = dir ? fs_join(dir, "plan") : NULL;
    enum rc rc = RC_OK;
    if (dir && !fs_exists(path))
        rc = err_set(err, RC_NOTFOUND, "--reference-plan: there is no file '%s'", path);
    else if (dir)
        rc = train_pins_read(dir, true, out, err);
    mem_free(path);
    return rc;
}

static enum rc make_session(struct trainer *t, struct train_session_options *so,
                            struct err *err)
{
    struct train_pins pins = {0};
    enum rc rc = read_reference_plan(t, &pins, err);
    so->pool = t->pool;
    so->pins = &pins;
    if (!rc)
        rc = train_session_create(t->conf, so, &t->session, t->diags, err);
    if (!rc)
        t->session->options.pins = NULL;
    train_pins_release(&pins);
    return rc;
}

enum rc trainer_set_up(struct trainer *t, struct err *err)
{
    struct train_session_options so = {.seed = t->o->seed,
                                       .training = true,
                                       .farm_hash = t->o->farm_hash,
                                       .reference = t->o->reference,
                                       .table_dir = t->o->table_dir,
                                       .comm = t->o->comm,
                                       .local = t->o->local,
                                       .memory = t->o->memory,
                                       .half_wire = t->o->half_wire,
                                       .lookup = t->o->lookup,
                                       .device = t->o->device};
    int threads = t->o->threads > 0 ? t->o->threads : cpu_count();
    train_best_init(&t->best, t->conf->export_config);
    enum rc rc = choose_shards(t, &so.shards, err);
    if (!rc)
        rc = pool_create(threads, &t->pool, err);
    if (!rc)
        rc = make_session(t, &so, err);
    if (!rc && t->o->half_wire && so.shards == 1)
        trainer_note(t, "--wire bf16: with one shard nothing travels, and nothing is "
                        "rounded");
    if (!rc)
        rc = place_tables(t, err);
    if (!rc)
        rc = train_score_create(t->session, true, &t->moving, err);
    if (!rc)
        rc = train_score_create(t->session, false, &t->eval, err);
    if (!rc && t->tc->delta_embedding_dump_config)
        rc = train_row_dump_create(t->tc->delta_embedding_dump_config, t->conf->model_dir,
                                   t->session->model, so.comm, &t->row_dump, err);
    if (!rc && trainer_writes(t))
        rc = train_model_lock_take(t->conf->model_dir, "model_dir", &t->lock, err);
    if (!rc)
        rc = restore(t, err);
    if (!rc)
        rc = open_data(t, err);
    if (!rc)
        rc = trainer_agree(t, err);
    if (!rc)
        rc = check_memory(t, err);
    if (!rc && trainer_writes(t))
        train_run_file_describe(t->session, train_rounds_rows(t->rounds), &t->about);
    if (!rc)
        rc = check_evaluation(t, err);
    if (!rc)
        rc = write_config(t, err);
    if (!rc)
        rc = train_row_dump_start(t->row_dump, err);
    if (rc)
        return rc;
    t->saver = ckpt_saver_create(&(struct ckpt_saver_conf){
        .model_dir = t->conf->model_dir, .keep = t->tc->keep_checkpoint_max});
    t->first_step = t->session->step;
    t->first_rows = t->session->rows;
    tell_start(t);
    if (trainer_writes(t)) {
        begin_run_file(t);
        open_summary(t);
        trainer_profile_begin(t);
    }
    return t->o->resume ? trainer_resume_results(t, err) : RC_OK;
}

void trainer_tear_down(struct trainer *t)
{
    train_session_quit(t->session);
    train_rounds_close(t->rounds);
    train_summary_close(t->summary);
    train_trace_destroy(t->trace);
    train_row_dump_destroy(t->row_dump);
    ckpt_saver_destroy(t->saver);
    train_score_destroy(t->moving);
    train_score_destroy(t->eval);
    train_placement_release(&t->placement);
    train_session_destroy(t->session);
    train_model_lock_release(t->lock);
    pool_destroy(t->pool);
    buf_release(&t->config);
    buf_release(&t->about);
    arena_release(&t->arena);
}
