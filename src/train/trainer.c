/* SPDX-License-Identifier: Apache-2.0 */
/* The loop. Steps are numbered from 0; the checkpoint of step i is written after i + 1
 * batches and is named after i, as TorchEasyRec does.
 */
#include "train/trainer.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/cpu.h"
#include "base/fs.h"
#include "base/mem.h"
#include "ckpt/saver.h"
#include "text/json.h"
#include "text/prototext.h"
#include "train/feeder.h"
#include "train/save.h"
#include "train/source.h"

struct trainer {
    const struct train_options *o;
    const struct pc_EasyRecConfig *conf;
    const struct pc_TrainConfig *tc;
    struct diags *diags;
    struct arena arena;
    struct pool *pool;
    struct session *session;
    struct feeder *feeder;
    struct score *moving, *eval; /* train metrics; metrics of evaluations */
    struct saver *saver;
    struct buf config;    /* text of the effective config */
    const char *position; /* in the data, behind the last batch trained on */
    int64_t saved_step;
    double loss;
    int64_t lap_ns;
    uint64_t lap_rows;
};

static void note(const struct trainer *t, const char *text)
{
    if (t->o->watch.note)
        t->o->watch.note(t->o->watch.arg, text);
}

/* The config as it is after all edits, kept beside the checkpoints. */
static enum rc write_config(struct trainer *t, struct err *err)
{
    const char *dir = t->conf->model_dir;
    buf_init(&t->config, SOURCE_MAX);
    prototext_print(t->o->conf->doc.root, &t->config);
    enum rc rc = buf_check(&t->config, err);
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
    return rc;
}

static enum rc resume_from(struct trainer *t, const char *dir, struct err *err)
{
    struct ckpt *c = NULL;
    char *passed_over = NULL;
    enum rc rc = ckpt_open(dir, 0, &c, &passed_over, err);
    if (passed_over)
        note(t, passed_over);
    mem_free(passed_over);
    if (!rc)
        rc = session_resume(t->session, c, &t->arena, &t->position, err);
    if (!rc)
        t->saved_step = (int64_t)t->session->step - 1;
    ckpt_close(c);
    return rc;
}

static enum rc start_from(struct trainer *t, const char *path, struct err *err)
{
    struct ckpt *c = NULL;
    size_t n = 0;
    char text[64];
    enum rc rc = ckpt_open(path, 0, &c, NULL, err);
    if (!rc)
        rc = session_fine_tune(t->session, c, &n, err);
    ckpt_close(c);
    snprintf(text, sizeof(text), "started from %zu tensors of a checkpoint", n);
    if (!rc)
        note(t, text);
    return rc;
}

/* What was there before: a checkpoint of this run, or one to start from. */
static enum rc restore(struct trainer *t, bool *resumed, struct err *err)
{
    const char *dir = t->conf->model_dir;
    const char *start = t->o->fine_tune ? t->o->fine_tune : t->tc->fine_tune_checkpoint;
    int64_t latest = -1;
    enum rc rc = ckpt_latest(dir, &latest, err);
    *resumed = !rc && latest >= 0 && t->o->resume;
    if (rc)
        return rc;
    if (latest >= 0 && !t->o->resume)
        return err_coded(
            err, RC_INVAL, E1405,
            "model_dir '%s' holds a checkpoint of step %jd: use --continue to go "
            "on from it, or another model_dir",
            dir, (intmax_t)latest);
    if (*resumed)
        return resume_from(t, dir, err);
    return start && start[0] ? start_from(t, start, err) : RC_OK;
}

static enum rc open_data(struct trainer *t, struct err *err)
{
    struct feeder_conf conf = {
        .plan = t->session->plan, .epochs = t->tc->num_epochs, .positions = true};
    enum rc rc =
        source_conf(t->conf->data_config, t->session->plan, t->conf->train_input_path,
                    SOURCE_TRAIN, t->o->seed, &t->arena, &conf.data, err);
    conf.data.cursor = t->position;
    return rc ? rc : feeder_open(&conf, &t->feeder, t->diags, err);
}

static enum rc set_up(struct trainer *t, struct err *err)
{
    struct session_options so = {
        .seed = t->o->seed, .training = true, .farm_hash = t->o->farm_hash};
    bool resumed = false;
    int threads = t->o->threads > 0 ? t->o->threads : cpu_count();
    enum rc rc = pool_create(threads, &t->pool, err);
    so.pool = t->pool;
    if (!rc)
        rc = session_create(t->conf, &so, &t->session, t->diags, err);
    if (!rc)
        rc = restore(t, &resumed, err);
    if (!rc)
        rc = score_create(t->session, true, &t->moving, err);
    if (!rc)
        rc = score_create(t->session, false, &t->eval, err);
    if (!rc)
        rc = open_data(t, err);
    if (!rc)
        rc = write_config(t, err);
    if (rc)
        return rc;
    t->saver = saver_create(&(struct saver_conf){.model_dir = t->conf->model_dir,
                                                 .keep = t->tc->keep_checkpoint_max});
    if (t->o->watch.start)
        t->o->watch.start(t->o->watch.arg, t->session, feeder_rows(t->feeder),
                          feeder_files(t->feeder), resumed ? t->conf->model_dir : NULL);
    return RC_OK;
}

static void tear_down(struct trainer *t)
{
    feeder_close(t->feeder);
    saver_destroy(t->saver);
    score_destroy(t->moving);
    score_destroy(t->eval);
    session_destroy(t->session);
    pool_destroy(t->pool);
    buf_release(&t->config);
    arena_release(&t->arena);
}

static enum rc append_result(const struct trainer *t, const struct score_line *lines,
                             size_t n, struct err *err)
{
    char *path = fs_join(t->conf->model_dir, "train_eval_result_v2.txt");
    struct buf b;
    buf_init(&b, 1 << 20);
    score_json(lines, n, t->saved_step, &b);
    enum rc rc = fs_add_line(path, buf_str(&b), b.n, err);
    buf_release(&b);
    mem_free(path);
    return rc;
}

static enum rc evaluate_now(struct trainer *t, struct err *err)
{
    const struct score_line *lines;
    size_t n;
    if (!t->conf->eval_input_path[0])
        return RC_OK;
    enum rc rc = evaluate(t->session, t->eval, NULL, t->diags, &lines, &n, err);
    if (!rc)
        rc = append_result(t, lines, n, err);
    if (!rc && t->o->watch.evaluated)
        t->o->watch.evaluated(t->o->watch.arg, t->saved_step, lines, n,
                              score_rows(t->eval));
    return rc;
}

/* A checkpoint of the step just done, and an evaluation; once per step. */
static enum rc save_now(struct trainer *t, struct err *err)
{
    int64_t step = (int64_t)t->session->step - 1;
    if (step == t->saved_step || step < 0)
        return RC_OK;
    struct ckpt_writer *w =
        session_save(t->session, t->conf->model_dir, buf_str(&t->config), t->position);
    enum rc rc = saver_start(t->saver, w, -1, err);
    if (rc)
        return rc;
    t->saved_step = step;
    if (t->o->watch.saved) {
        char *dir = ckpt_dir(t->conf->model_dir, step);
        t->o->watch.saved(t->o->watch.arg, step, dir);
        mem_free(dir);
    }
    return evaluate_now(t, err);
}

static bool save_is_due(const struct trainer *t)
{
    uint64_t step = t->session->step - 1;
    uint32_t every = t->tc->save_checkpoints_steps;
    return t->tc->save_checkpoints_epochs == 0 && every > 0 && step > 0 &&
           step % every == 0;
}

static enum rc show_progress(struct trainer *t, struct err *err)
{
    const struct score_line *lines;
    size_t n;
    uint32_t every = t->tc->log_step_count_steps;
    if (!every || (t->session->step - 1) % every != 0 || !t->o->watch.progress)
        return RC_OK;
    enum rc rc = score_lines(t->moving, &lines, &n, err);
    int64_t now = clock_mono_ns();
    double seconds = (double)(now - t->lap_ns) * 1e-9;
    double speed = seconds > 0 ? (double)(t->session->rows - t->lap_rows) / seconds : 0;
    t->lap_ns = now;
    t->lap_rows = t->session->rows;
    if (!rc)
        t->o->watch.progress(t->o->watch.arg, t->session, t->loss, speed,
                             feeder_wait(t->feeder), lines, n);
    return rc;
}

static enum rc end_of_pass(struct trainer *t, const struct fed *fed, struct err *err)
{
    uint32_t every = t->tc->save_checkpoints_epochs;
    t->session->epoch = (uint64_t)fed->epoch + 1;
    t->position = arena_strdup(&t->arena, fed->position);
    if (every && t->session->epoch % every == 0 && t->session->step > 1)
        return save_now(t, err);
    return RC_OK;
}

/* One batch; *over when the run is at its end. */
static enum rc one_step(struct trainer *t, bool *over, bool *stopped, struct err *err)
{
    struct fed fed;
    enum rc rc = feeder_next(t->feeder, &fed, err);
    if (rc)
        return rc;
    if (!fed.features) {
        *over = fed.position == NULL; /* all passes are over */
        return *over ? RC_OK : end_of_pass(t, &fed, err);
    }
    rc = session_train(t->session, fed.features, &t->loss, err);
    if (!rc)
        rc = score_batch(t->moving, t->session, fed.features, t->loss, err);
    t->position = fed.position;
    if (!rc)
        rc = show_progress(t, err);
    if (!rc && save_is_due(t))
        rc = save_now(t, err);
    *over = t->tc->num_steps && t->session->step >= t->tc->num_steps;
    *stopped = t->o->watch.stop && t->o->watch.stop(t->o->watch.arg);
    return rc;
}

static enum rc run(struct trainer *t, struct train_result *out, struct err *err)
{
    int64_t start = clock_mono_ns();
    bool over = t->tc->num_steps && t->session->step >= t->tc->num_steps;
    enum rc rc = RC_OK;
    t->lap_ns = start;
    t->lap_rows = t->session->rows;
    while (!rc && !over && !out->stopped)
        rc = one_step(t, &over, &out->stopped, err);
    if (!rc && t->session->step == 0)
        rc =
            err_coded(err, RC_INVAL, E1406, "no rows in '%s'", t->conf->train_input_path);
    if (!rc)
        rc = save_now(t, err);
    enum rc saved = t->saver ? saver_wait(t->saver, rc ? NULL : err) : RC_OK;
    out->steps = t->session->step;
    out->rows = t->session->rows;
    out->epochs = t->session->epoch;
    out->loss = t->loss;
    out->seconds = (double)(clock_mono_ns() - start) * 1e-9;
    return rc ? rc : saved;
}

enum rc train_run(const struct train_options *options, struct train_result *out,
                  struct diags *diags, struct err *err)
{
    struct trainer t = {
        .o = options, .conf = options->conf->data, .diags = diags, .saved_step = -1};
    *out = (struct train_result){0};
    t.tc = t.conf->train_config;
    if (!t.tc)
        return err_set(err, RC_INVAL, "the config has no train_config");
    enum rc rc = set_up(&t, err);
    if (!rc)
        rc = run(&t, out, err);
    tear_down(&t);
    return rc;
}
