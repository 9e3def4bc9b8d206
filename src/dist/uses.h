/* SPDX-License-Identifier: Apache-2.0 */
/* dist/uses.h - what one shard of a batch needs of the tables, and what it says to them.
 *
 *     dist_uses_init(u, units)              for one shard; units: tables and their slots
 *     dist_uses_take(u, ids, err)           which distinct ids the shard has, unit by unit
 *     dist_uses_pool(u, outputs)            their vectors, pooled into the slots' columns
 *     dist_uses_sum(u, grads)               gradients, summed for each of the ids
 *
 * Between the second and the third somebody fills use->vectors; after the fourth somebody
 * hands use->sums on. Sums are in the order slot, row, id; they depend on the shard
 * alone, not on threads or on where the rows live.
 *
 * A table of numbered rows is one unit: an id counts once, however often it occurs. Of a
 * keyed table each slot is a unit and ids stay as they come, because how often an id
 * occurs decides whether it gets a row. Of a table that is cut by columns (layout.h) each
 * part is a unit.
 */
#ifndef DIST_USES_H
#define DIST_USES_H

#include "dist/layout.h"
#include "embed/lookup.h"

/* One unit in one shard. */
struct dist_use {
    int64_t n;    /* ids */
    int64_t *ids; /* [n] */
    /* [n][dim] each; whoever exchanges says where they lie. */
    float *vectors, *sums;
    bool moved; /* there are sums */
    /* Which id each occurrence is, from 1 on, 0: none; slots one behind the other. */
    uint32_t *at;
    void *seats; /* hash table of ids */
    int64_t ids_room, at_room, seats_room;
};

struct dist_unit {
    int table, first, n; /* slots[first], n of them */
    int part;            /* of the table */
    bool distinct;       /* an id counts once */
    int64_t col, dim;    /* columns of the table */
};

/* The same for all shards of a run. */
struct dist_units {
    const struct lookup *lookup; /* borrowed: its tables and slots */
    struct pool *pool;           /* borrowed */
    int n, n_slots;
    struct dist_unit *at; /* [n] */
    int *slots;           /* [n_slots]: of unit 0, 1, ... */
};
void dist_units_init(struct dist_units *u, const struct lookup *l,
                     const struct dist_layout *layout, struct pool *pool);
void dist_units_release(struct dist_units *u);

struct dist_uses {
    const struct dist_units *units;
    struct dist_use *at;              /* [units->n] */
    const struct embed_slot_ids *ids; /* of the batch at hand; borrowed */
    struct err *errs;                 /* [units->n], while they are taken */
    int64_t *at_of;                   /* [n_slots]: where in use->at a slot begins */
};
void dist_uses_init(struct dist_uses *u, const struct dist_units *units);
void dist_uses_release(struct dist_uses *u);

/* ids[n_slots], borrowed until dist_uses_sum(). RC_INVAL E1402, RC_NOMEM. */
enum rc dist_uses_take(struct dist_uses *u, const struct embed_slot_ids *ids,
                       struct err *err) MUST_CHECK;
/* Of a batch that is not worked on: no ids. */
void dist_uses_drop(struct dist_uses *u);
void dist_uses_pool(struct dist_uses *u, const struct view *outputs);
void dist_uses_sum(struct dist_uses *u, const struct view *grads);

#endif
