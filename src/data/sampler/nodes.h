/* SPDX-License-Identifier: Apache-2.0 */
/* data/sampler/nodes.h - the item table in memory: ids, weights, attributes as columns.
 */
#ifndef DATA_SAMPLER_NODES_H
#define DATA_SAMPLER_NODES_H

#include "data/batch.h"
#include "data/sampler/alias.h"
#include "data/sampler/keymap.h"

struct nodes_conf {
    const char *path;
    char delim;             /* of columns; 0: tab */
    const char *attr_delim; /* of attributes */
    const char *const *attr_fields;
    size_t n_attr_fields;
    /* Columns of the training data: give attributes a type. */
    const struct data_schema *data;
    const char *level_field; /* attribute with the level in a tree, or NULL */
    /* Columns of attributes have it, and hold lists of them (or texts); NULL: they do not. */
    const char *list_prefix;
    struct buf *notes; /* what is odd but handled, a line each; NULL: nobody asks */
};

#define TREE_ABOVE (-1) /* the level of a node from which a tree's root is reached */

struct nodes {
    int64_t n;
    enum id_kind kind;
    struct keymap index;   /* from ids to rows */
    struct column keys;    /* int64 */
    struct column weights; /* double */
    struct column levels;  /* int64; empty without level_field */
    /* Attributes that are columns of the training data, of the same types. */
    struct data_schema schema;
    struct batch attrs;
    int64_t *column_of; /* [n_attr_fields]: of `attrs`, -1: not wanted; -2: the level */
};

/* RC_FORMAT E1901 to E1903; RC_INVAL E1904 (an attribute's type), E1905 (no item can be
 * drawn); RC_NOMEM. `n` is empty then.
 */
enum rc nodes_read(struct nodes *n, const struct nodes_conf *conf,
                   struct err *err) MUST_CHECK;
void nodes_release(struct nodes *n);

/* The item table of a sampler, whose batches have the columns of `data`; with the level
 * and the id in front, where it is a tree's. As nodes_read().
 */
struct sampler_conf;
enum rc sampler_nodes(const struct sampler_conf *conf, const struct data_schema *data,
                      struct buf *notes, struct nodes *out, struct err *err) MUST_CHECK;

#endif
