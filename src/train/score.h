/* SPDX-License-Identifier: Apache-2.0 */
/* train/score.h - the metrics of all tasks of a model, and the mean of its losses. */
#ifndef TRAIN_SCORE_H
#define TRAIN_SCORE_H

#include "text/node.h"
#include "train/session.h"

struct score;

struct score_line {
    const char *name; /* "auc", "auc_ctr", "binary_cross_entropy" */
    bool defined;
    double value;
    const char *why; /* of a value that is not defined */
};

/* `train`: the moving averages of train_metrics, else the metrics of an evaluation.
 * RC_INVAL: a metric that the model's outputs do not allow (E1407).
 */
enum rc score_create(const struct session *s, bool train, struct score **out,
                     struct err *err) MUST_CHECK;
void score_destroy(struct score *s); /* NULL is fine */

/* After a forward pass on `b`. */
enum rc score_batch(struct score *s, const struct session *session,
                    const struct feature_batch *b, double loss,
                    struct err *err) MUST_CHECK;
/* Sorted by name; valid until the next call. */
enum rc score_lines(struct score *s, const struct score_line **lines, size_t *n,
                    struct err *err) MUST_CHECK;
void score_reset(struct score *s);
int64_t score_rows(const struct score *s);
/* {"global_step": 7, "auc": 0.7, ...}: a line of train_eval_result_v2.txt; values that
 * are not defined are null.
 */
void score_json(const struct score_line *lines, size_t n, int64_t step, struct buf *out);

/* What the metrics have seen, as an object of JSON, for checkpoints; "{}" when it is too
 * much to keep. score_load() takes it over, when it is of the same metrics; else they
 * start anew.
 */
void score_save(const struct score *s, struct buf *out);
void score_load(struct score *s, const struct node *saved);

#endif
