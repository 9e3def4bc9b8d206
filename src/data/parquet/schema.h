/* SPDX-License-Identifier: Apache-2.0 */
/* data/parquet/schema.h - from a file's schema elements to our types, and where nulls and
 * list ends hide in the levels.
 *
 * One pq_node stands for each type node of ours: the groups that Parquet puts between a
 * list and its elements are folded away. Reading an entry (def, rep) of a leaf below a
 * node:
 *   the node has a slot there   when rep <= node->rep and def >= node->def_slot
 *   which is not null           when def >= node->def
 *   a list's slot has an element when def >= node->def_item (every rep <= node->rep + 1)
 */
#ifndef DATA_PARQUET_SCHEMA_H
#define DATA_PARQUET_SCHEMA_H

#include "data/parquet/meta.h"
#include "data/type.h"

#define PQ_DEPTH_MAX 32

/* How stored values become those of the column. */
enum pq_convert {
    PQ_AS_IS,       /* same bytes: I32, I64, U32, U64, F32, F64, bools */
    PQ_BYTES,       /* BYTE_ARRAY -> TYPE_STR */
    PQ_FIXED_BYTES, /* FIXED -> TYPE_STR */
    PQ_I32_DECIMAL, /* -> F64, as the following */
    PQ_I64_DECIMAL,
    PQ_BYTES_DECIMAL,
    PQ_FIXED_DECIMAL,
    PQ_INT96_TIME, /* -> I64 nanoseconds */
    PQ_HALF,       /* FIXED(2) -> F32 */
};

struct pq_leaf {
    const char *path; /* "a.list.element" */
    size_t chunk;     /* index of its column chunk in a row group */
    enum pq_physical physical;
    int32_t type_length; /* PQ_FIXED */
    enum pq_convert convert;
    int max_def, max_rep;
    const struct type *type; /* of the column that it fills */
};

struct pq_node {
    const struct type *type;
    int def_slot, def, def_item, rep;
    size_t leaf;          /* index of the first leaf at or below it */
    struct pq_node *kids; /* [type->n_kids] */
};

struct pq_schema {
    struct data_schema schema; /* what readers see */
    struct pq_node *nodes;     /* [schema.n] */
    struct pq_leaf *leaves;
    size_t n_leaves;
    struct arena mem;
};

/* RC_FORMAT for a tree that is none, RC_UNSUPPORTED for types we cannot express. `s` is
 * to be released in any case.
 */
enum rc pq_schema_build(struct pq_schema *s, const struct pq_file_meta *m,
                        struct err *err) MUST_CHECK;
void pq_schema_release(struct pq_schema *s);

#endif
