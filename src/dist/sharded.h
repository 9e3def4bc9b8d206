/* SPDX-License-Identifier: Apache-2.0 */
/* dist/sharded.h - the tables of a run whose batches are cut into shards, on one rank or
 * spread over many.
 *
 *     dist_sharded_prepare(l, ids, shards, training, err)  ids of each shard of this rank
 *     dist_sharded_forward(l, 0, outputs)                  vectors of its first shard
 *     dist_sharded_backward(l, 0, grads)                   gradients of that shard
 *     ...                                                    the same of the others
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

#include "dist/owner.h"
#include "dist/shards.h"
#include "embed/lookup.h"

/* For model_options.lookup; the comm is lookup_conf's. */
extern const struct lookup_ops dist_sharded_ops;

/* Rows of a table are kept by these ranks alone; before the first batch and restore, the
 * same on all ranks. It changes where rows lie, not what they are.
 */
void dist_sharded_place(struct lookup *l, int table, struct dist_place place);

/* ids[shards.n][lookup_n_slots()], borrowed until dist_sharded_update(). A shard without
 * rows takes part with none. RC_INVAL E1402, RC_NOMEM, those of comm.h.
 */
enum rc dist_sharded_prepare(struct lookup *l, const struct embed_slot_ids *const *ids,
                             struct dist_shards shards, bool training,
                             struct err *err) MUST_CHECK;
void dist_sharded_forward(struct lookup *l, int shard, const struct view *outputs);
void dist_sharded_backward(struct lookup *l, int shard, const struct view *grads);
enum rc dist_sharded_update(struct lookup *l, const struct embed_row_step *step,
                            struct err *err) MUST_CHECK;

/* Snapshots of all tables are made on all ranks; rank 0 reads them, while the others
 * answer here. Rank 0 calls it when it has read all, which ends the others' call.
 */
enum rc dist_sharded_serve(struct lookup *l, struct err *err) MUST_CHECK;

#endif
