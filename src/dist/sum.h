/* SPDX-License-Identifier: Apache-2.0 */
/* dist/sum.h - vectors of all shards, added in the order of shards.
 *
 *     dist_sum_add(s, 0, vector)          of each shard of this rank, in order
 *     dist_sum_finish(s, rows, out, err)  the sum over the shards of all ranks
 *
 * Shards without rows are left out. The bytes of the sum do not depend on the number of
 * ranks. With several ranks each adds up a slice of what all have, then the slices go
 * round.
 */
#ifndef DIST_SUM_H
#define DIST_SUM_H

#include <stdbool.h>

#include "base/err.h"
#include "dist/shards.h"

struct comm;

struct dist_sum {
    struct comm *comm; /* borrowed; NULL: one rank */
    struct dist_shards shards;
    int64_t n;        /* floats of a vector */
    bool begun;       /* one rank: `own` holds a sum */
    float *own;       /* one rank: the sum so far; else [shards.n][n] */
    float *got, *out; /* several ranks: messages; the slice of this rank */
    float *message;   /* what is sent, where it does not lie together in `own` */
    int64_t *counts;  /* [2 * world]: of messages */
    struct dist_traffic traffic;
};

/* Floats that a sum over so many ranks should have at least, when there are several: each has
 * messages from every rank to every other.
 */
static inline int64_t dist_sum_least(int ranks)
{
    return (int64_t)(ranks > 16 ? ranks : 16) << 14;
}

/* RC_NOMEM. */
enum rc dist_sum_init(struct dist_sum *s, struct comm *comm, struct dist_shards shards,
                      int64_t n, struct err *err) MUST_CHECK;
void dist_sum_release(struct dist_sum *s);

/* Where a rank with one shard may put its vector, so that dist_sum_add() of it copies
 * nothing; NULL: there is no such place.
 */
float *dist_sum_room(struct dist_sum *s);
/* vector[n] of a shard of this rank, counted from 0 on this rank. */
void dist_sum_add(struct dist_sum *s, int shard, const float *vector);
/* rows[shards.total]: 0 for those that were not added. `out` may be dist_sum_room().
 * Collective.
 */
enum rc dist_sum_finish(struct dist_sum *s, const int64_t *rows, float *out,
                        struct err *err) MUST_CHECK;

#endif
