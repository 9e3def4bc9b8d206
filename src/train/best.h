/* SPDX-License-Identifier: Apache-2.0 */
/* train/best.h - which checkpoint is the best one, by the results of evaluations. */
#ifndef TRAIN_BEST_H
#define TRAIN_BEST_H

#include "data/dataset.h"
#include "text/pipeline/pipeline.h"
#include "train/score.h"

#define TRAIN_RESULTS "train_eval_result_v2.txt"
#define TRAIN_RESULTS_DATA "eval_data" /* key of a line: what it was evaluated on */

/* The metric by which results are compared, and the best so far. */
struct train_best {
    char metric[64]; /* "" until one is known */
    bool smaller;    /* is better */
    bool found;
    double value;
    int64_t step;      /* -1: none yet */
    int64_t since;     /* evaluations after it */
    int64_t last_step; /* of the last evaluation read; -1: none */
    char data
        [DATASET_PRINT_SIZE]; /* that was evaluated on (dataset_print()); "": not known */
};

/* By export_config's best_exporter_metric and direction; NULL or not set: by what
 * train_best_take() finds.
 */
void train_best_init(struct train_best *b, const struct pc_ExportConfig *c);
/* The next evaluation is one on that data; "": not known, taken to be the same. On other
 * data than before results cannot be compared: the best is looked for anew. True then.
 */
bool train_best_data(struct train_best *b, const char *data);
/* Compares one evaluation; true when it is better than all before (the first is). Without
 * a metric the first evaluation chooses one: auc, one that begins with "auc",
 * "grouped_auc" or "recall", else the loss, where smaller is better.
 */
bool train_best_take(struct train_best *b, int64_t step,
                     const struct train_score_line *lines, size_t n);
/* The line of the metric; NULL when it is not there or not defined. */
const struct train_score_line *train_best_line(const struct train_best *b,
                                               const struct train_score_line *lines,
                                               size_t n);
/* Takes all lines of model_dir's results up to `last_step`; without the file, none. Lines
 * that are not whole are passed over. Those that counted are added to `kept`, which may
 * be NULL.
 */
enum rc train_best_read(struct train_best *b, const char *model_dir, int64_t last_step,
                        struct buf *kept, struct err *err) MUST_CHECK;

#endif
