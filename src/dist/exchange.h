/* SPDX-License-Identifier: Apache-2.0 */
/* dist/exchange.h - the ids of all shards to the ranks that keep their rows, vectors back,
 * and sums of gradients there again.
 *
 *     dist_exchange_ids(x, shards, n, total, err)   x->asked[u].ids: what this rank keeps
 *     dist_exchange_vectors(x, err)   x->asked[u].vectors, filled by then, to use->vectors
 *     dist_exchange_sums(x, err)      use->sums of each shard to x->asked[u].sums
 *
 * What a unit is asked for is in the order of shards, whoever asks: adding up the sums of
 * an id in this order gives the same bytes on any number of ranks. With one rank nothing
 * is copied but ids. All calls are collective.
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
    int64_t *ids;
    float *vectors, *sums; /* [n][dim] */
    bool moved;            /* there are sums */
    struct dist_room ids_room, vectors_room, sums_room;
};

struct dist_exchange {
    const struct dist_units *units;
    struct comm *comm;         /* borrowed; NULL: one rank */
    struct dist_owner *owners; /* [units->n] */
    struct dist_asked *asked;  /* [units->n] */
    struct dist_uses *shards;  /* of the batch at hand; borrowed */
    int n_shards;
    int *parts;                   /* [world]: shards of each rank */
    struct dist_room give, take;  /* counts [rank][unit][shard], to and from */
    struct dist_room order;       /* ids of all uses by owner */
    struct dist_room starts;      /* [shard][unit]: where in `order` a use begins */
    struct dist_room sent, got;   /* messages */
    struct dist_room from, to;    /* [world]: elements of a message */
    struct dist_room own_vectors; /* of this rank's shards, with several ranks */
    struct dist_room own_sums;
};

/* places[tables], or NULL: all ranks keep rows of all of them. */
void dist_exchange_init(struct dist_exchange *x, const struct dist_units *units,
                        struct comm *comm, const struct dist_place *places);
void dist_exchange_release(struct dist_exchange *x);

/* `shards`: what the n shards of this rank use; `total`: of all ranks, dealt as
 * dist_shards_of() does, or 0: one each. RC_NOMEM, those of comm.h.
 */
enum rc dist_exchange_ids(struct dist_exchange *x, struct dist_uses *shards, int n,
                          int total, struct err *err) MUST_CHECK;
enum rc dist_exchange_vectors(struct dist_exchange *x, struct err *err) MUST_CHECK;
enum rc dist_exchange_sums(struct dist_exchange *x, struct err *err) MUST_CHECK;

#endif
