/* SPDX-License-Identifier: Apache-2.0 */
/* The loop. Steps are numbered from 0; the checkpoint of step i is written after i + 1
 * batches and is named after i, as TorchEasyRec does.
 */
#include "train/trainer.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/mem.h"
#include "comm/comm.h"
#include "train/run_file.h"
#include "train/trainer_private.h"

void train_lap_begin(struct trainer *t)
{
    t->lap = (struct train_lap){.ns = clock_mono_ns(),
                                .waited_ns = train_rounds_waited(t->rounds),
                                .rows = t->session->rows,
                                .steps = t->session->step,
                                .traffic = train_session_traffic(t->session)};
    train_skew_reset(&t->skew);
}

void train_lap_end(struct trainer *t)
{
    t->busy_ns += clock_mono_ns() - t->lap.ns;
    t->waited_ns += train_rounds_waited(t->rounds) - t->lap.waited_ns;
    train_lap_begin(t);
    t->skew.skip = 0;
}

bool trainer_hears_stop(struct trainer *t)
{
    if (!t->heard && t->o->watch.stop)
        t->heard = t->o->watch.stop(t->o->watch.arg);
    return t->heard;
}

/* Once asked, it stays so. Several ranks agree about it with their next batch. */
bool trainer_asked_to_stop(struct trainer *t)
{
    if (comm_world(t->o->comm) == 1)
        t->stopping = trainer_hears_stop(t);
    return t->stopping;
}

/* From the pace of this run so far. */
static double seconds_left(const struct trainer *t, int64_t now)
{
    uint64_t done = t->session->step - t->first_step;
    if (!t->total_steps || !done || t->total_steps < t->session->step)
        return -1;
    double busy = (double)(t->busy_ns + now - t->lap.ns) * 1e-9;
    return busy / (double)done * (double)(t->total_steps - t->session->step);
}

static void put_traffic(const struct trainer *t, struct train_progress *p)
{
    struct dist_traffic now = train_session_traffic(t->session), was = t->lap.traffic;
    double steps = (double)(t->session->step - t->lap.steps);
    if (steps <= 0)
        return;
    p->sent = (double)(now.sent - was.sent) / steps;
    p->least = (double)(now.least - was.least) / steps;
}

static enum rc tell_progress(struct trainer *t, bool due, struct err *err)
{
    int64_t now = clock_mono_ns();
    double seconds = (double)(now - t->lap.ns) * 1e-9;
    struct train_progress p = {.step = t->session->step - 1,
                               .epoch = t->session->epoch,
                               .rows = t->session->rows,
                               .total_steps = t->total_steps,
                               .loss = t->loss,
                               .left = seconds_left(t, now),
                               .due = due};
    if (seconds > 0) {
        p.rows_per_s = (double)(t->session->rows - t->lap.rows) / seconds;
        p.wait =
            (double)(train_rounds_waited(t->rounds) - t->lap.waited_ns) * 1e-9 / seconds;
    }
    p.skew = train_skew_read(&t->skew);
    put_traffic(t, &p);
    enum rc rc = train_score_lines(t->moving, &p.lines, &p.n, err);
    if (!rc && t->o->watch.progress)
        t->o->watch.progress(t->o->watch.arg, &p);
    struct err tb = {0};
    if (!rc && due && train_summary_progress(t->summary, t->session, &p, &tb) != RC_OK)
        trainer_note(t, "no more files for TensorBoard: %s", tb.msg);
    t->live_ns = now;
    if (due)
        train_lap_end(t);
    return rc;
}

static enum rc show_progress(struct trainer *t, struct err *err)
{
    uint32_t every = t->tc->log_step_count_steps;
    bool due = every && (t->session->step - 1) % every == 0;
    bool live =
        t->o->watch.live_ns > 0 && clock_mono_ns() - t->live_ns >= t->o->watch.live_ns;
    return due || live ? tell_progress(t, due, err) : RC_OK;
}

static void note_outside(struct trainer *t, bool pass)
{
    struct buf b;
    buf_init(&b, (size_t)1 << 24);
    train_rounds_outside(t->rounds, pass, &b);
    trainer_note_lines(t, pass ? "training data" : "training data so far", buf_str(&b));
    buf_release(&b);
}

/* Comes once more in a run that goes on from the checkpoint of a pass's end. */
static enum rc end_of_pass(struct trainer *t, int64_t epoch, struct err *err)
{
    uint32_t every = t->tc->save_checkpoints_epochs;
    t->session->epoch = t->session->data_epoch + (uint64_t)epoch + 1;
    note_outside(t, true);
    if (!every || t->session->epoch % every != 0 || t->session->step <= 1)
        return RC_OK;
    enum rc rc = trainer_save(t, err);
    /* that run was ended between the checkpoint and its evaluation */
    if (!rc && t->best.last_step < t->saved_step) {
        train_lap_end(t);
        rc = trainer_evaluate(t, err);
        train_lap_begin(t);
    }
    return rc;
}

/* Sequences of a group should have as many steps as each other; once. */
static void note_uneven(struct trainer *t)
{
    struct train_feed_uneven u = train_feed_uneven(train_session_feed(t->session));
    if (!u.feature || t->told_uneven)
        return;
    t->told_uneven = true;
    struct err where = {0};
    err_set(&where, RC_INVAL, "row %jd of the batch", (intmax_t)u.first);
    train_rounds_name(t->rounds, t->session->shard_at, &where);
    trainer_note(
        t,
        "in %jd of %jd rows of a batch, first in %s, '%s' has another number of "
        "steps than '%s', the first sequence of its group; it is cut or filled up "
        "to that",
        (intmax_t)u.differ, (intmax_t)u.rows, where.msg, u.feature, u.leader);
}

/* Costs nothing any more once a label was seen to vary. */
static void watch_labels(struct trainer *t, const struct feature_batch *b)
{
    if (!b || b->rows == 0)
        return;
    if (!t->labels) {
        t->n_labels = b->n_labels;
        t->labels = arena_alloc(&t->arena, (b->n_labels + 1) * sizeof(*t->labels));
        for (size_t i = 0; i < b->n_labels; i++)
            t->labels[i] = (struct train_label){0};
    }
    for (size_t i = 0; i < t->n_labels; i++) {
        struct train_label *l = &t->labels[i];
        const struct feature_target *from = &b->targets[i];
        l->varies = l->varies || from->offsets;
        if (!l->varies && !l->name)
            l->value = from->values[0];
        l->name = from->name;
        for (int64_t r = 0; r < b->rows && !l->varies; r++)
            l->varies = from->values[r] != l->value;
    }
}

/* A day of which only one class arrived trains without a fault, and spoils the model. */
static void note_one_label(const struct trainer *t)
{
    uint64_t rows = t->session->rows - t->first_rows;
    for (size_t i = 0; i < t->n_labels && comm_world(t->o->comm) == 1; i++)
        if (t->labels[i].name && !t->labels[i].varies && rows > 1)
            trainer_note(t,
                         "label '%s' is %g in all %ju rows of this run: the model cannot "
                         "learn from it what tells rows apart",
                         t->labels[i].name, (double)t->labels[i].value, (uintmax_t)rows);
}

/* Train metrics are of the first shard, as those of rank 0 are. */
static enum rc on_shard(void *arg, int shard, const struct feature_batch *b,
                        struct err *err)
{
    struct trainer *t = arg;
    return shard ? RC_OK : train_score_batch(t->moving, t->session, b, 0, err);
}

/* What this rank asks of all. */
static unsigned to_ask(struct trainer *t)
{
    bool writes = comm_rank(t->o->comm) == 0;
    unsigned stop = comm_world(t->o->comm) > 1 && trainer_hears_stop(t) ? ROUND_STOP : 0;
    unsigned dump = writes && train_row_dump_asks(t->row_dump) ? ROUND_DUMP : 0;
    return stop | dump | (writes && trainer_save_is_late(t) ? ROUND_SAVE : 0);
}

/* The next batch, unless this is the last one. */
static const struct feature_batch *const *look_ahead(void *arg)
{
    struct trainer *t = arg;
    const struct feature_batch *const *at = NULL;
    uint64_t last = trainer_last_step(t);
    if (!t->stopping && !(last && t->session->step + 1 >= last))
        train_rounds_ahead(t->rounds, to_ask(t), &at);
    return at;
}

static enum rc train_on(struct trainer *t, const struct train_session_batch *b,
                        struct err *err)
{
    t->session->tap = (struct train_session_tap){.fn = on_shard, .arg = t};
    t->session->ahead = (struct train_session_ahead){.fn = look_ahead, .arg = t};
    enum rc rc = train_session_train(t->session, b, &t->loss, err);
    if (rc)
        return rc;
    if (!train_session_losses(t->session))
        return train_score_batch(t->moving, t->session, b->at[0], t->loss, err);
    train_score_losses(t->moving, train_session_losses(t->session));
    return RC_OK;
}

/* Who asked for a checkpoint did so before the last one, which was of the step before. */
static bool saved_since(const struct trainer *t)
{
    return t->session->courier && t->saved_step >= 0 &&
           (uint64_t)t->saved_step + 2 == t->session->step;
}

/* One batch; *over when the run is at its end. */
static enum rc one_step(struct trainer *t, bool *over, struct err *err)
{
    struct train_round round;
    int64_t asked = clock_mono_ns();
    enum rc rc = train_rounds_next(t->rounds, to_ask(t), &round, err);
    int64_t got = clock_mono_ns();
    if (rc)
        return rc;
    t->stopping = t->stopping || round.asked & ROUND_STOP;
    train_skew_add(&t->skew, round.paces, comm_world(t->o->comm));
    comm_note_step(t->o->comm, (int64_t)t->session->step);
    if (!round.any) {
        *over = round.over; /* all passes are over */
        return *over ? RC_OK : end_of_pass(t, round.epoch, err);
    }
    bool asked_for = trainer_save_is_asked(t, round.event_ms);
    for (int i = 0; i < t->session->shards.n; i++)
        watch_labels(t, round.batch.at[i]);
    rc = train_on(t, &round.batch, err);
    if (rc)
        train_rounds_name(t->rounds, t->session->shard_at, err);
    if (!rc)
        note_uneven(t);
    if (!rc && round.fed)
        trainer_profile_step(t, round.fed, asked, got);
    if (!rc)
        rc = show_progress(t, err);
    if (!rc)
        rc = trainer_saved(t, false, err);
    if (!rc)
        rc = train_row_dump_step(t->row_dump, t->session->step - 1,
                                 round.asked & ROUND_DUMP, err);
    bool late = round.asked & ROUND_SAVE && !saved_since(t);
    if (!rc && (trainer_save_is_due(t) || asked_for || late))
        rc = trainer_save(t, err);
    *over = trainer_last_step(t) && t->session->step >= trainer_last_step(t);
    return rc;
}

static void fill_result(struct trainer *t, double seconds, struct train_result *out)
{
    train_lap_end(t);
    out->end = t->stopping ? TRAIN_STOPPED : t->early ? TRAIN_EARLY : TRAIN_DONE;
    out->steps = t->session->step;
    out->rows = t->session->rows;
    out->epochs = t->session->epoch;
    out->new_steps = out->steps - t->first_step;
    out->new_rows = out->rows - t->first_rows;
    out->loss = t->loss;
    out->seconds = seconds;
    out->busy = (double)t->busy_ns * 1e-9;
    out->wait = t->busy_ns > 0 ? (double)t->waited_ns / (double)t->busy_ns : 0;
    out->best_step = -1;
    if (t->saved_step >= 0)
        out->checkpoint = ckpt_dir(t->conf->model_dir, t->saved_step);
    if (!t->best.found)
        return;
    snprintf(out->metric, sizeof(out->metric), "%s", t->best.metric);
    out->best_step = t->best.step;
    out->best = t->best.value;
    out->takes_best = trainer_keeps_best(t);
}

static void note_nothing_left(const struct trainer *t)
{
    uintmax_t step = t->session->step - 1;
    if (t->early)
        trainer_note(t,
                     "nothing is left to train: the run ended early, at step %ju; to "
                     "continue, use a higher --patience, other data or --data restart",
                     step);
    else
        trainer_note(
            t,
            "nothing is left to train: the run was finished before, at step %ju; "
            "to continue, use a higher num_epochs or num_steps, other data or --data "
            "restart",
            step);
}

static enum rc train_loop(struct trainer *t, struct train_result *out, struct err *err)
{
    int64_t start = clock_mono_ns();
    bool over = trainer_last_step(t) && t->session->step >= trainer_last_step(t);
    enum rc rc = RC_OK;
    t->saved_ns = t->live_ns = start;
    train_lap_begin(t);
    while (!rc && !over && !t->early && !trainer_asked_to_stop(t))
        rc = one_step(t, &over, err);
    if (!rc && (over || t->early) && t->session->step == t->first_step && t->resumed_from)
        note_nothing_left(t);
    if (!rc && t->session->step == 0 && !t->stopping)
        rc = train_rounds_no_rows(t->rounds, t->conf->train_input_path, err);
    trainer_profile_end(t);
    if (!rc)
        note_one_label(t);
    /* a run that was asked to stop leaves it to the one that goes on */
    if (!rc && (over || t->early) && t->session->step > 0)
        rc = train_row_dump_end(t->row_dump, t->session->step - 1, err);
    if (!rc)
        rc = trainer_save(t, err);
    if (!rc && (over || t->early) && t->session->step > 0)
        rc = model_settle(t->session->model, true, err);
    /* The last checkpoint was there already, from a run that did not come to this. */
    if (!rc && over && t->best.last_step < t->saved_step)
        rc = trainer_evaluate(t, err);
    if (!rc)
        note_outside(t, false);
    enum rc saved = trainer_saved(t, true, rc ? NULL : err);
    fill_result(t, (double)(clock_mono_ns() - start) * 1e-9, out);
    return rc ? rc : saved;
}

static void end_run_file(struct trainer *t, enum rc rc, const struct err *why)
{
    struct err err = {0};
    if (train_run_file_end(t->conf->model_dir, t->session, rc, why, t->stopping, &err) !=
        RC_OK)
        trainer_note(t, "no run_end.json: %s", err.msg);
}

enum rc train_run(const struct train_options *options, struct train_result *out,
                  struct diags *diags, struct err *err)
{
    struct trainer t = {.o = options,
                        .conf = options->conf->data,
                        .diags = diags,
                        .saved_step = -1,
                        .told_step = -1};
    *out = (struct train_result){.best_step = -1};
    t.tc = t.conf->train_config;
    if (!t.tc)
        return err_set(err, RC_INVAL, "the config has no train_config");
    enum rc rc = trainer_set_up(&t, err);
    bool begun = !rc;
    if (!rc)
        rc = train_loop(&t, out, err);
    if (begun && trainer_writes(&t))
        end_run_file(&t, rc, err);
    if (rc && options->watch.failed && err)
        options->watch.failed(options->watch.arg, rc, err);
    trainer_tear_down(&t);
    train_skew_release(&t.skew);
    return rc;
}

void train_result_release(struct train_result *r)
{
    mem_free(r->checkpoint);
    r->checkpoint = NULL;
}

bool trainer_writes(const struct trainer *t)
{
    return comm_rank(t->o->comm) == 0;
}
