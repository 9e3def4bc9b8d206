/* SPDX-License-Identifier: Apache-2.0 */
/* train/trainer.h - a whole training run: data, steps, checkpoints, evaluations. */
#ifndef TRAIN_TRAINER_H
#define TRAIN_TRAINER_H

#include "text/conf.h"
#include "train/score.h"

/* What happens, for whoever shows it. Each may be NULL; all are called by the thread that
 * runs the training.
 */
struct train_watch {
    void *arg;
    void (*start)(void *arg, const struct session *s, int64_t rows, size_t files,
                  const char *resumed_from);
    void (*progress)(void *arg, const struct session *s, double loss, double rows_per_s,
                     double wait, const struct score_line *lines, size_t n);
    void (*saved)(void *arg, int64_t step, const char *dir);
    void (*evaluated)(void *arg, int64_t step, const struct score_line *lines, size_t n,
                      int64_t rows);
    void (*note)(void *arg, const char *text);
    /* Asked after each step; true: save and stop. */
    bool (*stop)(void *arg);
};

struct train_options {
    const struct conf *conf; /* of kind pipeline, checked */
    int threads;             /* 0: as many as there are processors */
    uint64_t seed;
    bool resume; /* go on from the latest checkpoint of model_dir, if there is one */
    const char
        *fine_tune; /* checkpoint to start from; NULL: that of the config, if any */
    bool farm_hash;
    struct train_watch watch;
};

struct train_result {
    uint64_t steps, rows, epochs;
    bool stopped; /* by watch.stop */
    double seconds, loss;
};

/* Problems of the config or of the data's columns go to `diags`. */
enum rc train_run(const struct train_options *options, struct train_result *out,
                  struct diags *diags, struct err *err) MUST_CHECK;

/* One pass over `path` (NULL: the config's eval_input_path) with the session as it is;
 * lines are valid until the score is used again. RC_INVAL E1406: no rows.
 */
enum rc evaluate(struct session *s, struct score *score, const char *path,
                 struct diags *diags, const struct score_line **lines, size_t *n,
                 struct err *err) MUST_CHECK;

#endif
