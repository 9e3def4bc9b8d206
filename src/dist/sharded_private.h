/* SPDX-License-Identifier: Apache-2.0 */
/* dist/sharded_private.h - what the files of the sharded lookup share: sharded.c answers
 * calls of a step, sharded_image.c moves rows between ranks and checkpoints.
 */
#ifndef DIST_SHARDED_PRIVATE_H
#define DIST_SHARDED_PRIVATE_H

#include "dist/exchange.h"
#include "embed/lookup_wrap.h"

struct dist_spread;

struct dist_sharded {
    struct lookup_wrap wrap;
    struct comm *comm;      /* borrowed; NULL: one rank */
    struct pool *pool;      /* borrowed */
    bool direct;            /* the batch at hand went straight to the model's slots */
    int n_slots, n_outputs; /* of the model */
    struct dist_units units;
    struct dist_exchange exchange;
    struct dist_uses *shards; /* [n_shards] */
    int n_shards;
    struct embed_slot_ids *ids;  /* [n_slots + units]; NULL: before the first batch */
    struct view *views;          /* [n_outputs + units] */
    struct dist_spread **images; /* [tables]: that are made; NULL: none */
    struct dist_place *places;   /* [tables]; NULL: all ranks keep rows of all tables */
};

struct dist_owner dist_sharded_owner(const struct dist_sharded *x, int table);

/* With several ranks; as lookup_snapshot() and lookup_restore(). */
enum rc dist_image_make(struct dist_sharded *x, int table, bool whole,
                        struct lookup_snapshot **out, struct err *err) MUST_CHECK;
enum rc dist_image_restore(struct dist_sharded *x, int table,
                           const struct lookup_image *image, struct err *err) MUST_CHECK;

#endif
