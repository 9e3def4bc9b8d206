/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/predict.h - what commands that run an export over files have in common. */
#ifndef CMD_PREDICT_H
#define CMD_PREDICT_H

#include <stdbool.h>

#include "base/err.h"
#include "data/writer.h"

/* "parquet", "ParquetWriter", NULL: none is named. RC_INVAL E0603. */
enum rc predict_writer(const char *name, const struct writer_ops **out,
                       struct err *err) MUST_CHECK;
/* The directory of an export. TorchEasyRec has parts of a model in directories of their
 * own: "x/item" stands for the export "x" and its output item_tower_emb, when there is no
 * such directory but x is an export. *output (NULL: nobody asks) is the part's output or
 * NULL. The caller's, to mem_free().
 */
char *predict_model_dir(const char *path, const char **output) MUST_CHECK;

/* One file rather than a directory of parts: the first of several ranks writes it. NULL is
 * fine.
 */
bool predict_is_one_file(const char *output);

#endif
