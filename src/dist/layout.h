/* SPDX-License-Identifier: Apache-2.0 */
/* dist/layout.h - how tables are cut into parts, and which ranks keep each part.
 *
 * A part is a stretch of the columns of all rows of a table. It has a table of its own in
 * the lookup inside, and its rows are spread over the ranks of its place (owner.h). A table
 * that nobody cut is one part: all of its columns, on all ranks.
 */
#ifndef DIST_LAYOUT_H
#define DIST_LAYOUT_H

#include "dist/owner.h"
#include "embed/lookup.h"

struct dist_part {
    struct dist_place place;
    int64_t col, dim; /* columns; dim 0: all of them */
    int inner;        /* its table in the lookup inside; dist_layout_cut() sets it */
};

struct dist_parts {
    int n;                /* 0: nobody cut it */
    struct dist_part *at; /* owned */
};

struct dist_layout {
    int n_tables; /* of the model; those of parts follow in the lookup inside */
    struct dist_parts *tables;
    char **dirs; /* [n_tables]: where a table is kept in a file; NULL: in memory */
};
void dist_layout_release(struct dist_layout *l);

/* The next table of the model is kept in this directory, or NULL. */
void dist_layout_add(struct dist_layout *l, const char *dir);
int dist_layout_count(const struct dist_layout *l, int table); /* parts */
struct dist_part dist_layout_part(const struct dist_layout *l, const struct lookup *inner,
                                  int table, int part);

/* Parts that follow each other and are all columns; their tables are added to `inner`.
 * RC_INVAL, RC_NOMEM: as lookup_add_table() says.
 */
enum rc dist_layout_cut(struct dist_layout *l, struct lookup *inner, int table,
                        const struct dist_part *parts, int n, struct err *err) MUST_CHECK;

#endif
