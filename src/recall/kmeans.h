/* SPDX-License-Identifier: Apache-2.0 */
/* recall/kmeans.h - k-means by squared distance.
 *
 * The result follows from the points and the seed, not from the number of threads.
 */
#ifndef RECALL_KMEANS_H
#define RECALL_KMEANS_H

#include <stdint.h>

#include "base/err.h"
#include "base/pool.h"

#define KMEANS_CENTRES_MAX 32768

struct kmeans_conf {
    int64_t k;          /* 1 to KMEANS_CENTRES_MAX, at most the number of points */
    int64_t iterations; /* at most */
    uint64_t seed, stream;
    struct pool *pool; /* borrowed; NULL: this thread alone */
};

/* x[n][d] -> centres[k][d] and, of each point, the number of the nearest in nearest[n];
 * of several as near the first. A centre that loses all points gets the one that is
 * farthest from its own. RC_NOMEM.
 */
enum rc kmeans(const float *x, int64_t n, int64_t d, const struct kmeans_conf *conf,
               float *centres, int32_t *nearest, struct err *err) MUST_CHECK;

/* The nearest of k centres to each point, as kmeans() says it. RC_NOMEM. */
enum rc kmeans_nearest(const float *x, int64_t n, int64_t d, const float *centres,
                       int64_t k, struct pool *pool, int32_t *nearest,
                       struct err *err) MUST_CHECK;

#endif
