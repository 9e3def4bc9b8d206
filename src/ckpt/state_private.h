/* SPDX-License-Identifier: Apache-2.0 */
/* ckpt/state_private.h - tables as tensors. */
#ifndef CKPT_STATE_PRIVATE_H
#define CKPT_STATE_PRIVATE_H

#include "base/map.h"
#include "ckpt/state.h"

/* One tensor of a table: a stretch of each of its rows. */
struct table_column {
    enum ckpt_part part;
    const char *suffix; /* of optimiser state: "momentum1"; NULL: the weights */
    enum st_type type;
    int64_t at;    /* floats from the start of the row */
    int64_t width; /* values */
    bool flat;     /* [rows] rather than [rows, 1] */
};
#define TABLE_COLUMNS_MAX 3
/* How many there are. */
int table_columns(const struct embed_table *t,
                  struct table_column out[TABLE_COLUMNS_MAX]);
/* "embedding.t.weight", "optimizer.embedding.t.weight.momentum1"; the caller's. NULL: of
 * the weights.
 */
char *table_column_name(const struct embed_table *t,
                        const struct table_column *c) MUST_CHECK;
/* "embedding.t.weight.<what>"; the caller's. */
char *table_part_name(const struct embed_table *t, const char *what) MUST_CHECK;

/* Where initial values come from: equal texts, equal values. The caller's. */
char *table_origin(const struct embed_table *t) MUST_CHECK;
struct origin {
    struct embed_values values;
    uint64_t seed, stream;
};
/* Reads such a text; false when it is none. */
bool origin_parse(const char *text, struct origin *out) MUST_CHECK;
/* How ids come and go; equal texts, equal decisions. The caller's; "" of a table whose
 * rows have numbers.
 */
char *table_rule(const struct embed_table *t) MUST_CHECK;

void table_add(struct ckpt_writer *w, const struct embed_table *t);
/* The ids of a keyed table and what is known of them. */
void table_add_keys(struct ckpt_writer *w, const struct embed_table *t);

/* --- loading --- */

/* How rows of a checkpoint are numbered. */
enum table_form { FORM_ALL, FORM_SOME, FORM_KEYS };

struct table_job {
    struct embed_table *t;
    enum table_form form;
    int64_t rows; /* of the table then */
    int64_t n;    /* rows of the tensors */
    int n_cols;
    struct table_column cols[TABLE_COLUMNS_MAX];
    const struct st_tensor *from[TABLE_COLUMNS_MAX]; /* NULL: initial values */
    const unsigned char *used;      /* FORM_ALL: bitmap; NULL: all rows are */
    const struct st_tensor *places; /* FORM_SOME: row numbers */
    bool other_first;               /* FORM_SOME: the rest had other initial values: */
    struct origin origin;
    /* FORM_KEYS; NULL: no counts are taken over. */
    const struct st_tensor *keys, *counts, *last;
    const struct st_tensor *waiting[3], *history[2]; /* NULL: none */
    const struct st_tensor *touched;                 /* NULL: none */
    const struct node *facts;                        /* of the blob "tables" */
    bool partial;
};
int64_t st_i64(const struct st_tensor *t, int64_t i);
/* On failure (E2303 of keys, RC_NOMEM) the table is empty or holds a part. */
enum rc table_job_run(const struct table_job *j, struct err *err) MUST_CHECK;

#endif
