/* SPDX-License-Identifier: Apache-2.0 */
/* train/trainer_private.h - one training run, as its files share it. */
#ifndef TRAIN_TRAINER_PRIVATE_H
#define TRAIN_TRAINER_PRIVATE_H

#include "ckpt/saver.h"
#include "train/best.h"
#include "train/fine_tune.h"
#include "train/model_lock.h"
#include "train/placement.h"
#include "train/rounds.h"
#include "train/row_dump.h"
#include "train/summary.h"
#include "train/trace.h"
#include "train/trainer.h"

#define TRAIN_METRICS "train_metrics" /* blob of a checkpoint */
#define TRAIN_EVENT_TIME "event_time" /* the same; only with data that has such times */

/* Since when the speed is measured; begins anew after saves and evaluations. */
struct train_lap {
    int64_t ns, waited_ns;
    uint64_t rows, steps;
    struct dist_traffic traffic;
};

/* A label of the rows trained on, to say when all of them had the same. */
struct train_label {
    const char *name; /* NULL: no batch came yet */
    float value;      /* of the first row */
    bool varies;      /* or is a list */
};

struct trainer {
    const struct train_options *o;
    const struct pc_EasyRecConfig *conf;
    const struct pc_TrainConfig *tc;
    struct diags *diags;
    struct arena arena;
    struct pool *pool;
    struct train_session *session;
    struct train_rounds *rounds;
    struct train_score *moving, *eval; /* train metrics; metrics of evaluations */
    struct train_model_lock *lock;
    struct ckpt_saver *saver;
    int64_t told_step;                  /* the last checkpoint that was told to be safe */
    struct train_summary *summary;      /* NULL: none */
    struct train_row_dump *row_dump;    /* NULL: none */
    struct train_placement placement;   /* of several ranks: where tables lie */
    struct train_trace *trace;          /* NULL: none, or written */
    char eval_data[DATASET_PRINT_SIZE]; /* what evaluations are on */
    struct train_best best;
    struct buf about;          /* text of run.json */
    struct buf config;         /* text of the effective config */
    const char *position;      /* in the data, of the checkpoint that it goes on from */
    const char *data_note;     /* where it is taken up; NULL: at its beginning, as ever */
    const char *no_checkpoint; /* a note: there was none to go on from; or NULL */
    bool data_anew;            /* a resumed run starts its data at the beginning */
    const char *resumed_from, *started_from; /* NULL: no checkpoint */
    struct train_fine_tune_result started;
    const char *old_config; /* of the checkpoint that it goes on from; NULL: none */
    int64_t most_memory, expected_memory; /* 0: not worked out */
    uint64_t total_steps;                 /* 0: not known */
    int64_t saved_step;                   /* of the latest checkpoint; -1: none */
    int64_t saved_ns;                     /* when it was */
    /* Event time that the data has reached; that of the latest checkpoint or, before one,
     * the first. Milliseconds, 0: none. Only with save_checkpoints_timestamp*.
     */
    int64_t event_ms, event_from_ms;
    double loss;
    int64_t live_ns; /* of the last tick */
    struct train_lap lap;
    struct train_skew skew;
    int64_t busy_ns, waited_ns; /* of all laps that are over */
    uint64_t first_step, first_rows;
    bool stopping, early;
    bool heard;                 /* this rank was asked to stop */
    struct train_label *labels; /* [n_labels], of this run */
    size_t n_labels;
    bool told_uneven;    /* of sequences whose steps differ, it was said */
    bool told_undefined; /* that --patience had nothing to go by */
    bool untyped;        /* the checkpoint did not tell the types of columns */
};

/* trainer_setup.c */
enum rc trainer_set_up(struct trainer *t, struct err *err) MUST_CHECK;
void trainer_tear_down(struct trainer *t);
void trainer_note(const struct trainer *t, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* A note for each line of the text, which may be NULL. */
void trainer_note_lines(const struct trainer *t, const char *about, const char *text);

/* Of several ranks one writes files and speaks. */
bool trainer_writes(const struct trainer *t);

/* trainer_agree.c: all ranks have the same program, config, data and checkpoint. RC_INVAL
 * E2503. Collective.
 */
enum rc trainer_agree(struct trainer *t, struct err *err) MUST_CHECK;

/* trainer_data.c: drops the position when the data starts at its beginning. */
enum rc trainer_choose_data(struct trainer *t, struct err *err) MUST_CHECK;
uint64_t trainer_last_step(const struct trainer *t); /* + 1, by num_steps; 0: none */

/* trainer_save.c: a checkpoint of the step just done, then an evaluation; once per step.
 */
enum rc trainer_save(struct trainer *t, struct err *err) MUST_CHECK;
bool trainer_keeps_best(const struct trainer *t); /* exporter_type is best */
enum rc trainer_evaluate(struct trainer *t, struct err *err) MUST_CHECK;
/* Tells of the checkpoint in flight once it is safe on the disk, or fails as its writing
 * did; with `wait`, not before that is known.
 */
enum rc trainer_saved(struct trainer *t, bool wait, struct err *err) MUST_CHECK;
/* By save_checkpoints_steps, for the step just done. */
bool trainer_save_is_due(const struct trainer *t);
/* By save_checkpoints_timestamp*, at the event time that a round has reached. */
bool trainer_save_is_asked(struct trainer *t, int64_t event_ms);
/* By the clock. */
bool trainer_save_is_late(const struct trainer *t);
/* What the results say up to the resumed step; later lines are of steps that come again.
 */
enum rc trainer_resume_results(struct trainer *t, struct err *err) MUST_CHECK;

/* trainer_profile.c: the first steps of a run with is_profiling, after some to warm up.
 */
void trainer_profile_begin(struct trainer *t);
void trainer_profile_step(struct trainer *t, const struct train_fed *fed,
                          int64_t asked_ns, int64_t fed_ns);
void trainer_profile_end(struct trainer *t);

/* trainer.c */
void train_lap_begin(struct trainer *t);
void train_lap_end(struct trainer *t);
bool trainer_asked_to_stop(struct trainer *t);
bool trainer_hears_stop(struct trainer *t); /* this rank */

#endif
