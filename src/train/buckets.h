/* SPDX-License-Identifier: Apache-2.0 */
/* train/buckets.h - dense gradients and running statistics of all shards, added in the order
 * of shards, while the backward pass goes on.
 *
 *     train_buckets_begin(b, rows, last, mid)   before the shards of a batch
 *     train_buckets_shard(b, i)                 before graph_backward() of a shard
 *     train_buckets_rest(b)                     behind the last of them
 *     train_buckets_finish(b, err)              the sums are the graph's gradients
 *
 * Parameters are put into buckets in the order in which a backward pass is done with them;
 * in that of the last shard here a bucket goes to the courier as soon as it is full. A
 * running statistic moves by the mean of how the shards would move it.
 */
#ifndef TRAIN_BUCKETS_H
#define TRAIN_BUCKETS_H

#include "comm/courier.h"
#include "dist/shards.h"
#include "nn/graph.h"

struct train_buckets;

/* Graph, comm and courier (NULL: one rank) are borrowed. RC_NOMEM. */
enum rc train_buckets_create(struct graph *g, struct comm *comm,
                             struct comm_courier *courier, struct dist_shards shards,
                             struct train_buckets **out, struct err *err) MUST_CHECK;
void train_buckets_destroy(struct train_buckets *b); /* NULL is fine */

/* rows[shards.total], borrowed until the end of the step; `last`: of this rank's shards with
 * rows, -1: there is none. `mid`: the gradients that there are count, too.
 */
void train_buckets_begin(struct train_buckets *b, const int64_t *rows, int last,
                         bool mid);
/* The next graph_backward() is that of a shard, counted from 0 on this rank. */
void train_buckets_shard(struct train_buckets *b, int shard);
/* What no backward pass here has filled goes to the courier, too: the ranks with rows send it. */
void train_buckets_rest(struct train_buckets *b);
/* Those of comm.h. */
enum rc train_buckets_finish(struct train_buckets *b, struct err *err) MUST_CHECK;

/* Bytes since the start, and .dense. */
struct dist_traffic train_buckets_traffic(const struct train_buckets *b);

#endif
