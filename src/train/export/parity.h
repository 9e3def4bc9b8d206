/* SPDX-License-Identifier: Apache-2.0 */
/* train/export/parity.h - a checkpoint as training runs it against its export, row by
 * row.
 */
#ifndef TRAIN_EXPORT_PARITY_H
#define TRAIN_EXPORT_PARITY_H

#include "train/export/export.h"

struct train_parity_options {
    const char *input;
    const char *checkpoint; /* NULL: the one that the manifest names */
    double tolerance;       /* of outputs: |a - b| <= tolerance * (1 + |b|) */
    struct pool *pool;      /* borrowed */
};

struct train_parity_result {
    int64_t rows;
    size_t features, outputs;
    double largest;  /* difference of an output */
    char where[128]; /* of it: "probs, row 12"; "" when all are equal */
};

/* Features must be equal to the last bit, outputs within the tolerance. RC_INVAL E2021
 * names the first row and what differs; RC_NOTFOUND E2022: there is no checkpoint.
 */
enum rc train_parity_run(struct train_export *x, const struct train_parity_options *o,
                         struct train_parity_result *out, struct diags *diags,
                         struct err *err) MUST_CHECK;

#endif
