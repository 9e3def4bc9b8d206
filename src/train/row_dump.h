/* SPDX-License-Identifier: Apache-2.0 */
/* train/row_dump.h - files of the embedding rows that training has come across since the
 * last such file (train_config.delta_embedding_dump_config).
 *
 * Which ids are due is kept by the tables (embed_track) and saved with them, so that a
 * run that was ended and goes on writes the same files. Form: docs/embeddings.md.
 */
#ifndef TRAIN_ROW_DUMP_H
#define TRAIN_ROW_DUMP_H

#include "embed/lookup.h"
#include "text/pipeline/pipeline.h"

struct train_row_dump;

/* Makes tables note ids from here on, so before a checkpoint is loaded. `embed` is
 * borrowed. RC_INVAL (E1409: values that cannot be stored so), RC_NOMEM.
 */
enum rc train_row_dump_create(const struct pc_DeltaEmbeddingDumpConfig *conf,
                              const char *model_dir, struct lookup *lookup,
                              struct train_row_dump **out, struct err *err) MUST_CHECK;
void train_row_dump_destroy(
    struct train_row_dump *d); /* NULL is fine, as in the following */

/* Makes the directory; an interval of minutes begins. RC_IO. */
enum rc train_row_dump_start(struct train_row_dump *d, struct err *err) MUST_CHECK;
/* After a step, counted from 0: a file, when one is due. RC_IO, RC_NOMEM, RC_INVAL
 * (E1409: a row that INT8 cannot hold).
 */
enum rc train_row_dump_step(struct train_row_dump *d, uint64_t step,
                            struct err *err) MUST_CHECK;
/* The end of training: what no file has yet. Nothing at step 0. */
enum rc train_row_dump_end(struct train_row_dump *d, uint64_t step,
                           struct err *err) MUST_CHECK;

#endif
