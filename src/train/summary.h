/* SPDX-License-Identifier: Apache-2.0 */
/* train/summary.h - what a run writes for TensorBoard, and when.
 *
 * Tags are TorchEasyRec's: loss/<name>, loss/total, lr/g0 (the tables' rate, then the
 * dense groups), metric/<name>, global_gradient_norm; beside them samples_per_second and
 * wait_percent. On request (train_config.tensorboard_summaries) <param>/gradient_norm,
 * and histograms <param> and <param>/gradient.
 */
#ifndef TRAIN_SUMMARY_H
#define TRAIN_SUMMARY_H

#include "train/trainer.h"

struct train_summary;

/* NULL when use_tensorboard is off. `config` is kept as text. A run that goes on takes
 * `resumed_step` (its next step), any other -1. Failures are for notes: the run goes on
 * without.
 */
enum rc train_summary_open(const struct train_session *s, const char *config,
                           int64_t resumed_step, struct train_summary **out,
                           struct err *err) MUST_CHECK;
void train_summary_close(struct train_summary *y); /* NULL is fine */

/* After a step; NULL is fine. */
enum rc train_summary_progress(struct train_summary *y, const struct train_session *s,
                               const struct train_progress *p,
                               struct err *err) MUST_CHECK;
/* Goes to eval_val/ of model_dir. */
enum rc train_summary_evaluation(struct train_summary *y,
                                 const struct train_evaluation *e,
                                 struct err *err) MUST_CHECK;

#endif
