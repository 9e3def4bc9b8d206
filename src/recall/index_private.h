/* SPDX-License-Identifier: Apache-2.0 */
/* recall/index_private.h - an index as its files share it. */
#ifndef RECALL_INDEX_PRIVATE_H
#define RECALL_INDEX_PRIVATE_H

#include "recall/hnsw.h"
#include "recall/index.h"

struct recall_index {
    const float *x; /* [n][d] */
    int64_t n, d;
    enum recall_metric metric;
    float *half; /* [n]: minus half of the squared length; NULL: not for this metric */
    /* Lists: */
    int64_t lists;
    float *centres, *centre_half;
    float *own;       /* [n][d]: x by list */
    int64_t *list_at; /* [lists + 1] */
    int64_t *rows;    /* [n]: which vector it is */
    /* A graph: */
    struct recall_hnsw *graph; /* NULL: none */
};

#endif
