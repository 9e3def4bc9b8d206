/* SPDX-License-Identifier: Apache-2.0 */
/* data/batch.h - some rows of some columns. */
#ifndef DATA_BATCH_H
#define DATA_BATCH_H

#include "data/column.h"

/* Belongs to whoever called batch_init(). A reader fills it again and again; its memory
 * grows to the largest batch and stays.
 */
struct batch {
    const struct data_schema *schema; /* borrowed; columns follow its order */
    int64_t n;                        /* rows */
    struct column *cols;              /* owned; [n_cols] */
    size_t n_cols;
};

void batch_init(struct batch *b, const struct data_schema *schema);
void batch_release(struct batch *b);
void batch_clear(struct batch *b);
/* For whoever filled the columns row by row: sets n. RC_INVAL when they differ. */
enum rc batch_finish(struct batch *b, struct err *err) MUST_CHECK;
const struct column *batch_find(const struct batch *b, struct str name); /* or NULL */
bool batch_equal(const struct batch *a, const struct batch *b); /* names and values */
/* One object. */
void batch_print_json(const struct batch *b, int64_t row, struct buf *out);

#endif
