/* SPDX-License-Identifier: Apache-2.0 */
/* train/trainer.h - a whole training run: data, steps, checkpoints, evaluations. */
#ifndef TRAIN_TRAINER_H
#define TRAIN_TRAINER_H

#include "text/conf.h"
#include "train/score.h"
#include "train/skew.h"

/* What is known before the first step. */
struct train_start {
    const struct train_session *session;
    const char *model_dir;
    int64_t rows; /* of the training data; -1 when only reading tells */
    size_t files;
    uint64_t total_steps;     /* 0: not known */
    const char *resumed_from; /* checkpoint that the run goes on from; NULL: none */
    const char *started_from; /* checkpoint that only gave weights; NULL: none */
    size_t n_started;         /* tensors that it gave */
    int64_t memory_expected;  /* bytes; 0: not worked out */
    int64_t memory_allowed;
};

struct train_progress {
    uint64_t step, epoch, rows; /* the last step done; passes completed; rows so far */
    uint64_t total_steps;       /* 0: not known */
    double loss;                /* of the last batch */
    double rows_per_s;          /* since the last report, without saves and evaluations */
    double wait;                /* share of that time without data */
    double left;                /* seconds to the end; negative: not known */
    struct train_skew_words skew; /* of several ranks */
    /* Bytes that this rank sends in a step, and the least that it could be; see
     * dist_traffic.
     */
    double sent, least;
    const struct train_score_line *lines; /* train_metrics */
    size_t n;
    bool due; /* a step of log_step_count_steps; else a tick of watch.live_ns */
};

struct train_evaluation {
    int64_t step, rows;
    const struct train_score_line *lines;
    size_t n;
    const char *metric; /* that tells the best; NULL: none of the lines can */
    bool better;        /* than all before */
    bool has_best;      /* there was one before: */
    double change;      /* of the metric against that */
    int64_t best_step;  /* the best of all, this one included */
    double seconds;
};

/* What happens, for whoever shows it. Each may be NULL; all are called by the thread that
 * runs the training.
 */
struct train_watch {
    void *arg;
    int64_t live_ns; /* > 0: progress is told this often, too */
    void (*start)(void *arg, const struct train_start *s);
    void (*progress)(void *arg, const struct train_progress *p);
    void (*saved)(void *arg, int64_t step, const char *dir);
    void (*evaluating)(void *arg, int64_t step, int64_t rows); /* and while it goes on */
    void (*evaluated)(void *arg, const struct train_evaluation *e);
    void (*note)(void *arg, const char *text);
    /* Asked after each step; true: save and stop. */
    bool (*stop)(void *arg);
    /* The run failed: what it has is given back next. Ranks that wait for this one are told
     * here; `err` may be changed.
     */
    void (*failed)(void *arg, enum rc rc, struct err *err);
};

/* What a resumed run does with its data. */
enum train_data {
    TRAIN_DATA_AUTO,    /* the same data goes on, other data starts at its beginning */
    TRAIN_DATA_RESTART, /* starts at its beginning */
    TRAIN_DATA_RESUME,  /* goes on; RC_INVAL E1212 when that is not possible */
};

struct train_options {
    const struct conf *conf; /* of kind pipeline, checked */
    int threads;             /* 0: as many as there are processors */
    uint64_t seed;
    bool resume; /* go on from the latest checkpoint of model_dir, if there is one */
    enum train_data data;   /* of a resumed run */
    bool restart_schedules; /* of a resumed run: learning rates begin as at step 0 */
    /* Checkpoint to start from; NULL: that of the config, if any. */
    const char *fine_tune;
    bool fresh_optimizer; /* of fine_tune: discard its optimizer state */
    bool strict;          /* of fine_tune: another shape is an error */
    bool farm_hash;
    unsigned reference; /* bits of model/reference.h */
    /* A checkpoint of TorchEasyRec whose plan of tables counts; NULL: none. */
    const char *reference_plan;
    struct comm *comm; /* ranks of the run, borrowed; NULL: this one alone */
    int shards;      /* that a batch is cut into; 0: as the checkpoint, or first_shards */
    int local;       /* ranks on one machine; 0: all of them */
    bool half_wire;  /* vectors travel as bf16 */
    bool force_plan; /* tables lie as in the plan of the run that it goes on from */
    int first_shards;                /* of a run without a checkpoint; 0: one per rank */
    const char *table_dir;           /* tables are kept in files there; NULL: in memory */
    const struct lookup_ops *lookup; /* who keeps the tables; NULL: this process */
    const struct device *device;     /* that runs the graph; NULL: the CPU */
    double save_seconds; /* > 0: a checkpoint at least this often, by the clock */
    int64_t patience; /* > 0: stop after this many evaluations without a better metric */
    int64_t memory;   /* bytes that the run may use; 0: not checked */
    struct train_watch watch;
};

enum train_end { TRAIN_DONE, TRAIN_STOPPED, TRAIN_EARLY };

struct train_result {
    enum train_end end; /* all steps; by watch.stop; for want of progress */
    uint64_t steps, rows, epochs;
    uint64_t new_steps, new_rows; /* of this run, without those before a resume */
    double seconds, busy;         /* of the run; without saves and evaluations */
    double loss, wait;
    char *checkpoint; /* the last; owned */
    char metric[64];  /* that tells the best; "" when none can */
    int64_t best_step;
    double best;
    bool takes_best; /* export and predict take that one, not the last */
};
void train_result_release(struct train_result *r);

/* Problems of the config or of the data's columns go to `diags`. RC_NOMEM E1408: more
 * memory than `memory`. *out is the caller's, to release, in any case.
 */
enum rc train_run(const struct train_options *options, struct train_result *out,
                  struct diags *diags, struct err *err) MUST_CHECK;

/* The first batch of the config's eval_input_path, for what it may complain about. */
enum rc train_evaluate_try(struct train_session *s, struct train_score *score,
                           struct diags *diags, struct err *err) MUST_CHECK;
/* One pass over `path` (NULL: the config's eval_input_path) with the session as it is;
 * lines are valid until the score is used again. `tick`, if not NULL, is called now and
 * then with the rows so far; false ends it (RC_CANCELED). RC_INVAL E1406: no rows.
 */
struct train_evaluate_tick {
    bool (*fn)(void *arg, int64_t rows);
    void *arg;
};
enum rc train_evaluate(struct train_session *s, struct train_score *score,
                       const char *path, const struct train_evaluate_tick *tick,
                       struct diags *diags, const struct train_score_line **lines,
                       size_t *n, struct err *err) MUST_CHECK;

#endif
