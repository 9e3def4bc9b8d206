/* SPDX-License-Identifier: Apache-2.0 */
/* recall/index.h - the nearest of many vectors: all of them looked at, only those of
 * the lists whose centres are nearest (an inverted file), or those that a walk through a
 * graph meets (hnsw.h).
 *
 * Results do not depend on the number of threads; of vectors as near as each other the
 * first comes first. A struct recall_index may be searched by several threads.
 */
#ifndef RECALL_INDEX_H
#define RECALL_INDEX_H

#include <stdint.h>

#include "base/err.h"
#include "base/pool.h"
#include "recall/kmeans.h"

enum recall_metric {
    INDEX_DOT, /* larger products are nearer; scores are products */
    INDEX_L2,  /* scores are squared distances */
};

struct recall_index_conf {
    enum recall_metric metric;
    int64_t lists;      /* 0: none, every vector is looked at; at most so many vectors */
    int64_t iterations; /* of k-means; 0: 10 */
    int64_t links;      /* > 0: a graph, with so many neighbours per vector */
    int64_t ef_construction; /* candidates for them; 0: 200 */
    uint64_t seed;
    struct pool *pool; /* borrowed, for recall_index_create() */
};

struct recall_index;

/* x[n][d] is borrowed; with lists a copy is made. RC_INVAL E2405, RC_NOMEM. */
enum rc recall_index_create(const float *x, int64_t n, int64_t d,
                            const struct recall_index_conf *conf,
                            struct recall_index **out, struct err *err) MUST_CHECK;
void recall_index_destroy(struct recall_index *x); /* NULL is fine */

/* Of each of n vectors q[n][d] the k nearest: rows[n][k] and scores[n][k], nearest first;
 * -1 where there are no more. `probes`: how many lists are looked into; of a graph how many
 * candidates are kept (efSearch). RC_NOMEM.
 */
enum rc recall_index_search(const struct recall_index *x, const float *q, int64_t n,
                            int64_t k, int64_t probes, struct pool *pool, int64_t *rows,
                            float *scores, struct err *err) MUST_CHECK;

#endif
