/* SPDX-License-Identifier: Apache-2.0 */
/* data/dataset_private.h - what the parts of a dataset share.
 *
 *   dataset_open.c    files, formats, columns
 *   dataset_plan.c    which rows belong to which slot
 *   dataset_slot.c    one slot: rows to batches, shuffle
 *   dataset.c         slots, threads and queues to one stream
 *   dataset_cursor.c  position to text and back
 *   dataset_print.c   whether files are those of a position
 */
#ifndef DATA_DATASET_PRIVATE_H
#define DATA_DATASET_PRIVATE_H

#include <pthread.h>

#include "base/vec.h"
#include "data/dataset.h"

#define DS_PRINT_SIZE 19 /* "2:", 16 hex digits and the end */
#define TO_END INT64_MAX /* span.to: wherever the file ends */

struct ds_file {
    char *path; /* owned */
    const struct reader_ops *ops;
    int64_t rows;              /* -1: not known */
    char print[DS_PRINT_SIZE]; /* of its content; "": not taken */
    struct reader_index index; /* text files that can be cut */
    /* Owned: column i of the file is schema->at[order[i]]; NULL: the same order. */
    size_t *order;
};

/* Rows from.row .. to of one file. A row number counts malformed rows too. */
struct ds_span {
    size_t file;
    struct reader_cursor from;
    int64_t to;
};
typedef VEC(struct ds_span) span_vec;

/* Batches held back by the shuffle, as the spans that each was made of. */
struct ds_held {
    span_vec spans;   /* all of them, one batch after the other */
    VEC(size_t) ends; /* of each batch, in spans */
};

/* Where a slot stands behind one of its batches. */
struct ds_mark {
    size_t span;               /* of slot->spans */
    struct reader_cursor from; /* in that span */
    int64_t drawn;             /* random numbers used */
    struct ds_held held;
};

struct ds_batch {
    struct batch b;
    span_vec spans; /* what it was made of */
    int64_t malformed, skipped;
    int64_t time_ms; /* the latest of its rows; 0: they have none */
    struct ds_mark mark;
};

/* Rows read and not yet in a batch (cost batching): some of one span. */
struct ds_piece {
    size_t span;
    struct reader_cursor from;
    int64_t to, rows; /* rows < to - from.row when some were malformed */
    int64_t time_ms;
};

struct ds_slot {
    struct dataset *d;
    int64_t number; /* of all ranks */
    span_vec spans;
    struct ds_held replay; /* held back when the position was stored; read first */
    size_t span;           /* the current one */
    struct reader_cursor at;
    struct reader *reader; /* of spans[span]; NULL: to be opened */
    size_t reader_file;
    int64_t reader_end;
    bool opened;            /* the reader stands at `at` */
    struct column *view;    /* owned; for files whose columns have another order */
    bool drained;           /* all rows are read */
    struct ds_batch **held; /* [d->shuffle + 1] */
    size_t n_held;
    int64_t drawn;
    struct batch tmp, acc;       /* the rest of a batch; rows left over (cost batching) */
    VEC(struct ds_piece) pieces; /* of acc */
    size_t single_span; /* up to this row of this span, rows are read one by one */
    int64_t single_to;
    struct ds_batch *spare;               /* taken and not filled */
    int64_t lost_malformed, lost_skipped; /* behind the last batch */
    struct err first_bad;

    /* Guarded by d->lock when there are threads: */
    struct ds_batch **queue; /* ring [d->queue] */
    size_t q_at, q_n;
    VEC(struct ds_batch *) idle;
    bool busy, ended;
    enum rc rc;
    struct err err;
    struct ds_mark mark; /* behind the last batch handed out; not guarded */
};

struct dataset {
    struct data_schema schema;
    struct ds_file *files; /* [n_files] */
    size_t n_files;
    int64_t rows;              /* -1: not known */
    struct reader_conf reader; /* with copies of names and fields, in `mem` */
    struct arena mem;
    size_t *labels, n_labels; /* columns that must not be null; in `mem` */
    int64_t cost_at;          /* column, or -1 */

    int64_t batch_size, batch_cost, shuffle, queue;
    bool drop_remainder, every_row, by_file, short_batches, prints;
    bool streams;     /* files that wait for data: each has a slot and a thread */
    atomic_bool quit; /* readers that wait give up */
    uint64_t seed;
    int64_t rank, world, readers; /* readers as asked for */
    int threads;

    int64_t epoch;
    struct ds_slot *slots; /* [n_slots] of this rank */
    int64_t n_slots, turn;
    bool running, pass_over;
    struct ds_batch *out; /* what the caller has */
    struct ds_slot *out_slot;
    struct dataset_counts counts;
    int64_t started_ns;
    struct err first_bad;

    pthread_mutex_t lock; /* guards the slots' queues, busy, ended, rc, err; turn, stop */
    pthread_cond_t filled, drained_some;
    struct err seen_bad; /* by a thread; guarded */
    pthread_t *workers;  /* [n_workers] */
    int n_workers;
    bool stop;
};

/* dataset_open.c */
void ds_release(struct dataset *d);
/* A reader for the file that stops at `end` (offset; 0: the end of the file). */
enum rc ds_open_file(const struct dataset *d, size_t file, int64_t end,
                     struct reader **out, struct err *err) MUST_CHECK;
/* To a place in the file, with the help of its index. */
enum rc ds_seek(const struct dataset *d, size_t file, struct reader *r,
                const struct reader_cursor *at, struct err *err) MUST_CHECK;

/* dataset_plan.c */
/* The whole table, in order. */
void ds_all_spans(const struct dataset *d, span_vec *out);
/* Cuts `spans` into slots; fills those of this rank, which are empty. `fresh`: the whole
 * table, not what a stored position left over.
 */
enum rc ds_plan(struct dataset *d, const span_vec *spans, bool fresh,
                struct err *err) MUST_CHECK;
/* Offset of row `row` of a text file, a place of its index; 0 when it is the end. */
int64_t ds_end_offset(const struct dataset *d, size_t file, int64_t row);
/* Sorts by place and joins neighbours. */
void ds_join_spans(span_vec *spans);
/* Slots per rank: fewer than asked for when whole files are dealt. */
enum rc ds_count_slots(struct dataset *d, struct err *err) MUST_CHECK;
struct ds_batch *ds_batch_create(const struct dataset *d);
void ds_make_slots(struct dataset *d);
void ds_release_slots(struct dataset *d);

/* dataset_slot.c */
/* The next batch of the slot, NULL at its end. */
enum rc ds_slot_next(struct ds_slot *s, struct ds_batch *(*take)(struct ds_slot *),
                     struct ds_batch **out, struct err *err) MUST_CHECK;
void ds_mark_now(const struct ds_slot *s, struct ds_mark *mark);

/* dataset_cursor.c */
/* Fills the slots (or plans anew) from a text. */
enum rc ds_restore(struct dataset *d, const char *text, struct err *err) MUST_CHECK;

/* dataset_print.c: of a local file's content; "" when there is none. */
void ds_print(const char *path, char out[DS_PRINT_SIZE]);
/* A file of a position is this one: by content where both are known, else by name. */
struct node;
bool ds_same_file(const struct node *then, const char *path, const char *print);

#endif
