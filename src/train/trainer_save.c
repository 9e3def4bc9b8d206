/* SPDX-License-Identifier: Apache-2.0 */
/* Checkpoints, evaluations, and which of them was the best. A save waits for the one
 * before, copies the session's state, lets the saver write it in the background, and
 * evaluates meanwhile. A result is written down only when its checkpoint is on the disk,
 * so that no line speaks of one that a crash took. A resumed run drops results from
 * behind its checkpoint and makes up for an evaluation that is missing. The time of all
 * this does not count in the speed of training (laps).
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "comm/comm.h"
#include "dist/sharded.h"
#include "train/event_time.h"
#include "train/save.h"
#include "train/trainer_private.h"

static enum rc append_result(const struct trainer *t,
                             const struct train_score_line *lines, size_t n,
                             struct err *err)
{
    char *path = fs_join(t->conf->model_dir, TRAIN_RESULTS);
    struct buf b;
    buf_init(&b, 1 << 20);
    train_score_json(lines, n, t->saved_step, &b);
    if (t->eval_data[0] && b.n > 2) {
        b.n -= 2; /* the closing brace and the end of the line */
        buf_printf(&b, ", \"" TRAIN_RESULTS_DATA "\": \"%s\"}\n", t->eval_data);
    }
    enum rc rc = fs_add_line(path, buf_str(&b), b.n, err);
    buf_release(&b);
    mem_free(path);
    return rc;
}

static void tell_evaluation(struct trainer *t, const struct train_score_line *lines,
                            size_t n, double seconds)
{
    bool found = t->best.found;
    if (train_best_data(&t->best, t->eval_data) && found)
        trainer_note(
            t, "other evaluation data than before: the search for the best checkpoint "
               "starts over with this evaluation");
    struct train_best before = t->best;
    struct train_evaluation e = {.step = t->saved_step,
                                 .rows = train_score_rows(t->eval),
                                 .lines = lines,
                                 .n = n,
                                 .seconds = seconds};
    t->best.last_step = t->saved_step;
    e.better = train_best_take(&t->best, t->saved_step, lines, n);
    const struct train_score_line *l = train_best_line(&t->best, lines, n);
    e.metric = l ? l->name : NULL;
    e.has_best = before.found;
    e.change = l && before.found ? l->value - before.value : 0;
    e.best_step = t->best.found ? t->best.step : -1;
    if (t->o->watch.evaluated)
        t->o->watch.evaluated(t->o->watch.arg, &e);
    struct err err = {0};
    if (train_summary_evaluation(t->summary, &e, &err) != RC_OK)
        trainer_note(t, "no files for TensorBoard: %s", err.msg);
}

static bool on_tick(void *arg, int64_t rows)
{
    struct trainer *t = arg;
    if (t->o->watch.evaluating)
        t->o->watch.evaluating(t->o->watch.arg, t->saved_step, rows);
    return !trainer_asked_to_stop(t);
}

/* Once: an evaluation by which --patience cannot go. */
static void note_undefined(struct trainer *t, const struct train_score_line *lines,
                           size_t n)
{
    if (t->o->patience <= 0 || t->told_undefined || train_best_line(&t->best, lines, n))
        return;
    t->told_undefined = true;
    const char *why = "it has no metric to go by";
    for (size_t i = 0; i < n; i++)
        if (strcmp(lines[i].name, t->best.metric) == 0 && lines[i].why)
            why = lines[i].why;
    trainer_note(t, "--patience has no effect after this evaluation: %s%s%s",
                 t->best.metric, t->best.metric[0] ? " is undefined: " : "", why);
}

static bool out_of_patience(const struct trainer *t)
{
    return t->o->patience > 0 && t->best.found && t->best.since >= t->o->patience;
}

enum rc trainer_evaluate(struct trainer *t, struct err *err)
{
    const struct train_score_line *lines;
    struct train_evaluate_tick tick = {.fn = on_tick, .arg = t};
    int64_t start = clock_mono_ns();
    size_t n;
    if (!t->conf->eval_input_path[0] || t->stopping)
        return RC_OK;
    enum rc rc =
        train_evaluate(t->session, t->eval, NULL, &tick, t->diags, &lines, &n, err);
    if (rc == RC_CANCELED) /* when the run goes on it is made up for */
        return RC_OK;
    if (!rc)
        rc = trainer_saved(t, true, err);
    if (!rc && trainer_writes(t))
        rc = append_result(t, lines, n, err);
    if (rc)
        return rc;
    tell_evaluation(t, lines, n, (double)(clock_mono_ns() - start) * 1e-9);
    trainer_note_lines(t, "evaluation data", t->session->outside);
    note_undefined(t, lines, n);
    t->early = out_of_patience(t);
    return RC_OK;
}

bool trainer_keeps_best(const struct trainer *t)
{
    const struct pc_ExportConfig *c = t->conf->export_config;
    return c && strcmp(c->exporter_type, "best") == 0;
}

/* With exporter_type best the best one so far outlives keep_checkpoint_max. */
static int64_t spared(const struct trainer *t)
{
    return trainer_keeps_best(t) && t->best.found ? t->best.step : -1;
}

enum rc trainer_saved(struct trainer *t, bool wait, struct err *err)
{
    if (t->told_step == t->saved_step || (!wait && ckpt_saver_busy(t->saver)))
        return RC_OK;
    enum rc rc = ckpt_saver_wait(t->saver, err);
    t->told_step = t->saved_step;
    if (rc || !t->o->watch.saved)
        return rc;
    char *dir = ckpt_dir(t->conf->model_dir, t->saved_step);
    t->o->watch.saved(t->o->watch.arg, t->saved_step, dir);
    mem_free(dir);
    return RC_OK;
}

static void add_event_time(struct ckpt_writer *w, int64_t ms)
{
    char text[32];
    snprintf(text, sizeof(text), "{\"ms\": %jd}", (intmax_t)ms);
    ckpt_add_json(w, TRAIN_EVENT_TIME, text);
}

/* Everything that the checkpoint of the step just done holds; with several ranks all
 * take part.
 */
static struct ckpt_writer *collect(struct trainer *t, const char *position)
{
    struct ckpt_writer *w =
        train_session_save(t->session, t->conf->model_dir, buf_str(&t->config), position);
    struct buf metrics;
    buf_init(&metrics, (size_t)1 << 28);
    train_score_save(t->moving, &metrics);
    ckpt_add_json(w, TRAIN_METRICS, buf_str(&metrics));
    buf_release(&metrics);
    if (t->event_ms)
        add_event_time(w, t->event_ms);
    return w;
}

static enum rc start_save(struct trainer *t, struct err *err)
{
    struct buf position;
    buf_init(&position, (size_t)1 << 30);
    enum rc rc = train_rounds_position(t->rounds, &position, err);
    struct ckpt_writer *w =
        rc ? NULL : collect(t, position.n ? buf_str(&position) : t->position);
    buf_release(&position);
    if (rc)
        return rc;
    rc = graph_wait(t->session->model->graph,
                    err); /* what was read counts when it is well */
    if (rc) {
        ckpt_abort(w);
        return rc;
    }
    if (trainer_writes(t))
        rc = ckpt_saver_start(t->saver, w, spared(t), err);
    if (!rc && comm_world(t->o->comm) > 1)
        rc = dist_sharded_serve(t->session->model->lookup, err);
    if (!trainer_writes(t))
        ckpt_abort(w);
    return rc;
}

enum rc trainer_save(struct trainer *t, struct err *err)
{
    int64_t step = (int64_t)t->session->step - 1;
    if (step == t->saved_step || step < 0)
        return RC_OK;
    enum rc rc = trainer_saved(t, true, err); /* of the one before */
    if (rc)
        return rc;
    train_lap_end(t);
    rc = graph_wait(t->session->model->graph, err); /* for what the step has queued */
    if (!rc)
        rc = model_settle(t->session->model, false, err);
    if (!rc)
        rc = start_save(t, err);
    if (rc)
        return rc;
    t->saved_step = step;
    t->saved_ns = clock_mono_ns();
    t->event_from_ms = t->event_ms;
    rc = trainer_evaluate(t, err);
    train_lap_begin(t);
    return rc;
}

bool trainer_save_is_due(const struct trainer *t)
{
    uint64_t step = t->session->step - 1;
    uint32_t every = t->tc->save_checkpoints_steps;
    return t->tc->save_checkpoints_epochs == 0 && every > 0 && step > 0 &&
           step % every == 0;
}

bool trainer_save_is_asked(struct trainer *t, int64_t event_ms)
{
    if (!event_ms)
        return false;
    t->event_ms = event_ms;
    if (!t->event_from_ms)
        t->event_from_ms = event_ms;
    return train_event_is_due(t->tc, t->event_from_ms, event_ms);
}

bool trainer_save_is_late(const struct trainer *t)
{
    return t->o->save_seconds > 0 &&
           (double)(clock_mono_ns() - t->saved_ns) * 1e-9 >= t->o->save_seconds;
}

enum rc trainer_resume_results(struct trainer *t, struct err *err)
{
    char *path = fs_join(t->conf->model_dir, TRAIN_RESULTS);
    struct buf kept;
    buf_init(&kept, (size_t)1 << 30);
    enum rc rc = train_best_read(&t->best, t->conf->model_dir, t->saved_step, &kept, err);
    if (!rc)
        rc = comm_barrier(t->o->comm, err); /* all have read it */
    if (!rc && trainer_writes(t) && fs_exists(path))
        rc = fs_write(path, buf_str(&kept), kept.n, 0644, err);
    buf_release(&kept);
    mem_free(path);
    /* Evaluations that brought nothing were of the data before. */
    if (!rc && t->data_anew && t->o->patience > 0 && t->best.since > 0) {
        t->best.since = 0;
        trainer_note(t, "--patience counts evaluations from here on: those before belong "
                        "to the data before");
    }
    /* The run ended early, and its data is not begun anew. */
    if (!rc && t->resumed_from && t->position && t->best.last_step == t->saved_step)
        t->early = out_of_patience(t);
    /* The run was ended between its checkpoint and the evaluation that goes with it. */
    if (!rc && t->resumed_from && t->best.last_step < t->saved_step &&
        trainer_save_is_due(t))
        rc = trainer_evaluate(t, err);
    return rc;
}
