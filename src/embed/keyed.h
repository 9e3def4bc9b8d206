/* SPDX-License-Identifier: Apache-2.0 */
/* embed/keyed.h - tables whose rows belong to ids rather than to numbers: which id has
 * which row, who gets one, and who loses it.
 *
 * Two kinds. KEYED_ZCH: every `interval` batches the ids seen since are counted, the best
 * of them and of those that have rows keep or get one; the last row is shared by all
 * others. KEYED_GROWING: an id gets a row when it first occurs (or has occurred `admit`
 * times); a full bucket gives up its least valuable id. Ids without a row read a fixed
 * vector, which is not trained.
 *
 * What happens depends on the ids of the batches in their order alone, never on threads
 * or on the clock. Everything that later batches depend on is in the fields marked
 * "kept", which a checkpoint holds.
 */
#ifndef EMBED_KEYED_H
#define EMBED_KEYED_H

#include "base/pool.h"
#include "embed/conf.h"
#include "embed/ids.h"
#include "embed/touched.h"

/* Ids seen since the last round, with the batch of each. */
struct embed_history {
    int64_t *ids, *times;
    int64_t n, room;
};

struct embed_keyed {
    struct embed_keyed_conf conf;
    /* Bitmap of the table, borrowed: a row that changes hands is unused. */
    uint64_t *used;
    /* Of the table, borrowed: who got or lost a row; NULL: nobody asks. */
    struct embed_touched *touched;
    struct embed_idset ids;       /* kept */
    struct embed_idset waiting;   /* kept: ids not admitted yet */
    int64_t now;                  /* kept: training batches so far */
    int64_t last_round;           /* kept */
    struct embed_history history; /* kept */
    int64_t admitted, evicted;    /* kept: totals */
};

/* RC_INVAL (E2301), RC_NOMEM (E2304). `name` is the table's. */
enum rc embed_keyed_create(const struct embed_keyed_conf *conf, const char *name,
                           uint64_t *used, struct embed_keyed **out,
                           struct err *err) MUST_CHECK;
void embed_keyed_destroy(struct embed_keyed *k); /* NULL is fine */

/* Ids compete for places within their class alone (embed_id_class()): what becomes of them
 * depends on the ids of that class and on the number of batches. 1: all compete.
 */
int64_t embed_keyed_classes(const struct embed_keyed_conf *conf);

/* The row that ids without one read. It is trained in KEYED_ZCH alone. */
int64_t embed_keyed_other(const struct embed_keyed_conf *conf, bool training);
bool embed_keyed_trains(const struct embed_keyed *k, int64_t row);

/* One use of the table in a batch. */
struct embed_keyed_use {
    const int64_t *ids; /* [n]; negative: none */
    int64_t n;
    int64_t *rows; /* [n]: filled; negative where ids are */
    bool again;    /* the same ids as an earlier use: not counted twice */
};
/* A training batch: decides, and says which rows. RC_NOMEM: the batch must be given up;
 * the state is whole.
 */
enum rc embed_keyed_train(struct embed_keyed *k, struct pool *pool,
                          const struct embed_keyed_use *uses, size_t n,
                          struct err *err) MUST_CHECK;
/* Outside training: nothing changes. */
void embed_keyed_look_up(const struct embed_keyed *k, struct pool *pool,
                         const struct embed_keyed_use *uses, size_t n);
/* The row of an id, or -1. */
int64_t embed_keyed_find(const struct embed_keyed *k, int64_t id);

/* Memory of ids and counts as now. */
size_t embed_keyed_bytes(const struct embed_keyed *k);
/* Forgets everything, to be filled again from a checkpoint. */
void embed_keyed_clear(struct embed_keyed *k);
/* From a checkpoint: an id with its place and what is known of it. The places must come
 * as 0, 1, ... RC_FORMAT (E2303), RC_NOMEM.
 */
enum rc embed_keyed_restore(struct embed_idset *s, int64_t key, int64_t count,
                            int64_t last, struct err *err) MUST_CHECK;
/* ids and times: n numbers of eight bytes each, at any address. */
enum rc embed_keyed_restore_history(struct embed_keyed *k, const void *ids,
                                    const void *times, int64_t n, int64_t room,
                                    struct err *err) MUST_CHECK;

#endif
