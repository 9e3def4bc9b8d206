/* SPDX-License-Identifier: Apache-2.0 */
/* train/export/predict_private.h - input, columns and output of a prediction. */
#ifndef TRAIN_EXPORT_PREDICT_PRIVATE_H
#define TRAIN_EXPORT_PREDICT_PRIVATE_H

#include "base/arena.h"
#include "base/fs.h"
#include "base/vec.h"
#include "data/dataset.h"
#include "data/reader.h"
#include "train/export/predict.h"
#include "train/model_lock.h"
#include "train/where.h"

/* Between two batches of the input. */
struct train_predict_place {
    int64_t file; /* index */
    struct reader_cursor at;
};

/* --- predict_input.c: rows of all files, one after the other --- */

struct train_predict_input {
    const struct train_predict_options *o;
    const struct feature_plan *plan;
    bool typed;                 /* the first file has told what `columns` lacked */
    struct data_schema columns; /* types, the model's or those of the first file */
    struct diags *diags;
    struct arena arena;
    struct dataset_conf conf;
    struct fs_names files;
    struct reader *reader;
    struct train_predict_place place;
    struct reader_cursor from; /* of the last rows, in the file of `place` */
    int64_t batch_size;
    const char **reserved; /* [n_reserved] */
    size_t n_reserved;
    struct data_schema kept; /* reserved columns as in the first file */
    /* Columns that only features read which the outputs do not need: not read from the
     * file, where they may be missing, but null.
     */
    const char **absent;
    size_t n_absent;
};

/* needs[]: which columns of the plan the outputs need; NULL: all. */
enum rc train_predict_input_open(struct train_predict_input *in,
                                 const struct train_session *s, const bool *needs,
                                 const struct train_predict_options *o,
                                 struct diags *diags, struct err *err) MUST_CHECK;
void train_predict_input_release(struct train_predict_input *in);
enum rc train_predict_input_seek(struct train_predict_input *in,
                                 const struct train_predict_place *at,
                                 struct err *err) MUST_CHECK;
/* Of the file that is open. */
const char *train_predict_input_file(const struct train_predict_input *in);
/* The next rows; b->n == 0 at the end. `b` is initialised anew when the file changes:
 * *schema is then its own copy of the file's.
 */
enum rc train_predict_input_next(struct train_predict_input *in,
                                 struct data_schema *schema, int64_t *file,
                                 struct batch *b, struct err *err) MUST_CHECK;

/* Where those rows, n of them, come from. */
void train_predict_input_where(const struct train_predict_input *in, int64_t n,
                               struct train_where *out);

/* --- predict_columns.c: what a result looks like --- */

struct train_predict_columns {
    struct train_score_output *at; /* chosen, in the order of the result */
    size_t n;
    bool features;
    bool nulls;                /* for outputs that are not finite, which else fail */
    struct data_schema schema; /* outputs, __features__, reserved columns */
    size_t n_reserved;
};

enum rc train_predict_columns_init(struct train_predict_columns *c,
                                   const struct train_session *s,
                                   const struct train_predict_options *o,
                                   const struct data_schema *kept,
                                   struct err *err) MUST_CHECK;
void train_predict_columns_release(struct train_predict_columns *c);
/* A batch for `fill`: reserved columns own nothing, also no columns of their elements. */
void train_predict_columns_batch(const struct train_predict_columns *c,
                                 struct batch *out);
/* `out` was made by `batch`; reserved columns are borrowed from `rows`. *nulls: rows
 * with an output that is not finite. RC_INVAL E2017, which names the row of the batch.
 */
enum rc train_predict_columns_fill(const struct train_predict_columns *c,
                                   const struct train_scorer *s, const struct batch *rows,
                                   struct batch *out, int64_t *nulls,
                                   struct err *err) MUST_CHECK;
/* Gives back what was borrowed. */
void train_predict_columns_clear(const struct train_predict_columns *c,
                                 struct batch *out);

/* --- predict_output.c: parts and where to go on --- */

struct train_predict_counts {
    int64_t rows, parts, batches;
};

struct train_predict_output {
    const struct train_predict_options *o;
    const struct writer_ops *format;
    const struct data_schema *schema;
    char run[17]; /* of model, input and options */
    bool single;  /* one file rather than parts */
    struct writer *writer;
    char *path;        /* of the part that is open */
    int64_t part;      /* its number */
    int64_t part_rows; /* so far */
    int64_t parts, rows, batches;
    struct train_predict_counts before; /* of runs before this one */
    struct train_predict_place next;    /* behind the last whole part */
    bool done;
    bool replaces; /* parts of an older run, once the first part is whole */
    struct train_model_lock *lock; /* of a directory */
};

/* Finds out where to go on: out->next and out->rows. */
enum rc train_predict_output_open(struct train_predict_output *out,
                                  const struct train_predict_options *o,
                                  const struct writer_ops *format,
                                  const struct data_schema *schema,
                                  const struct fs_names *files,
                                  struct err *err) MUST_CHECK;
/* Which part of the output the rows of a batch go to, and whose that part is: every rank
 * reads all batches and deals them alike.
 */
struct train_predict_dealer {
    int64_t part, rows; /* that the next rows go to, and what it has */
    int64_t most;       /* rows of a part, the last one left out */
    int64_t seen;       /* batches */
    int rank, ranks;
};
struct train_predict_dealer
train_predict_dealer_of(const struct train_predict_output *out);
/* A batch of n rows; *ends: the part ends with it. False: it is another rank's. */
bool train_predict_deal(struct train_predict_dealer *d, int64_t n, int64_t *part,
                        bool *ends);
/* Rows of a batch, where they come from and where they go to. */
struct train_predict_rows {
    const struct batch *rows;
    struct train_predict_place behind; /* in the input, behind these rows */
    int64_t part;
    bool ends; /* the part */
};
enum rc train_predict_output_add(struct train_predict_output *out,
                                 const struct train_predict_rows *add,
                                 struct err *err) MUST_CHECK;
void train_predict_output_release(struct train_predict_output *out);
/* Ends the last part, and the run when all ranks have; `rc` other than RC_OK leaves it out.
 * Returns `rc` or what failed.
 */
enum rc train_predict_output_finish(struct train_predict_output *out, enum rc rc,
                                    struct err *err) MUST_CHECK;

#endif
