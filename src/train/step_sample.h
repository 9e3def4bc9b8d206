/* SPDX-License-Identifier: Apache-2.0 */
/* train/step_sample.h - a few steps of a training, to learn what one takes. */
#ifndef TRAIN_STEP_SAMPLE_H
#define TRAIN_STEP_SAMPLE_H

#include "dist/scale.h"
#include "train/session.h"

/* Trains a few steps on the data of the config with one thread, and forgets them: time of
 * the processor for a rank's batch, and what it asks of tables. RC_INVAL: there are too few
 * rows; what training says.
 */
enum rc train_step_sample(const struct pc_EasyRecConfig *conf,
                          struct dist_scale_step *out, struct diags *diags,
                          struct err *err) MUST_CHECK;

#endif
