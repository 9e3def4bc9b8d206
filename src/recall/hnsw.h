/* SPDX-License-Identifier: Apache-2.0 */
/* recall/hnsw.h - a graph of vectors in which near ones are found by going from neighbour
 * to neighbour (hierarchical navigable small world; Malkov and Yashunin 2016).
 *
 * Vectors are added in their order by one thread, so that the graph follows from them and
 * the seed alone; searches may run in several. The arrays have the form of faiss, which
 * its files are written from: the neighbours of vector i on level l are at neighbours[
 * offsets[i] + per_level[l]] up to [offsets[i] + per_level[l + 1]], -1 behind the last.
 */
#ifndef RECALL_HNSW_H
#define RECALL_HNSW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/pool.h"

#define HNSW_LEVELS_MAX 64

struct recall_hnsw_conf {
    int64_t
        links;  /* neighbours of a vector on the levels above the lowest; there: twice */
    int64_t ef; /* candidates that are looked at for each vector that is added */
    bool distance; /* nearest by distance, not by product */
    uint64_t seed;
};

struct recall_hnsw {
    struct recall_hnsw_conf conf;
    const float *x; /* [n][d], borrowed */
    float *squares; /* [n]: squared lengths; NULL: not for products */
    int64_t n, d;
    int n_levels;                    /* entries of the next two */
    double chances[HNSW_LEVELS_MAX]; /* of a vector to have its highest level there */
    int32_t per_level[HNSW_LEVELS_MAX + 1]; /* places up to each level */
    int32_t *levels;                        /* [n]: how many each vector has */
    uint64_t *offsets;                      /* [n + 1] */
    int32_t *neighbours;                    /* [offsets[n]] */
    int32_t entry; /* where a search starts; -1: nothing is there */
    int32_t top;   /* its highest level */
};

/* RC_INVAL E2405 (too many vectors or links), RC_NOMEM. */
enum rc recall_hnsw_create(const float *x, int64_t n, int64_t d,
                           const struct recall_hnsw_conf *conf, struct recall_hnsw **out,
                           struct err *err) MUST_CHECK;
void recall_hnsw_destroy(struct recall_hnsw *h); /* NULL is fine */

/* The k nearest of each query, nearest first, as recall_index_search(); `ef` candidates are
 * kept at a time, at least k. RC_NOMEM.
 */
enum rc recall_hnsw_search(const struct recall_hnsw *h, const float *q, int64_t n,
                           int64_t k, int64_t ef, struct pool *pool, int64_t *rows,
                           float *scores, struct err *err) MUST_CHECK;

#endif
