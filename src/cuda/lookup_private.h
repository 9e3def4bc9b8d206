/* SPDX-License-Identifier: Apache-2.0 */
/* cuda/lookup_private.h - what the files of the card's lookup share: lookup.c answers calls,
 * lookup_tables.c keeps rows, lookup_batch.c brings the ids of a batch to the card.
 */
#ifndef CUDA_LOOKUP_PRIVATE_H
#define CUDA_LOOKUP_PRIVATE_H

#include "base/vec.h"
#include "cuda/cuda_private.h"
#include "cuda/kernel/lookup.h"
#include "embed/embed.h"

/* Tables of one width and optimizer: one array of rows on the card. */
struct cuda_group {
    struct cuda_table rows;
    bool trainable;
    struct embed_row_opt opt;
};

/* Where a table lies. */
struct cuda_home {
    int group; /* -1: the host keeps it */
    uint32_t base;
    bool stale; /* the host's copy of its rows is older */
};

struct cuda_tables {
    const struct device *device;
    struct lookup *host; /* all tables: those that it keeps, and copies of the others */
    VEC(struct cuda_group) groups;
    VEC(struct cuda_home) homes; /* by table */
    bool settled;                /* memory is taken, rows have their initial values */
    bool tracks;
};

/* Why the host keeps such a table; NULL: the card can. */
const char *cuda_tables_refuse(const struct embed_table_conf *conf);
/* A table that `host` already has, as number homes.n. */
void cuda_tables_add(struct cuda_tables *t, const struct embed_table_conf *conf);
/* Once, when all tables are known. RC_NOMEM E2304. */
enum rc cuda_tables_settle(struct cuda_tables *t, struct err *err) MUST_CHECK;
void cuda_tables_release(struct cuda_tables *t);
/* Rows of a table to the host's copy, and the other way round; waits. RC_NOMEM, RC_IO. */
enum rc cuda_tables_pull(struct cuda_tables *t, int table, struct err *err) MUST_CHECK;
enum rc cuda_tables_push(struct cuda_tables *t, int table, struct err *err) MUST_CHECK;
bool cuda_tables_peek(const struct cuda_tables *t, int table, int64_t id, float *out);
enum rc cuda_tables_track(struct cuda_tables *t, struct err *err) MUST_CHECK;
void cuda_tables_forget(struct cuda_tables *t);

/* One use of a table. */
struct cuda_use {
    struct embed_slot_conf conf;
    char *feature; /* owned */
    int first;     /* of the same feature, table and pooling: itself, or an earlier one */
    int host_slot; /* of the host's lookup, or -1 */
    int group, at; /* which of the group's slots */
    uint32_t base; /* of its table */
    int64_t rows;  /* of its table */
    struct embed_slot_ids ids; /* of the batch, borrowed */
    bool follows;              /* the ids of `first`, in this batch */
};

/* One batch of a group: on its way to the card, or at work there. */
struct cuda_side {
    struct cuda_batch batch;
    struct cuda_sorted sorted;
    struct cuda_room staged, given; /* slots, keys, offsets and weights: host's, card's */
    struct cuda_room made;          /* what the card makes of them */
    size_t bytes;                   /* of `staged` that are in use */
    struct cuda_slot *slots;        /* in `staged`, as those below */
    uint32_t *keys, *offsets;
    float *weights;
};

/* The slots of a group. Two batches take turns, so that the ids of one travel and are sorted while
 * the rows of the other are still updated.
 */
#define CUDA_SIDES 2
struct cuda_work {
    VEC(int) uses; /* by slot of the group */
    struct cuda_side sides[CUDA_SIDES];
    struct cuda_side *now;                      /* the side of the batch at hand */
    struct cuda_room staged_views[2], views[2]; /* of outputs, of gradients */
};

/* A stretch of the ids of a use, for one thread. */
struct cuda_piece {
    int use;
    int64_t begin, end;
    int64_t bad; /* the first id outside the table, or -1 */
    int64_t valid;
};

struct cuda_lookup {
    struct lookup lookup;
    struct cuda *cuda;
    struct pool *pool;
    struct cuda_tables *tables;
    bool shared; /* the tables are another's */
    struct lookup
        *host; /* slots of tables that the host keeps; tables->host unless shared */
    VEC(struct cuda_use *) uses;
    VEC(struct cuda_work) works; /* by group */
    VEC(struct cuda_piece) pieces;
    VEC(int) host_uses;
    VEC(struct embed_slot_ids) host_ids;
    VEC(struct view) host_views;
    VEC(struct cuda_room) host_rooms; /* vectors, or gradients, of a host slot */
    cuda_stream ids;                  /* copies of ids, and their sorting */
    int side;                         /* of the batch at hand */
    struct CUevent_st *copied[CUDA_SIDES], *sorted[CUDA_SIDES], *done[CUDA_SIDES];
};

/* Checks ids and sends them to the card; in training it sorts them there. RC_INVAL E1402,
 * RC_NOMEM.
 */
enum rc cuda_lookup_batch(struct cuda_lookup *l, const struct embed_slot_ids *ids,
                          bool training, struct err *err) MUST_CHECK;
void cuda_work_release(struct cuda_work *w);

#endif
