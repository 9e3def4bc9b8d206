/* SPDX-License-Identifier: Apache-2.0 */
/* recall/itree_attrs.h - what the nodes of a tree have of their items' attributes. */
#ifndef RECALL_ITREE_ATTRS_H
#define RECALL_ITREE_ATTRS_H

#include "data/column.h"
#include "recall/itree.h"

/* rows[t->n]: of each node the item whose value of `c` it takes, the most frequent below
 * it; -1: none has one. RC_NOMEM.
 */
enum rc itree_modes(const struct itree *t, const struct column *c, struct pool *pool,
                    int64_t *rows, struct err *err) MUST_CHECK;
/* means[t->n]: of each node the mean of the values below it; NaN: there is none. */
void itree_means(const struct itree *t, const struct column *c, struct pool *pool,
                 double *means);

#endif
