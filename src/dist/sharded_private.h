/* SPDX-License-Identifier: Apache-2.0 */
/* dist/sharded_private.h - what the files of the sharded lookup share: sharded.c answers
 * calls of a step, sharded_image.c moves rows between ranks and checkpoints.
 */
#ifndef DIST_SHARDED_PRIVATE_H
#define DIST_SHARDED_PRIVATE_H

#include "comm/courier.h"
#include "dist/exchange.h"
#include "embed/lookup_wrap.h"

struct dist_spread;

/* A batch and the ids of it on their way. */
struct dist_side {
    struct dist_exchange exchange;
    struct dist_uses *shards; /* [n_shards] */
    int n_shards;
};

/* The ids of the next batch, which travel early. */
struct dist_ahead {
    bool there;
    struct dist_shards shards;
    struct comm_courier *courier; /* borrowed */
    struct comm_errand errand;
    enum rc rc; /* of this rank's own ids, which do not travel then */
    struct err err;
};

struct dist_sharded {
    struct lookup_wrap wrap;
    struct comm *comm;      /* borrowed; NULL: one rank */
    struct pool *pool;      /* borrowed */
    bool half;              /* vectors and sums travel as bf16 */
    bool direct;            /* the batch at hand went straight to the model's slots */
    int n_slots, n_outputs; /* of the model */
    struct dist_units units;
    struct dist_side sides[2]; /* of the batch at hand, and of the next */
    int at;                    /* which is the former */
    struct dist_ahead ahead;
    struct embed_slot_ids *ids;  /* [n_slots + units]; NULL: before the first batch */
    struct view *views;          /* [n_outputs + units] */
    struct dist_spread **images; /* [tables]: that are made; NULL: none */
    bool apart;                  /* another rank does not see files that rank 0 makes */
    int64_t written;             /* bytes of columns in files, by this rank */
    struct dist_layout layout;
};

struct dist_owner dist_sharded_owner(const struct dist_sharded *x, int table, int part);

/* With several ranks; as lookup_snapshot() and lookup_restore(). */
enum rc dist_image_make(struct dist_sharded *x, int table, bool whole,
                        struct lookup_snapshot **out, struct err *err) MUST_CHECK;
enum rc dist_image_restore(struct dist_sharded *x, int table,
                           const struct lookup_image *image, struct err *err) MUST_CHECK;

#endif
