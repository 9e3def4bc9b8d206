/* SPDX-License-Identifier: Apache-2.0 */
/* train/export/retrieve.h - items for users by a model that scores the nodes of a tree
 * (TDM): beam search from a level that is wide enough down to the leaves.
 *
 * The first level that is scored is the first with at least 2 * branch * items nodes (or
 * the leaves'); of each level 2 * items nodes are kept, of the leaves `items`. Rows of
 * the input stand for users; the columns of items in them are replaced by those of the
 * nodes, except that the item's own id tells whether it was found.
 */
#ifndef TRAIN_EXPORT_RETRIEVE_H
#define TRAIN_EXPORT_RETRIEVE_H

#include "train/export/predict.h"

struct train_retrieve_options {
    struct train_predict_options
        predict;                  /* input, output, reserved, format, threads, ... */
    int64_t items;                /* per row */
    int64_t branch;               /* of the tree */
    const char *nodes, *children; /* tables; NULL: those of the config */
};

struct train_retrieve_summary {
    struct train_predict_summary predict;
    int64_t rows,
        found; /* of this run: rows, and those whose own item was among theirs */
    int64_t first_level, levels, leaves;
};

/* As train_predict_run(); also RC_INVAL E2404. The result has the reserved columns and
 * recall_ids.
 */
enum rc train_retrieve_run(struct train_session *s,
                           const struct train_retrieve_options *o,
                           struct train_retrieve_summary *out, struct diags *diags,
                           struct err *err) MUST_CHECK;

#endif
