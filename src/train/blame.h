/* SPDX-License-Identifier: Apache-2.0 */
/* train/blame.h - where a number that is none came from. */
#ifndef TRAIN_BLAME_H
#define TRAIN_BLAME_H

#include "train/session.h"

/* After a forward pass whose loss is not finite: looks at the batch's numbers, the
 * embedding rows and the parameters, and says what is not finite first. Returns RC_INVAL
 * with E1404.
 */
enum rc train_blame_not_finite(const struct train_session *s,
                               const struct feature_batch *b, double loss,
                               struct err *err) MUST_CHECK;

/* After a forward pass: "output 'probs' is nan: feature 'price' is inf" for one row of the
 * batch; without the feature when all numbers of the row are finite.
 */
void train_blame_output(const struct train_session *s, const struct feature_batch *b,
                        int64_t row, const char *output, double value, struct buf *out);

#endif
