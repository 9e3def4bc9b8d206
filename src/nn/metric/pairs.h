/* SPDX-License-Identifier: Apache-2.0 */
/* nn/metric/pairs.h - pairs of rows whose predictions stand in the order of their labels.
 *
 * A pair is right when both differ in the same direction; a tie in either is wrong.
 */
#ifndef NN_METRIC_PAIRS_H
#define NN_METRIC_PAIRS_H

#include <stdint.h>

#include "base/err.h"
#include "base/rng.h"

/* Memory for counting, grown as needed. A zeroed one is empty. */
struct metric_pairs {
    void *memory;
    int64_t cap;
};
void metric_pairs_release(struct metric_pairs *p);

/* n (n - 1) / 2; n at most 2^31. */
uint64_t metric_pairs_total(int64_t n);
/* Right ones among all pairs of n rows. RC_NOMEM. */
enum rc metric_pairs_count(struct metric_pairs *p, const float *pred, const float *label,
                           int64_t n, uint64_t *right, struct err *err) MUST_CHECK;
/* Right ones among `draws` pairs drawn with replacement. n > 1. */
uint64_t metric_pairs_sample(struct rng *rng, const float *pred, const float *label,
                             int64_t n, uint64_t draws);
/* The f-th pair (a, b), a < b: ordered by b, then by a. */
void metric_pairs_at(uint64_t f, int64_t *a, int64_t *b);

#endif
