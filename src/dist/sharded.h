/* SPDX-License-Identifier: Apache-2.0 */
/* dist/sharded.h - the tables of a run whose batches are cut into shards, on one rank or
 * spread over many.
 *
 *     dist_sharded_prepare(l, ids, shards, training, err)  ids of each shard of this rank
 *     dist_sharded_forward(l, 0, outputs)                  vectors of its first shard
 *     dist_sharded_backward(l, 0, grads)                   gradients of that shard
 *     ...                                                    the same of the others
 *     dist_sharded_tell(l, &notes, err)                    sums of gradients to owners
 *     dist_sharded_update(l, step, err)                    each row once, for all shards
 *
 * A shard's gradients of a row are summed first, in the order of the shard; these sums
 * are added in the order of shards. So the bytes of a table depend on the number of
 * shards, not on the number of ranks. Every row is kept by one rank (owner.h); the
 * distinct ids of a shard travel there, their vectors come back once, sums of gradients
 * follow. What every lookup has (lookup.h) works here, too, as one shard per rank. Calls
 * with several ranks are collective.
 */
#ifndef DIST_SHARDED_H
#define DIST_SHARDED_H

#include "dist/exchange.h"
#include "dist/layout.h"
#include "dist/shards.h"
#include "embed/lookup.h"

struct comm_courier;

/* For model_options.lookup; comm and the lookup of a rank's own rows are lookup_conf's. One
 * that gives vectors on a device is RC_UNSUPPORTED.
 */
extern const struct lookup_ops dist_sharded_ops;

/* Who keeps which columns of a table; before the first batch and restore, the same on all
 * ranks. It changes where rows lie, not what they are. Several parts: of a table of
 * numbered rows, whose optimizer moves each weight for itself (embed_row_opt_each()).
 * RC_NOMEM.
 */
enum rc dist_sharded_place(struct lookup *l, int table, const struct dist_part *parts,
                           int n, struct err *err) MUST_CHECK;

/* ids[shards.n][lookup_n_slots()], borrowed until dist_sharded_update(). A shard without
 * rows takes part with none. RC_INVAL E1402, RC_NOMEM, those of comm.h.
 */
enum rc dist_sharded_prepare(struct lookup *l, const struct embed_slot_ids *const *ids,
                             struct dist_shards shards, bool training,
                             struct err *err) MUST_CHECK;
/* The ids of the batch behind the one that was prepared travel while that one is worked on;
 * the next dist_sharded_prepare() for training must be of this batch. Its vectors are looked
 * up only then. What is wrong with the ids is said there, too. Collective; waits for nobody.
 */
void dist_sharded_ahead(struct lookup *l, struct comm_courier *courier,
                        const struct embed_slot_ids *const *ids,
                        struct dist_shards shards);
/* That batch is not worked on after all. Those of comm.h. */
enum rc dist_sharded_forget(struct lookup *l, struct err *err) MUST_CHECK;
void dist_sharded_forward(struct lookup *l, int shard, const struct view *outputs);
void dist_sharded_backward(struct lookup *l, int shard, const struct view *grads);
/* Numbers of each rank go along to all ranks (exchange.h). */
enum rc dist_sharded_tell(struct lookup *l, const struct dist_notes *notes,
                          struct err *err) MUST_CHECK;
enum rc dist_sharded_update(struct lookup *l, const struct embed_row_step *step,
                            struct err *err) MUST_CHECK;

/* Vectors and sums of gradients are rounded to bf16, and travel so; before the first batch,
 * the same on all ranks. What is rounded does not depend on the number of ranks.
 */
void dist_sharded_half(struct lookup *l);
/* Of this rank, since the start. */
struct dist_traffic dist_sharded_traffic(const struct lookup *l);

/* Snapshots of all tables are made on all ranks; rank 0 reads or writes them, while the others
 * answer, and write with it, here. Rank 0 calls it when it has all, which ends the others' call.
 */
enum rc dist_sharded_serve(struct lookup *l, struct err *err) MUST_CHECK;

#endif
