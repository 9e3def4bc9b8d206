/* SPDX-License-Identifier: Apache-2.0 */
/* train/score.h - the metrics of all tasks of a model, and the mean of its losses. */
#ifndef TRAIN_SCORE_H
#define TRAIN_SCORE_H

#include "text/node.h"
#include "train/session.h"

struct train_score;

struct train_score_line {
    const char *name; /* "auc", "auc_ctr", "binary_cross_entropy" */
    bool defined;
    double value;
    const char *why; /* of one that is not defined, or that says little; or NULL */
};

/* `train`: the moving averages of train_metrics, else the metrics of an evaluation.
 * RC_INVAL: a metric that the model's outputs do not allow (E1407).
 */
enum rc train_score_create(const struct train_session *s, bool train,
                           struct train_score **out, struct err *err) MUST_CHECK;
void train_score_destroy(struct train_score *s); /* NULL is fine */

/* After a forward pass on `b`. */
enum rc train_score_batch(struct train_score *s, const struct train_session *session,
                          const struct feature_batch *b, double loss,
                          struct err *err) MUST_CHECK;
/* Of train: the losses of the last batch, where the graph has only a part of it. */
void train_score_losses(struct train_score *s, const double *each);
/* What another has seen of the same metrics, behind what `s` has. RC_NOMEM. */
enum rc train_score_merge(struct train_score *s, const struct train_score *from,
                          struct err *err) MUST_CHECK;
/* The same for `each` of this rank's shards and those of all other ranks of the session,
 * in the order of shards. Collective; all ranks come to the same.
 */
enum rc train_score_gather(struct train_score *s, struct train_score *const *each,
                           const struct train_session *session,
                           struct err *err) MUST_CHECK;
/* Sorted by name; valid until the next call. */
enum rc train_score_lines(struct train_score *s, const struct train_score_line **lines,
                          size_t *n, struct err *err) MUST_CHECK;
void train_score_reset(struct train_score *s);
int64_t train_score_rows(const struct train_score *s);
/* {"global_step": 7, "auc": 0.7, ...}: a line of train_eval_result_v2.txt; values that
 * are not defined are null.
 */
void train_score_json(const struct train_score_line *lines, size_t n, int64_t step,
                      struct buf *out);

/* What the metrics have seen, as an object of JSON, for checkpoints; "{}" when it is too
 * much to keep. train_score_load() takes it over, when it is of the same metrics; else they
 * start anew.
 */
void train_score_save(const struct train_score *s, struct buf *out);
void train_score_load(struct train_score *s, const struct node *saved);

#endif
