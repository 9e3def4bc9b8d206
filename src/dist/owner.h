/* SPDX-License-Identifier: Apache-2.0 */
/* dist/owner.h - which rank keeps a row.
 *
 * Rows of a large table go round the ranks in blocks of two megabytes, so that memory
 * per rank falls with their number: a block's pages are only ever touched on its owner.
 * Blocks of small tables are short, and begin on another rank with each table. Of a keyed
 * table the classes of ids that compete with each other go round the ranks; where all ids
 * do, it is one rank's alone. A place limits the ranks
 * that keep rows of a table: to one, to those of a host; or every rank has a copy of all
 * rows, of which the owner's goes into checkpoints.
 */
#ifndef DIST_OWNER_H
#define DIST_OWNER_H

#include <stdbool.h>
#include <stdint.h>

#include "embed/ids.h"

struct dist_place {
    int first, n; /* ranks; n 0: all of them */
    bool copies;  /* all ranks keep all rows */
};

struct dist_owner {
    int world;
    int first, n;    /* ranks that keep rows */
    int start;       /* of these the one with block 0; of keyed tables the rank */
    int shift;       /* rows of a block: 1 << shift; -1: all of them */
    int64_t classes; /* of a keyed table on several ranks; else 0 */
    bool copies;
};

/* `place` NULL: all ranks. */
struct dist_owner dist_owner_of(const struct embed_table_conf *t, int table, int world,
                                const struct dist_place *place);
/* The share of the rows that a rank keeps, one in so many; 0: none. */
int dist_owner_share(const struct dist_owner *o, int rank);

static inline int dist_owner_of_class(const struct dist_owner *o, int64_t class)
{
    return o->first + (int)((uint64_t)(class + o->start) % (uint64_t)o->n);
}

static inline int dist_owner_at(const struct dist_owner *o, int64_t id)
{
    if (o->classes)
        return dist_owner_of_class(o, embed_id_class(id, o->classes));
    if (o->shift < 0)
        return o->start;
    return o->first +
           (int)(((uint64_t)(id >> o->shift) + (uint64_t)o->start) % (uint64_t)o->n);
}

#endif
