/* SPDX-License-Identifier: Apache-2.0 */
/* recall/itree.h - a tree over items, all of them on its last level.
 *
 * Nodes are numbered level by level, each level by code. The root's code is 0, child i of
 * code c (i from 0 on) has c * branch + i + 1. A node's children stand side by side on
 * the next level, and so do all leaves below it on the last.
 */
#ifndef RECALL_ITREE_H
#define RECALL_ITREE_H

#include <stdint.h>

#include "base/err.h"
#include "base/pool.h"

#define ITREE_BRANCH_MAX 256
#define ITREE_LEVELS_MAX 64

struct itree {
    int64_t branch, n_levels, n;
    int64_t level_at[ITREE_LEVELS_MAX + 1]; /* first node of each level */
    int64_t *codes;                         /* [n] */
    /* [n + 1]: node k's children are child_at[k] .. child_at[k + 1]; of leaves none. */
    int64_t *child_at;
    int64_t *parent;              /* [n]; -1 of the root */
    int64_t *leaf_from, *leaf_to; /* [n]: leaves below a node, counted from the first */
    int64_t *rows;                /* [leaves]: the item of a leaf */
};

/* By an order of the items: halves (or `branch` parts) of it, halves of these and so on.
 * order[k] is the item at place k.
 */
enum rc itree_by_order(const int64_t *order, int64_t n, int64_t branch, struct itree *out,
                       struct err *err) MUST_CHECK;

/* By k-means on their vectors x[n][d]: parts of a node differ in size by one item at
 * most. The tree follows from the vectors and the seed alone.
 */
struct itree_cluster {
    int64_t branch, iterations;
    uint64_t seed;
    struct pool *pool;
};
enum rc itree_by_vectors(const float *x, int64_t n, int64_t d,
                         const struct itree_cluster *conf, struct itree *out,
                         struct err *err) MUST_CHECK;

/* From the codes of all items: leaves that are not on the last level are drawn down to
 * it. RC_INVAL when two items have one code.
 */
enum rc itree_build(const int64_t *codes, int64_t n, int64_t branch, struct itree *out,
                    struct err *err) MUST_CHECK;
void itree_release(struct itree *t);

static inline int64_t itree_leaves(const struct itree *t)
{
    return t->n - t->level_at[t->n_levels - 1];
}

#endif
