/* SPDX-License-Identifier: Apache-2.0 */
/* train/export/cost.h - what the tables of an export cost in quality. */
#ifndef TRAIN_EXPORT_COST_H
#define TRAIN_EXPORT_COST_H

#include "train/export/export.h"

/* A metric over the evaluation data with the checkpoint's tables and with those of the
 * export: the one that tells the best checkpoint (train/best.h).
 */
struct train_export_cost {
    char metric[64];
    double before, after;
    int64_t rows;
};

/* Evaluates twice on the config's eval_input_path, which is not empty. RC_NOTFOUND: no
 * metric tells anything. What the checkpoint, the export and the data report.
 */
enum rc train_export_cost(const struct conf *conf, const char *checkpoint,
                          const char *dir, bool farm_hash, struct pool *pool,
                          struct train_export_cost *out, struct diags *diags,
                          struct err *err) MUST_CHECK;

#endif
