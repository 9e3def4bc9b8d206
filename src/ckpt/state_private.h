/* SPDX-License-Identifier: Apache-2.0 */
/* ckpt/state_private.h - tables as tensors: state_table.c names them, state_save.c writes
 * the image of a table, state_load.c plans what to read and state_image.c makes an image
 * of it again.
 */
#ifndef CKPT_STATE_PRIVATE_H
#define CKPT_STATE_PRIVATE_H

#include "base/map.h"
#include "ckpt/state.h"

/* "embedding.t.weight", "optimizer.embedding.t.weight.momentum1"; the caller's. NULL: of
 * the weights.
 */
char *ckpt_column_name(const struct embed_table_conf *t,
                       const struct lookup_column *c) MUST_CHECK;
/* "embedding.t.weight.<what>"; the caller's. */
char *ckpt_table_part_name(const struct embed_table_conf *t, const char *what) MUST_CHECK;
enum ckpt_st_type ckpt_stored_type(enum dtype t);

/* Lists that go with the rows of a table, and what their tensors are called. */
struct ckpt_list_name {
    const char *name;
    enum ckpt_part part;
};
extern const struct ckpt_list_name ckpt_list_names[LOOKUP_LISTS];

/* Where initial values come from: equal texts, equal values. The caller's. */
char *ckpt_origin_text(const struct embed_table_conf *t) MUST_CHECK;
/* Reads such a text; false when it is none. */
bool ckpt_origin_parse(const char *text, struct lookup_origin *out) MUST_CHECK;
/* How ids come and go; equal texts, equal decisions. The caller's; "" of a table whose
 * rows have numbers.
 */
char *ckpt_rule_text(const struct embed_table_conf *t) MUST_CHECK;

/* Adds the tensors of a table. What the snapshot holds is the writer's from here on. */
void ckpt_add_table(struct ckpt_writer *w, const struct embed_table_conf *t,
                    struct lookup_snapshot *s);

/* --- loading --- */

/* What is to be read into one table. */
struct ckpt_table_job {
    int table;
    const struct embed_table_conf *conf;
    int n_cols;
    struct lookup_column cols[LOOKUP_COLUMNS_MAX];
    const struct ckpt_st_tensor *from[LOOKUP_COLUMNS_MAX]; /* NULL: initial values */
    struct lookup_image image;
    bool other_initial; /* rows left out had initial values of `origin` */
    struct lookup_origin origin;
    /* Rows that move: of each row of the image, its place in the tensors; NULL: in order. */
    const int64_t *places;
};
/* The rows of the image become those of the table that have a place in it: then[] says of
 * each where it was, -1: nowhere. Lists lie in `a`.
 */
void ckpt_table_job_move(struct ckpt_table_job *j, const int64_t *then, struct arena *a);
struct lookup_list ckpt_list_of(const struct ckpt_st_tensor *t); /* of I64; NULL: none */
/* On failure the table is empty or holds a part. */
enum rc ckpt_table_job_run(struct ckpt_table_job *j, struct lookup *l,
                           struct err *err) MUST_CHECK;

#endif
