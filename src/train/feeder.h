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

struct feeder;

struct feeder_conf {
    struct dataset_conf data;
    const struct feature_plan *plan;    /* borrowed */
    int depth;                          /* batches made ahead; 0: 3 */
    int64_t epochs;                     /* passes over the data; 0: without end */
    bool positions;                     /* keep the dataset's position of each batch */
    const struct sampler_conf *sampler; /* NULL: none; only used by feeder_open() */
    uint64_t first_step;                /* number of the first batch, for the sampler */
};

/* One batch, the feeder's until the next feeder_next(). */
struct fed {
    const struct feature_batch *features; /* NULL: the end of a pass */
    const char *position; /* JSON, behind this batch; NULL without .positions */
    int64_t epoch;        /* passes completed before it */
    int64_t begun_ns, read_ns, made_ns; /* when its rows were read, its features made */
};

/* Opens the dataset and checks its columns against the plan (problems in `diags`:
 * RC_INVAL). Starts the thread.
 */
enum rc feeder_open(const struct feeder_conf *conf, struct feeder **out,
                    struct diags *diags, struct err *err) MUST_CHECK;
void feeder_close(struct feeder *f); /* NULL is fine; stops the thread */

/* The next batch; features NULL at the end of each pass. After the last pass each call
 * says the end again. RC_* of the dataset and of the features, with their messages.
 */
enum rc feeder_next(struct feeder *f, struct fed *out, struct err *err) MUST_CHECK;

/* What a sampler found odd, a line each; "" when there is none. */
const char *feeder_notes(const struct feeder *f);
int64_t feeder_rows(const struct feeder *f); /* of all files; -1 when not known */
size_t feeder_files(const struct feeder *f);
/* Nanoseconds that feeder_next() has waited for data. */
int64_t feeder_waited(const struct feeder *f);

#endif
