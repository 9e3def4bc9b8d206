/* SPDX-License-Identifier: Apache-2.0 */
/* train/export/predict.h - a model over files of rows, in their order.
 *
 * Threads take batches of the input in turn, each with a scorer of its own; the results
 * are written in the order of the input. Into a directory they go as parts, each
 * complete or absent, with a note of where the next one begins (_predict.json): a run
 * that was killed goes on there when it is started again, without a row lost or twice.
 * A single file appears when it is complete. Several ranks write the parts that one would,
 * each some of them; what they had written when they were killed is written again.
 */
#ifndef TRAIN_EXPORT_PREDICT_H
#define TRAIN_EXPORT_PREDICT_H

#include "data/writer.h"
#include "train/export/scorer.h"

struct comm;

#define PREDICT_STATE "_predict.json"

struct train_predict_options {
    const char *input, *output;
    const struct pc_DataConfig *data; /* how to read the input */
    const char *model;                /* what tells this model from others */
    const char *reserved, *outputs;   /* names, commas between; NULL: none, all */
    const struct writer_ops *format; /* NULL: by the name of the output, or the input's */
    int64_t threads;                 /* at least 1 */
    /* 0: the config's; one million, or 65,536 with several ranks */
    int64_t batch_size, part_rows;
    int64_t steps;  /* batches at most; 0: all */
    bool features;  /* a column __features__ with what the model saw */
    bool nulls;     /* for outputs that are not finite; else E2017 */
    bool overwrite; /* begin anew */
    /* Ranks that do it together, borrowed: parts of an output directory are dealt to them in
     * turn. NULL: this one alone.
     */
    struct comm *comm;
};

/* Of all ranks. */
struct train_predict_summary {
    int64_t rows;     /* written by this run */
    int64_t before;   /* by runs before it, which it went on from */
    int64_t parts;    /* in all */
    int64_t nulls;    /* rows written by this run with an output that is not finite */
    bool done_before; /* there was nothing left to do */
    char *outside;    /* lines about values of this run outside their tables, or NULL */
};
void train_predict_summary_release(struct train_predict_summary *s); /* twice is fine */

/* Problems of columns go to `diags`. RC_INVAL E2011 - E2017; what readers, features and
 * writers report, with the place of the row.
 */
enum rc train_predict_run(struct train_session *s, const struct train_predict_options *o,
                          struct train_predict_summary *out, struct diags *diags,
                          struct err *err) MUST_CHECK;

#endif
