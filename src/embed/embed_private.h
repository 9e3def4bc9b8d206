/* SPDX-License-Identifier: Apache-2.0 */
/* embed/embed_private.h - what the files behind embed.h share: embed.c keeps tables and
 * slots, find.c finds the rows of ids, parts.c sorts them, rows.c reads and updates rows,
 * plain.c does both for slots that need no sorting, split.c cuts up the large ones.
 */
#ifndef EMBED_EMBED_PRIVATE_H
#define EMBED_EMBED_PRIVATE_H

#include "base/vec.h"
#include "embed/embed.h"

#define PARTS 64
#define SPLIT 16 /* parts of a slot that has its table for itself */

/* One id of one slot. */
struct embed_occurrence {
    int64_t row; /* of the table */
    int32_t slot;
    int32_t next; /* the same row again, or -1: index within the part */
    int32_t from; /* row of the slot */
    float scale;  /* weight, divided by the number of ids under mean pooling */
};

/* A distinct row of a part. */
struct embed_unique {
    int64_t row;
    int32_t table;
    int32_t first, last; /* its chain of occurrences */
    bool fresh;          /* was never used before */
};

struct embed_part {
    int64_t begin, end; /* of the occurrences */
    int64_t n_unique;   /* at uniques[begin] on */
    int64_t n_fresh;    /* of them */
};

/* Rows [begin, end) of a slot: what one thread counts and deals out at a time. */
struct embed_piece {
    int32_t slot;
    int64_t begin, end;
    int64_t at;            /* of its first id among all */
    int64_t bad;           /* an id outside the table: its index in the slot, or -1 */
    int32_t counts[PARTS]; /* occurrences; then where in the part they begin */
};

/* The distinct rows of a slot that has its table for itself, or of one part of such a
 * slot; see plain.c and split.c.
 */
struct embed_plain {
    int32_t slot;
    const int64_t *ids;  /* [n]: the slot's, or those that were dealt to the part */
    const int32_t *from; /* [n]: which rows of the slot they are; NULL: 0, 1, ... */
    int64_t n;
    uint32_t *at;       /* [n]: which distinct row, from 1 on; 0: no id */
    uint32_t *distinct; /* [n_distinct + 1]: rows of the table, from 1 on */
    int64_t n_distinct;
    int64_t n_fresh; /* of them, never used before */
    int64_t bad;     /* of a whole slot: an id outside the table, or -1 */
};

/* Rows [begin, end) of a slot that is split. */
struct embed_stretch {
    int32_t slot;
    int64_t begin, end;
    int64_t bad;           /* an id outside the table, or -1 */
    int64_t counts[SPLIT]; /* ids of each part; then where they go */
};

/* What one thread needs for plain slots: it stays in that core's cache. */
struct embed_lane {
    uint64_t *seats; /* hash table of rows */
    float *sums;     /* [distinct rows + 1][dim] */
};

struct embed_slot {
    struct embed_slot_conf conf;
    char *feature; /* owned */
    struct embed_slot_ids ids;
    int64_t n;         /* ids of this batch */
    struct view grads; /* of its columns; .data NULL: none */
    /* Slots that look up the same ids in the same table (a feature of several groups):
     * the first of them does so for all.
     */
    int32_t first; /* of the same feature and table: itself, or an earlier slot */
    int32_t twin;  /* the next that goes along in this batch, or -1 */
    bool follows;  /* goes along with another */
    bool plain;    /* not sorted: plain.c takes care of it in this batch, */
    bool split;    /* in parts */
    /* Of a keyed table: the rows that stand for the ids; grows. */
    int64_t *rows;
    int64_t room;
};

struct embed {
    struct lookup lookup;
    struct pool *pool;
    VEC(struct embed_table *) tables;
    VEC(struct embed_slot) slots;
    VEC(struct embed_piece) pieces;
    VEC(struct embed_keyed_use) uses; /* of the keyed table under way */
    struct embed_part parts[PARTS];
    struct embed_occurrence *occurrences;
    struct embed_unique *uniques;
    int32_t *heads; /* hash tables of all parts */
    uint8_t *part_of;
    int64_t capacity, n;
    int64_t lookups;                /* of the batch, sorted or not */
    VEC(int32_t) readers;           /* of each table: slots that look up for themselves */
    VEC(struct embed_plain) plains; /* whole slots, and behind them parts of others */
    size_t n_whole;
    uint32_t *numbers; /* `at` and `distinct` of whole slots, then those of parts */
    int64_t numbers_room, split_numbers;
    VEC(struct embed_stretch) shares;
    int64_t *dealt; /* ids by part, */
    int32_t *from;  /* and their rows of the slot */
    int64_t dealt_room;
    VEC(struct embed_lane) lanes; /* one per thread */
    int64_t seats_room, sums_room;
    const struct view *views;         /* of the call under way */
    VEC(struct embed_row_rule) rules; /* of each table, at the step under way */
    bool training;
    bool shared; /* the tables are another's */
};

/* Ids [*from, *to) of row r. */
static inline void embed_slot_row(const struct embed_slot *s, int64_t r, int64_t *from,
                                  int64_t *to)
{
    *from = s->ids.offsets ? s->ids.offsets[r] : r;
    *to = s->ids.offsets ? s->ids.offsets[r + 1] : r + 1;
}

/* Mean pooling divides by the ids that count; 1 under sum pooling. */
static inline int64_t embed_slot_counted(const struct embed_slot *s, int64_t from,
                                         int64_t to)
{
    int64_t n = 0;
    for (int64_t k = from; s->conf.pooling == EMBED_MEAN && k < to; k++)
        n += s->ids.ids[k] >= 0;
    return n > 1 ? n : 1;
}

/* The same for gradients. */
static inline int64_t embed_slot_divides(const struct embed_slot *s, int64_t from,
                                         int64_t to)
{
    return s->conf.sum_gradient ? 1 : embed_slot_counted(s, from, to);
}
static inline float embed_slot_scale(const struct embed_slot *s, int64_t at, int64_t n)
{
    float w = s->ids.weights ? s->ids.weights[at] : 1.0f;
    return n > 1 ? w / (float)n : w;
}

/* Calls fn for each item of [0, n), on all threads: an item on any, with what that thread
 * has for itself.
 */
typedef void embed_lane_fn(struct embed *e, int64_t item, struct embed_lane *lane);
void embed_lanes(struct embed *e, int64_t n, embed_lane_fn *fn);

/* Ids of keyed tables become rows; from there on all tables are alike. `given` are the
 * ids of all slots as they came. RC_NOMEM.
 */
enum rc embed_find_rows(struct embed *e, const struct embed_slot_ids *given,
                        bool training, struct err *err) MUST_CHECK;
/* Checks the ids of all slots: RC_INVAL, RC_NOMEM. */
/* RC_INVAL when an id of a numbered table lies outside. embed_parts_count() finds that as
 * well, but behind embed_find_rows().
 */
enum rc embed_parts_inside(const struct embed *e, struct err *err) MUST_CHECK;
enum rc embed_parts_count(struct embed *e, struct err *err) MUST_CHECK;
/* Afterwards, in training: distinct rows and where they occur; new ones are filled.
 * RC_NOMEM.
 */
enum rc embed_parts_sort(struct embed *e, struct err *err) MUST_CHECK;
void embed_parts_release(struct embed *e);

/* After the twins are known: which slots are plain, and memory for them. RC_NOMEM. */
enum rc embed_plain_choose(struct embed *e, struct err *err) MUST_CHECK;
/* Checks the ids of a whole slot; in training also numbers its distinct rows. */
void embed_plain_count(struct embed *e, struct embed_plain *p, struct embed_lane *lane);
void embed_plain_number(struct embed *e, struct embed_plain *p, struct embed_lane *lane);
/* Memory of all lanes: for so many distinct rows, and for the sums of all that were
 * numbered. RC_NOMEM.
 */
enum rc embed_plain_reserve_seats(struct embed *e, int64_t distinct,
                                  struct err *err) MUST_CHECK;
enum rc embed_plain_reserve_sums(struct embed *e, struct err *err) MUST_CHECK;
/* Fills rows that occur for the first time. */
void embed_plain_fill(struct embed *e);
void embed_plain_update(const struct embed *e, const struct embed_plain *p,
                        struct embed_lane *lane);
void embed_plain_release(struct embed *e);
/* Index of the first id at `rows` or beyond, or -1. */
int64_t embed_plain_outside(const int64_t *ids, int64_t n, int64_t rows);

/* Split slots: shares are cut, counted, given places and dealt out; then the parts are as
 * whole slots are, to be numbered.
 */
void embed_split_cut(struct embed *e);
void embed_split_count(struct embed *e, struct embed_stretch *h);
enum rc embed_split_place(struct embed *e, struct err *err) MUST_CHECK;
void embed_split_deal(struct embed *e, const struct embed_stretch *h);

#endif
