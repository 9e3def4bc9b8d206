/* SPDX-License-Identifier: Apache-2.0 */
/* data/parquet/leaf.h - rows of one leaf column, across pages and row groups.
 *
 * A leaf fills the column of ours that holds its values. Of a nested column it also
 * collects the levels of the batch, from which assemble.h makes lists. Leaves share
 * nothing that changes: each may be read by another thread.
 */
#ifndef DATA_PARQUET_LEAF_H
#define DATA_PARQUET_LEAF_H

#include "data/parquet/pages.h"
#include "data/parquet/values.h"

#define PQ_BLOCK 1024

struct pq_leaf_reader {
    const struct pq_leaf *leaf; /* borrowed, as the next three */
    const struct pq_file_meta *meta;
    const struct pq_kernels *kernels;
    struct column *out;
    bool want_codes;  /* leave dictionary codes as they are where possible */
    bool is_nested;   /* levels are collected */
    size_t max_bytes; /* of one batch; may change between batches */

    int64_t row;       /* next row of the file, -1 after a failure */
    size_t group;      /* row group that is open, or n_groups */
    int64_t rows_left; /* of it */

    struct pq_pages pages;
    struct pq_values values; /* of the current page */
    struct pq_body body;
    int64_t entries_left;      /* of the current page, not yet decoded to levels */
    struct dict *dict, *spare; /* of the current chunk and the one before, or NULL */
    bool has_dict;
    size_t dict_longest; /* bytes of its longest text */
    bool in_row;         /* repeated: the last row may go on */

    uint8_t rep[PQ_BLOCK], def[PQ_BLOCK]; /* levels decoded ahead */
    size_t block_at, block_n;

    /* Of the batch that is being read: */
    int64_t n_values;             /* dense, in `out` */
    int64_t n_slots;              /* flat: rows */
    struct column_mem defs, reps; /* nested: levels, [n_levels] */
    size_t n_levels;

    struct column_mem scratch; /* owned: values before they are converted */
    struct column text;        /* owned: likewise, of variable length */
    struct type text_type;
};

void pq_leaf_init(struct pq_leaf_reader *r, const struct pq_leaf *leaf);
void pq_leaf_release(struct pq_leaf_reader *r);

/* Rows [row, row + n) into r->out, which was cleared. Flat columns are complete then; of
 * nested ones the values lie densely in r->out and the levels in r->defs and r->reps. The
 * message names column, row group, page and place.
 */
enum rc pq_leaf_read(struct pq_leaf_reader *r, struct codec *codec, int64_t row,
                     int64_t n, struct err *err) MUST_CHECK;

/* Spreads the n_values dense values over n_slots, of which `bits` tells which have one;
 * then r->out is complete. The bitmap is r->out->own_valid or NULL.
 */
enum rc pq_leaf_spread(struct pq_leaf_reader *r, int64_t n_slots, const uint8_t *bits,
                       struct err *err) MUST_CHECK;

/* n further values of a page to place `at` of `to`, converted (pq_leaf: convert). */
enum rc pq_leaf_fill(struct pq_leaf_reader *r, struct column *to, int64_t at, size_t n,
                     struct err *err) MUST_CHECK;

#endif
