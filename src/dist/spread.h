/* SPDX-License-Identifier: Apache-2.0 */
/* dist/spread.h - the rows of an image of a table that several ranks keep (sharded_image.c):
 * rank 0 reads them, or all ranks write them into a file. Meanwhile the others are in
 * dist_sharded_serve().
 */
#ifndef DIST_SPREAD_H
#define DIST_SPREAD_H

#include "dist/key_order.h"
#include "dist/sharded_private.h"

/* A part of a table, as this rank has it. */
struct dist_spread_part {
    struct dist_owner owner;
    struct lookup_snapshot *own; /* of the rows kept here; by number, or of keys */
    int64_t col;
    struct lookup_column columns[LOOKUP_COLUMNS_MAX];
};

/* An image of a table of all ranks. */
struct dist_spread {
    struct lookup_snapshot base;
    struct dist_sharded *x;
    int table, n_parts;
    struct dist_spread_part *parts;
    struct lookup_column columns[LOOKUP_COLUMNS_MAX];
    unsigned char *used;                  /* of all ranks; a bit per row */
    int64_t *places;                      /* LOOKUP_LISTED: numbers of rows */
    int64_t *lists;                       /* of a keyed table that other ranks keep */
    struct dist_key_order order, waiting; /* of a keyed table of several ranks */
    int64_t *touched;                     /* ids for the next dump, of all ranks */
    unsigned char *piece;                 /* what other ranks sent, or is sent */
    size_t piece_room;
    int64_t *counts; /* [2 * world] */
};

/* As lookup_image.read and .write, on rank 0; arg: struct dist_spread. */
enum rc dist_spread_read(const void *arg, int column, int64_t from, int64_t n, void *out,
                         struct err *err) MUST_CHECK;
enum rc dist_spread_write(const void *arg, int column, const char *temp, int64_t offset,
                          bool *done, uint32_t *crc32c, struct err *err) MUST_CHECK;

static inline bool dist_spread_is_ordered(const struct dist_spread *s)
{
    return s->parts[0].owner.classes > 0;
}

static inline bool dist_has_bit(const unsigned char *bits, int64_t row)
{
    return bits[row >> 3] >> (row & 7) & 1;
}

#endif
