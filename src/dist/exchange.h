/* SPDX-License-Identifier: Apache-2.0 */
/* dist/exchange.h - the ids of all shards to the ranks that keep their rows, vectors back,
 * and sums of gradients there again.
 *
 *     dist_exchange_ids(x, shards, n, total, training, err)
 *                                     x->asked[u].ids: what this rank keeps
 *     dist_exchange_reserve(x, err)   room for vectors and sums
 *     dist_exchange_vectors(x, err)   x->asked[u].vectors, filled by then, to use->vectors
 *     dist_exchange_sums(x, notes, err)
 *                                     use->sums of each shard to x->asked[u].sums
 *
 * A rank gets a vector once, however many of its shards have the id: ids that an earlier one of
 * them has travel as marks. What a unit is asked for is in the order of shards, whoever asks: adding up the sums of
 * an id in this order gives the same bytes on any number of ranks. What a rank keeps of its
 * own shards is copied in memory and makes no message. Where every rank has a copy of all
 * rows, ids and sums go to all ranks and vectors to nobody. All calls are collective but
 * dist_exchange_reserve(). The ids of a batch may travel, with an exchange of their own,
 * while that of the batch before is still in use.
 */
#ifndef DIST_EXCHANGE_H
#define DIST_EXCHANGE_H

#include "dist/owner.h"
#include "dist/shards.h"
#include "dist/uses.h"

struct comm;

/* An array that grows. */
struct dist_room {
    void *at;
    size_t bytes;
};

/* A unit as its owner sees it: of all shards, one behind the other. */
struct dist_asked {
    int64_t n;
    int64_t own; /* where this rank's own shards begin */
    int64_t *ids;
    unsigned char
        *again; /* an earlier shard of the same other rank has the id, and its vector */
    float *vectors, *sums; /* [n][dim] */
    bool moved;            /* there are sums */
    struct dist_room ids_room, again_room, vectors_room, sums_room;
};

/* Numbers that a rank tells all others along with its sums: all[world][n]. */
struct dist_notes {
    int64_t n;
    const double *own;
    double *all;
};

struct dist_exchange {
    const struct dist_units *units;
    struct comm *comm;         /* borrowed; NULL: one rank */
    struct dist_owner *owners; /* [units->n] */
    struct dist_asked *asked;  /* [units->n] */
    struct dist_uses *shards;  /* of the batch at hand; borrowed */
    int n_shards;
    bool training;
    bool half;       /* in training vectors and sums are rounded to bf16, and travel so */
    bool narrow;     /* as the batch at hand does */
    int *parts;      /* [world]: shards of each rank */
    int64_t *firsts; /* [world]: shards of the ranks before it */
    struct dist_room give, take; /* counts [rank][unit][shard], to and from */
    struct dist_room fresh[2];   /* of these, ids that no earlier shard of the rank has */
    struct dist_room twins;      /* as `order`, by id of the use: struct twin */
    struct dist_room seats;      /* while they are found */
    struct dist_room order;      /* ids of all uses by owner */
    struct dist_room starts;     /* as `give`: where in `order` they begin */
    struct dist_room sent, got;  /* messages */
    int64_t *from, *to;          /* [world]: elements of a message */
    struct dist_room own_vectors; /* of this rank's shards, with several ranks */
    struct dist_room own_sums;
    struct dist_traffic traffic; /* since the start */
};

/* owners[units->n] are the exchange's from then on. */
void dist_exchange_init(struct dist_exchange *x, const struct dist_units *units,
                        struct comm *comm, struct dist_owner *owners);
void dist_exchange_release(struct dist_exchange *x);

/* `shards`: what the n shards of this rank use; `total`: of all ranks, dealt as
 * dist_shards_of() does, or 0: one each. Without `training` no sums will follow. RC_NOMEM,
 * those of comm.h.
 */
enum rc dist_exchange_ids(struct dist_exchange *x, struct dist_uses *shards, int n,
                          int total, bool training, struct err *err) MUST_CHECK;
/* Behind it: RC_NOMEM. */
enum rc dist_exchange_reserve(struct dist_exchange *x, struct err *err) MUST_CHECK;
/* Of two exchanges of the same units: one whose batch is over lends the other its room. */
void dist_exchange_swap(struct dist_exchange *a, struct dist_exchange *b);
enum rc dist_exchange_vectors(struct dist_exchange *x, struct err *err) MUST_CHECK;
enum rc dist_exchange_sums(struct dist_exchange *x, const struct dist_notes *notes,
                           struct err *err) MUST_CHECK;

#endif
