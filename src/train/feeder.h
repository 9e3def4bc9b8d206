/* SPDX-License-Identifier: Apache-2.0 */
/* train/feeder.h - batches of features, made ahead by a thread of its own.
 *
 * The thread takes batches from a dataset, computes their features and puts them into a
 * ring; the trainer takes them out in the same order. Each comes with the dataset's
 * position behind it, so that a checkpoint can go on with exactly the next row.
 */
#ifndef TRAIN_FEEDER_H
#define TRAIN_FEEDER_H

#include "data/dataset.h"
#include "data/sampler/sampler.h"
#include "feature/feature.h"
#include "train/mask.h"
#include "train/outside.h"
#include "train/where.h"

struct train_feeder;

struct train_feeder_conf {
    struct dataset_conf data;
    const struct feature_plan *plan;    /* borrowed */
    const struct data_schema *columns;  /* types that they must have; NULL: any */
    int depth;                          /* batches made ahead; 0: 3 */
    int keeps;                          /* batches that stay the reader's; 0: 1 */
    int64_t epochs;                     /* passes over the data; 0: without end */
    bool positions;                     /* keep the dataset's position of each batch */
    const struct sampler_conf *sampler; /* NULL: none; only used by train_feeder_open() */
    struct train_mask_conf mask;        /* zero: no row is masked */
    uint64_t first_step; /* number of the first batch, for sampler and mask */
};

/* One batch, the reader's until .keeps others have followed. */
struct train_fed {
    const struct feature_batch *features; /* NULL: the end of a pass */
    const char *position; /* JSON, behind this batch; NULL without .positions */
    int64_t epoch;        /* passes completed before it */
    int64_t time_ms;      /* latest event time of its rows, Unix; 0: none */
    const struct train_where *where;    /* its rows in the data */
    int64_t begun_ns, read_ns, made_ns; /* when its rows were read, its features made */
};

/* Opens the dataset and checks its columns against the plan (problems in `diags`:
 * RC_INVAL). Starts the thread.
 */
enum rc train_feeder_open(const struct train_feeder_conf *conf, struct train_feeder **out,
                          struct diags *diags, struct err *err) MUST_CHECK;
void train_feeder_close(struct train_feeder *f); /* NULL is fine; stops the thread */

/* The next batch; features NULL at the end of each pass. After the last pass each call
 * says the end again. RC_* of the dataset and of the features, with their messages.
 */
enum rc train_feeder_next(struct train_feeder *f, struct train_fed *out,
                          struct err *err) MUST_CHECK;
/* The batch that was handed out last becomes the caller's; `spare`, of the same plan, is
 * used in its place.
 */
struct feature_batch *train_feeder_swap(struct train_feeder *f,
                                        struct feature_batch *spare) MUST_CHECK;

/* Lines about values outside their tables: of the pass whose end was handed out last, or
 * of what has been read since.
 */
void train_feeder_outside(struct train_feeder *f, bool pass, struct buf *out);
/* What a sampler found odd, a line each; "" when there is none. */
const char *train_feeder_notes(const struct train_feeder *f);
int64_t
train_feeder_rows(const struct train_feeder *f); /* of all files; -1 when not known */
uint64_t train_feeder_digest(const struct train_feeder *f); /* dataset_digest() */
const struct data_schema *train_feeder_schema(const struct train_feeder *f);
size_t train_feeder_files(const struct train_feeder *f);
/* Nanoseconds that train_feeder_next() has waited for data. */
int64_t train_feeder_waited(const struct train_feeder *f);

#endif
