/* SPDX-License-Identifier: Apache-2.0 */
/* nn/metric/bins.h - rows counted by score, and the area under the ROC curve of that.
 *
 * Bin k holds the scores from threshold k/(n-1) up to the next; the last one holds 1.0
 * alone. Counts are doubles, exact up to 2^53 and able to decay.
 */
#ifndef NN_METRIC_BINS_H
#define NN_METRIC_BINS_H

#include "nn/metric/metric_private.h"

struct bins {
    int64_t n;
    float *threshold;            /* [n] */
    double *negative, *positive; /* [n] */
};

#define BINS_MAX ((int64_t)1 << 24)

/* RC_INVAL unless 2 <= n <= BINS_MAX; RC_NOMEM. */
enum rc bins_init(struct bins *b, int64_t n, struct err *err) MUST_CHECK;
void bins_release(struct bins *b);
void bins_reset(struct bins *b);
void bins_add(struct bins *b, const struct bins *from); /* of the same n */

/* The bin of a score in [0, 1]. */
int64_t bins_find(const float *threshold, int64_t n, float score);
/* Of counts [n]; 0 when a class is empty. The curve starts at the highest threshold, not
 * at (0, 0).
 */
double bins_area(const double *negative, const double *positive, int64_t n);
double bins_sum(const double *count, int64_t n);
struct metric_value bins_auc(const struct bins *b);

void bins_save(const struct bins *b, const char *prefix, struct state *out);
enum rc bins_load(struct bins *b, const char *prefix, const struct state *in,
                  struct err *err) MUST_CHECK;

struct bins *auc_bins(struct metric *m); /* of an `auc` */

#endif
