/* SPDX-License-Identifier: Apache-2.0 */
/* embed/embed.h - lookups of all tables of a batch in one pass, and their updates.
 *
 *     embed_batch(e, rows, ids, err)   which rows occur where; new rows are filled
 *     embed_forward(e, out)            pooled or plain vectors into the columns of `out`
 *     embed_backward(e, grad, &step)   each row that occurred is updated once
 *
 * A slot is one use of a table: the ids of one feature, pooled per row, into a stretch of
 * columns of one output. A slot of one id per row that has its table for itself is one
 * task, or a few by row; the occurrences of others are sorted together into a fixed
 * number of parts by row, and a part is one task. Either way a row's gradients are added
 * in the order of the batch, so the result does not depend on the number of threads.
 */
#ifndef EMBED_EMBED_H
#define EMBED_EMBED_H

#include "base/err.h"
#include "base/pool.h"
#include "embed/table.h"
#include "tensor/tensor.h"

enum embed_pooling { EMBED_SUM, EMBED_MEAN };

/* Ids of one slot for the current batch; all borrowed. Row r has ids[offsets[r]] up to
 * ids[offsets[r + 1]]; without offsets exactly ids[r]. A negative id is skipped.
 */
struct embed_slot_ids {
    const int64_t *ids;
    const int64_t *offsets; /* [rows + 1] or NULL */
    const float *weights;   /* one per id, or NULL */
    int64_t rows;
};

struct embed_slot_conf {
    const char *feature; /* for messages */
    int table;           /* from embed_add_table() */
    enum embed_pooling pooling;
    int output; /* which of the views given to embed_forward() */
    int64_t col;
    float max_gradient; /* > 0: gradients of the output are clamped to +- it first */
};

struct embed;

struct embed *embed_create(struct pool *pool);
void embed_destroy(struct embed *e);
/* Both have the same tables: those of `with` take the place of its own, for reading only.
 * `with` must live longer. For several threads that predict with one model.
 */
void embed_share(struct embed *e, const struct embed *with);

/* The table's number, or -1 with `err` filled. Tables of one name are one table and must
 * agree in rows and width.
 */
int embed_add_table(struct embed *e, const struct embed_table_conf *conf,
                    struct err *err);
/* The slot's number. */
int embed_add_slot(struct embed *e, const struct embed_slot_conf *conf);
int embed_n_slots(const struct embed *e);
const struct embed_slot_conf *embed_slot_at(const struct embed *e,
                                            int slot);                /* borrowed */
struct embed_table *embed_table_at(const struct embed *e, int table); /* borrowed */
int embed_n_tables(const struct embed *e);
struct embed_table *embed_slot_table(const struct embed *e, int slot); /* borrowed */

/* From now on every table notes which ids training looks up (struct embed_touched). RC_NOMEM.
 */
enum rc embed_track(struct embed *e, struct err *err) MUST_CHECK;

/* ids[embed_n_slots()]. Ids of keyed tables are any that are not negative: they are
 * admitted, given rows or turned away here (see keyed.h). RC_INVAL when an id lies
 * outside its table: the message names feature, row and id. With `training`, rows that
 * occur for the first time are filled.
 */
enum rc embed_batch(struct embed *e, const struct embed_slot_ids *ids, bool training,
                    struct err *err) MUST_CHECK;
/* Adds nothing: the columns of each slot are overwritten; other columns are left alone.
 */
void embed_forward(struct embed *e, const struct view *outputs);
/* After embed_batch(training). Slots whose table is frozen are skipped. */
void embed_backward(struct embed *e, const struct view *grads,
                    const struct embed_row_step *step);

#endif
