/* SPDX-License-Identifier: Apache-2.0 */
/* nn/metric/bins.h - rows counted by score, and the area under the ROC curve of that.
 *
 * Bin k holds the scores from threshold k/(n-1) up to the next; the last one holds 1.0
 * alone. Counts are doubles, exact up to 2^53 and able to decay.
 */
#ifndef NN_METRIC_BINS_H
#define NN_METRIC_BINS_H

#include "nn/metric/metric_private.h"

struct metric_bins {
    int64_t n;
    float *threshold;            /* [n] */
    double *negative, *positive; /* [n] */
};

#define BINS_MAX ((int64_t)1 << 24)

/* RC_INVAL unless 2 <= n <= BINS_MAX; RC_NOMEM. */
enum rc metric_bins_init(struct metric_bins *b, int64_t n, struct err *err) MUST_CHECK;
void metric_bins_release(struct metric_bins *b);
void metric_bins_reset(struct metric_bins *b);
void metric_bins_add(struct metric_bins *b,
                     const struct metric_bins *from); /* of the same n */

/* The bin of a score in [0, 1]. */
int64_t metric_bins_find(const float *threshold, int64_t n, float score);
/* Of counts [n]; 0 when a class is empty. The curve starts at the highest threshold, not
 * at (0, 0).
 */
double metric_bins_area(const double *negative, const double *positive, int64_t n);
double metric_bins_sum(const double *count, int64_t n);
struct metric_value metric_bins_auc(const struct metric_bins *b);

void metric_bins_save(const struct metric_bins *b, const char *prefix,
                      struct nn_state *out);
enum rc metric_bins_load(struct metric_bins *b, const char *prefix,
                         const struct nn_state *in, struct err *err) MUST_CHECK;

struct metric_bins *metric_auc_bins(struct metric *m); /* of an `auc` */

#endif
