/* SPDX-License-Identifier: Apache-2.0 */
/* train/export/scorer.h - rows of columns in, predictions out; one per thread.
 *
 * The same code for predict, parity and serving: features of the rows, then the graph.
 */
#ifndef TRAIN_EXPORT_SCORER_H
#define TRAIN_EXPORT_SCORER_H

#include "train/session.h"

struct train_score_output;

struct train_scorer {
    struct train_session *session;
    bool own; /* the session is its own */
    struct feature_scratch *scratch;
    struct feature_batch *features; /* of the last rows */
    struct train_score_output
        *outputs; /* [n_outputs], and what they were in the last rows */
    struct view *views;
    size_t n_outputs;
};

/* A prediction of the model: `width` floats per row, or per candidate of a row when `axis`
 * is that of candidates.
 */
struct train_score_output {
    const char *name;
    struct nn_val *val;
    int64_t width;
    int axis;   /* 0: the batch's */
    bool whole; /* its values are whole numbers */
};

/* `s` must live longer. With `share` the scorer gets a session of its own that reads the
 * tables of `s`; else it uses `s` itself, which then is no other's.
 */
enum rc train_scorer_create(struct train_session *s, bool share,
                            struct train_scorer **out, struct err *err) MUST_CHECK;
void train_scorer_destroy(struct train_scorer *s); /* NULL is fine */

/* RC_* of the features and of the ids, with their messages; of a device, what failed in its
 * queue. On success all outputs have been copied from the device.
 */
enum rc train_scorer_run(struct train_scorer *s, const struct batch *rows,
                         struct err *err) MUST_CHECK;
/* Of the last rows; valid until the next. */
struct view train_scorer_view(const struct train_scorer *s, const char *output);

/* The rows of that view that belong to row `row` of the batch: itself, or its candidates. */
void train_scorer_span(const struct train_scorer *s, const struct train_score_output *o,
                       int64_t row, int64_t *from, int64_t *to);

/* All outputs, sorted by name; the caller's, to mem_free(). Those that are sequences are
 * left out, unless they belong to candidates that the data have.
 */
struct train_score_output *train_scorer_outputs(const struct train_session *s,
                                                size_t *n) MUST_CHECK;

#endif
