/* SPDX-License-Identifier: Apache-2.0 */
/* train/outside.h - values that features found outside their tables, counted.
 *
 * A number beyond num_buckets counts as 0, as in TorchEasyRec; the reader of the results
 * should know how often that was.
 */
#ifndef TRAIN_OUTSIDE_H
#define TRAIN_OUTSIDE_H

#include "feature/feature.h"
#include "train/where.h"

struct train_outside {
    int64_t *n;   /* [features]; NULL: nothing yet */
    char **first; /* [features]: the first one, for a person; owned */
    size_t features;
    int64_t all; /* the sum of n */
};

/* What features of a batch had, whose rows are `where`. */
void train_outside_add(struct train_outside *o, const struct feature_plan *plan,
                       const struct feature_batch *b, const struct train_where *where);
/* Those of rows behind the ones that `o` has counted; `more` is 0 again. */
void train_outside_merge(struct train_outside *o, struct train_outside *more);
/* A line for each feature that had some; the counts are 0 again. */
void train_outside_take(struct train_outside *o, const struct feature_plan *plan,
                        struct buf *out);
void train_outside_release(struct train_outside *o); /* twice is fine */

#endif
