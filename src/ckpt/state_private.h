/* SPDX-License-Identifier: Apache-2.0 */
/* ckpt/state_private.h - tables as tensors. */
#ifndef CKPT_STATE_PRIVATE_H
#define CKPT_STATE_PRIVATE_H

#include "ckpt/state.h"

/* One tensor of a table: a stretch of columns of its rows. */
struct table_column {
    enum ckpt_part part;
    const char *suffix; /* of optimiser state: "momentum1"; NULL: the weights */
    int64_t col, width; /* floats */
    bool flat;          /* [rows] rather than [rows, 1] */
};
#define TABLE_COLUMNS_MAX 3
/* How many there are. */
int table_columns(const struct table *t, struct table_column out[TABLE_COLUMNS_MAX]);
/* "embedding.t.weight", "optimizer.embedding.t.weight.momentum1"; the caller's. NULL: of
 * the weights.
 */
char *table_column_name(const struct table *t, const struct table_column *c) MUST_CHECK;
char *table_used_name(const struct table *t) MUST_CHECK;
/* Where first values come from: equal texts, equal values. The caller's. */
char *table_origin(const struct table *t) MUST_CHECK;

void table_add(struct ckpt_writer *w, const struct table *t);

#endif
