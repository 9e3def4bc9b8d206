/* SPDX-License-Identifier: Apache-2.0 */
/* embed/embed.h - the local lookup by its own names: tables in the memory of this
 * process, their lookups in one pass over all of a batch, and their updates. Everybody
 * outside this room uses lookup.h; this header is for what makes and tests it.
 *
 *     rc = embed_batch(e, ids, true, err);   which rows occur where; new rows are filled
 *     embed_forward(e, outputs);             pooled or plain vectors into their columns
 *     embed_backward(e, grads, &step);       each row that occurred is updated once
 *
 * A slot is one use of a table: the ids of one feature, pooled per row, into a stretch of
 * columns of one output. How the lookups of a slot are cut up for threads is told at the
 * top of local.c; the result does not depend on it, nor on the number of threads.
 */
#ifndef EMBED_EMBED_H
#define EMBED_EMBED_H

#include "base/err.h"
#include "base/pool.h"
#include "embed/lookup.h"
#include "embed/table.h"

struct embed;

struct lookup *embed_lookup(struct embed *e); /* the same object, as others see it */
struct embed *embed_of(struct lookup *l);     /* NULL when it is not a local one */

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
