/* SPDX-License-Identifier: Apache-2.0 */
/* recall/itree_files.h - a tree of items as the tables that a tdm_sampler, retrieval and
 * serving read, in TorchEasyRec's form.
 *
 *     node_table.txt           id, weight, attributes: level, id, those of the items
 *     edge_table.txt           leaf, ancestor (without the root)
 *     predict_edge_table.txt   node, child
 *     node_feature/part-0.parquet   id and attributes as columns
 *     serving_tree             "levels branch", then "code id" of each node
 *
 * An inner node has the attributes of the items below it: of `attrs` the most frequent
 * value (of several the smallest; null and empty texts do not count), of `raw` the mean.
 * Its id is the largest of the items' plus its code plus 1, or, where ids are texts,
 * "nonleaf#" and the code.
 */
#ifndef RECALL_ITREE_FILES_H
#define RECALL_ITREE_FILES_H

#include "recall/items.h"
#include "recall/itree.h"

struct itree_files {
    const char *dir;        /* of the tables */
    const char *serving;    /* directory of serving_tree; NULL: none */
    const char *attr_delim; /* between attributes */
    size_t n_raw;           /* the last so many of the items' attributes are `raw` */
    size_t n_attrs;         /* of them all */
    struct pool *pool;
};

/* RC_INVAL E1908 (a value that a table cannot hold), E2403 (no room for ids), RC_NOMEM,
 * RC_IO.
 */
enum rc itree_write(const struct itree *t, const struct recall_items *items,
                    const struct itree_files *conf, struct err *err) MUST_CHECK;

#endif
