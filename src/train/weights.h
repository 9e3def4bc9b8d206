/* SPDX-License-Identifier: Apache-2.0 */
/* train/weights.h - what each row of a batch weighs in a task's loss. */
#ifndef TRAIN_WEIGHTS_H
#define TRAIN_WEIGHTS_H

#include "model/model.h"

/* out[row] = w / mean(w) * weight / rows, where w is the sample weight (NULL: 1) times
 * the in-space or out-of-space weight when `space` (> 0: inside) is given; all zeros when
 * the mean is. RC_INVAL E1403: a weight that is negative or no number.
 */
enum rc train_weights_fill(const struct model_task *t, const float *weights,
                           const float *space, struct view out,
                           struct err *err) MUST_CHECK;

#endif
