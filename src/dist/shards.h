/* SPDX-License-Identifier: Apache-2.0 */
/* dist/shards.h - how the shards of a batch are dealt to ranks.
 *
 * A run has `total` shards whatever the number of ranks; rank r works on the stretch that
 * dist_shards_of() gives it. Stretches follow each other in the order of ranks, so that
 * the order of ranks is the order of shards, too.
 */
#ifndef DIST_SHARDS_H
#define DIST_SHARDS_H

#include <stdint.h>

/* Most shards of a run: each has a stream of data of its own. */
#define DIST_SHARDS_MAX 1024

struct dist_shards {
    int first, n; /* of this rank */
    int total;    /* of all; 0: one rank with one shard */
};

/* Bytes that this rank sent to others, and the least that the same could be done with:
 * distinct ids that others keep once, their vectors and sums of gradients once, dense
 * gradients as in a ring.
 */
struct dist_traffic {
    int64_t sent, least;
    int64_t ids, floats; /* distinct ids of its shards, and floats of their vectors */
    int64_t dense;       /* floats of dense gradients of a step */
    int64_t written;     /* bytes of rows that it wrote into checkpoints */
};

static inline struct dist_shards dist_shards_of(int rank, int world, int total)
{
    int64_t from = (int64_t)rank * total / world;
    int64_t to = (int64_t)(rank + 1) * total / world;
    return (struct dist_shards){
        .first = (int)from, .n = (int)(to - from), .total = total};
}

#endif
