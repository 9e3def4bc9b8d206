/* SPDX-License-Identifier: Apache-2.0 */
/* data/dataset.h - the rows of many files as batches, split over ranks and readers.
 *
 * All files form one table in list order. It is cut into world * readers slots of
 * (almost) the same number of rows; slots rank * readers .. belong to this rank. A slot
 * is a stream of batches of its own; the rank takes from its slots in turn. Which rows
 * form a batch, and the order of the batches, follow from the settings alone: threads
 * only decide how soon a batch is there. Compressed text files cannot be cut: when there
 * is one, whole files are dealt to the slots instead (docs/data.md).
 *
 * The position is a text (dataset_tell), kept in checkpoints. With the same settings a
 * dataset opened with it goes on with exactly the batches that would have come; with
 * another number of ranks or readers, or another batch size, with exactly the rows that
 * had not been handed out.
 *
 * A dataset is used by one thread; its reader threads are its own business. Memory is
 * bounded by slots * (queue + shuffle buffer + 2) batches; after warm-up nothing is
 * allocated per batch.
 */
#ifndef DATA_DATASET_H
#define DATA_DATASET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "data/batch.h"
#include "data/reader.h"

struct dataset;

/* Zeroed, everything but `input` has a default. What it points at is only used during
 * dataset_open().
 */
struct dataset_conf {
    const char *input;               /* see data/files.h */
    const struct reader_ops *format; /* NULL: by content, file by file */
    struct reader_conf reader; /* `want`: the columns; labels and others are added */

    const char *const *labels; /* columns of numbers or of lists of numbers */
    size_t n_labels;
    const char *const *text_labels; /* those of them that may be texts as well */
    size_t n_text_labels;
    const char *const *weights; /* columns of numbers */
    size_t n_weights;

    int64_t batch_size;  /* rows; 0: 1024 */
    bool drop_remainder; /* no short batch at the end of a slot */
    /* > 0: a batch is the longest run of rows (at most batch_size, at least one) whose
     * costs sum up to no more.
     */
    int64_t batch_cost;
    const char *cost_field; /* column of numbers */
    /* > 0: batches held back by each slot, of which a random one goes out; rows within a
     * batch stay as they are.
     */
    int64_t shuffle;
    uint64_t seed;

    int64_t rank, world; /* world 0: 1 */
    int64_t readers;     /* slots per rank; 0: 1 */
    int threads;         /* that read ahead; 0: none, batches are made when asked for */
    int64_t queue;       /* batches that a slot reads ahead; 0: 2 */
    /* A slot keeps the one row that would be a batch of its own (prediction). */
    bool every_row;
    /* A batch ends where a file or the reader's does, so that very large rows need not
     * fit into memory together.
     */
    bool short_batches;
    bool by_file;       /* deal whole files even where rows could be split */
    bool prints;        /* keep in the position what tells files by their content */
    const char *cursor; /* text from dataset_tell() or dataset_merge(); NULL: none */
};

/* On success *out is the caller's, to dataset_close(). RC_NOTFOUND E1201; RC_INVAL E1202
 * (files differ), E1204 (column), E1207 (type), E1209 (cannot be split), E1211, E1212
 * (cursor); what the readers report.
 */
enum rc dataset_open(const struct dataset_conf *conf, struct dataset **out,
                     struct err *err) MUST_CHECK;
void dataset_close(struct dataset *d); /* NULL is fine */

const struct data_schema *dataset_schema(const struct dataset *d);
/* Rows of all files; -1 when only reading them tells. */
int64_t dataset_rows(const struct dataset *d);
size_t dataset_files(const struct dataset *d);
/* Of the content of all files, whatever their names; with `prints` only. */
uint64_t dataset_digest(const struct dataset *d);
/* The first file and its format ("csv"). Borrowed. */
const char *dataset_first_file(const struct dataset *d, const char **format);

/* The next batch of this rank, borrowed until the next call; NULL at the end of a pass.
 * The call after that begins the next pass. After a failure only dataset_close() is of
 * use. RC_INVAL E1208 (null label, with file and row); what the readers report.
 */
enum rc dataset_next(struct dataset *d, const struct batch **out,
                     struct err *err) MUST_CHECK;

struct dataset_counts {
    int64_t epoch;         /* passes completed before this one */
    int64_t rows, batches; /* handed out since dataset_open() */
    int64_t malformed;     /* rows left out */
    int64_t skipped;       /* rows left out by drop_remainder or for even ranks */
    /* Time in dataset_next() that was waiting; since first call. */
    int64_t wait_ns, all_ns;
};
void dataset_counts(const struct dataset *d, struct dataset_counts *out);
/* What was wrong with the first malformed row; "" when there was none. */
const char *dataset_first_bad(const struct dataset *d);

/* Rows of one file that follow each other in the last batch handed out. */
struct dataset_part {
    const char *path; /* borrowed until dataset_close() */
    int64_t row, n;   /* number of the first, from 1; how many */
    int64_t line;     /* of the first, where rows are lines; 0: not known */
};
/* The parts of that batch in its order; returns how many there are and fills in at most
 * `max`. *loose: rows were left out as malformed, and the parts count them, too.
 */
size_t dataset_parts(const struct dataset *d, struct dataset_part *out, size_t max,
                     bool *loose);

/* The latest event time of that batch's rows, Unix milliseconds (the time of a Kafka
 * message); 0 when its rows have none.
 */
int64_t dataset_time(const struct dataset *d);

/* Where this rank is: behind the last batch that dataset_next() handed out. JSON. */
void dataset_tell(struct dataset *d, struct buf *out);
/* The texts of all ranks as one. E1211 when they do not belong together. */
enum rc dataset_merge(const char *const *texts, size_t n, struct buf *out,
                      struct err *err) MUST_CHECK;

/* A text that is the same for files with the same content, under whatever names, and
 * another for others; "" when there are none.
 */
#define DATASET_PRINT_SIZE 17
void dataset_print(const char *input, char out[DATASET_PRINT_SIZE]);

/* What tells the files of `input` from those of a position, as a phrase for a person;
 * nothing is added to `out` when they are the same, be it under other names. RC_NOTFOUND
 * E1201, RC_FORMAT E1211.
 */
enum rc dataset_compare(const char *input, const char *position, struct buf *out,
                        struct err *err) MUST_CHECK;

#endif
