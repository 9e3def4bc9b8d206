/* SPDX-License-Identifier: Apache-2.0 */
/* train/click_auc.h - AUC from a histogram of probabilities, of all batches so far and of
 * the last ones, as PaddlePaddle's operator counts it.
 *
 * Bucket floor(p * K) of K + 1; labels above 0 are positive. The area is that of trapezoids
 * from the highest bucket down; 0 when a class is missing.
 */
#ifndef TRAIN_CLICK_AUC_H
#define TRAIN_CLICK_AUC_H

#include <stdint.h>

#include "base/err.h"

struct train_click_auc;

/* `thresholds` is K, from 1 on; `window` batches count as the last ones, 0: all. */
struct train_click_auc *train_click_auc_create(int64_t thresholds, int64_t window);
void train_click_auc_destroy(struct train_click_auc *a); /* NULL is fine */
void train_click_auc_reset(struct train_click_auc *a);

/* One batch: n probabilities, `stride` floats apart, and as many labels. RC_INVAL E1404: a
 * value that is no probability; nothing is counted then.
 */
enum rc train_click_auc_add(struct train_click_auc *a, const float *probs, int64_t stride,
                            const float *labels, int64_t n, struct err *err) MUST_CHECK;
double train_click_auc_all(const struct train_click_auc *a);
double train_click_auc_last(const struct train_click_auc *a);

#endif
