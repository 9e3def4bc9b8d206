/* SPDX-License-Identifier: Apache-2.0 */
/* lib/result.h - scores as a record batch of Arrow's C data interface. */
#ifndef LIB_RESULT_H
#define LIB_RESULT_H

#include "train/export/scorer.h"
#include "trainyard/scoring.h"

/* A column of floats per output, [rows][width]; filled by whoever made it, then handed
 * out. RC_NOMEM.
 */
struct lib_result {
    const struct train_score_output *outputs; /* borrowed */
    size_t n;
    int64_t rows;
    float **values; /* owned; [n] */
};

enum rc lib_result_create(const struct train_score_output *outputs, size_t n,
                          int64_t rows, struct lib_result *out,
                          struct err *err) MUST_CHECK;
void lib_result_release(struct lib_result *r);
/* Moves the values into a struct array; `r` is empty afterwards. Never fails. */
void lib_result_export(struct lib_result *r, struct ArrowSchema *schema,
                       struct ArrowArray *array);

#endif
