/* SPDX-License-Identifier: Apache-2.0 */
/* recall/sid.h - semantic ids: a tuple of codes per item, by residual k-means of its vector or
 * from a model, and how well the tuples tell items apart.
 */
#ifndef RECALL_SID_H
#define RECALL_SID_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/pool.h"
#include "base/str.h"
#include "data/column.h"

#define RECALL_SID_LAYERS_MAX 32

struct recall_sid {
    int64_t n, layers;
    int64_t sizes[RECALL_SID_LAYERS_MAX]; /* codes that each layer has */
    int32_t *codes;                       /* [n][layers], owned */
    /* Mean squares per number: of what codes leave of vectors, and of these around their
     * mean. Negative where there were no vectors.
     */
    double error, spread;
};

struct recall_sid_conf {
    const int64_t *sizes; /* [layers] */
    int64_t layers;
    bool normalise;     /* what is left is made one long before each layer */
    int64_t iterations; /* of k-means, at most */
    uint64_t seed;
    struct pool *pool;
};

/* Layer by layer the centres of what the codes before leave of x[n][d], and each item's
 * nearest. The same for any number of threads. RC_INVAL E2406, RC_NOMEM; `out` is empty then.
 */
enum rc recall_sid_fit(const float *x, int64_t n, int64_t d,
                       const struct recall_sid_conf *conf, struct recall_sid *out,
                       struct err *err) MUST_CHECK;
/* Codes that a column of lists of whole numbers holds. sizes[layers]: of the codebooks; with
 * layers 0 they are as large as the largest code says. RC_INVAL E2406, RC_NOMEM.
 */
enum rc recall_sid_read(const struct column *c, const char *name, const int64_t *sizes,
                        int64_t layers, struct recall_sid *out,
                        struct err *err) MUST_CHECK;
/* A further code counts the items with the same tuple, in order. RC_INVAL E2406, RC_NOMEM. */
enum rc recall_sid_tell_apart(struct recall_sid *s, struct err *err) MUST_CHECK;
void recall_sid_release(struct recall_sid *s);

struct recall_sid_use {
    int64_t used, least, most; /* codes with items; items of a code */
    double entropy;            /* 1: all codes have as many */
};
struct recall_sid_stats {
    int64_t tuples;  /* that occur */
    int64_t shared;  /* items whose tuple others have, too */
    int64_t largest; /* items of one tuple */
    struct recall_sid_use use[RECALL_SID_LAYERS_MAX];
};
/* RC_NOMEM. */
enum rc recall_sid_measure(const struct recall_sid *s, struct recall_sid_stats *out,
                           struct err *err) MUST_CHECK;
/* An SVG picture: per layer how many items each code has, from the commonest on. RC_NOMEM. */
enum rc recall_sid_picture(const struct recall_sid *s,
                           const struct recall_sid_stats *stats, struct buf *out,
                           struct err *err) MUST_CHECK;

#endif
