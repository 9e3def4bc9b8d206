/* SPDX-License-Identifier: Apache-2.0 */
/* train/row_dump.h - files of the embedding rows that training has come across since the
 * last such file (train_config.delta_embedding_dump_config).
 *
 * Which ids are due is kept by the tables (embed_track) and saved with them, so that a
 * run that was ended and goes on writes the same files. Form: docs/embeddings.md.
 */
#ifndef TRAIN_ROW_DUMP_H
#define TRAIN_ROW_DUMP_H

#include "model/model.h"
#include "text/pipeline/pipeline.h"

struct comm;
struct train_row_dump;

/* Makes tables note ids from here on, so before a checkpoint is loaded. The model is
 * borrowed. Of several ranks (comm, NULL: one) each writes the rows that it keeps. RC_INVAL
 * (E1409: values that cannot be stored so), RC_NOMEM, RC_UNSUPPORTED: no rank has whole rows.
 */
enum rc train_row_dump_create(const struct pc_DeltaEmbeddingDumpConfig *conf,
                              const char *model_dir, const struct model *model,
                              const struct comm *comm, struct train_row_dump **out,
                              struct err *err) MUST_CHECK;
void train_row_dump_destroy(
    struct train_row_dump *d); /* NULL is fine, as in the following */

/* Makes the directory; an interval of minutes begins. RC_IO. */
enum rc train_row_dump_start(struct train_row_dump *d, struct err *err) MUST_CHECK;
/* An interval of minutes is over: all ranks shall write at their next step. True once. */
bool train_row_dump_asks(struct train_row_dump *d);
/* After a step, counted from 0: a file, when one is due or was asked for. RC_IO, RC_NOMEM,
 * RC_INVAL (E1409: a row that INT8 cannot hold).
 */
enum rc train_row_dump_step(struct train_row_dump *d, uint64_t step, bool asked,
                            struct err *err) MUST_CHECK;
/* The end of training: what no file has yet. Nothing at step 0. */
enum rc train_row_dump_end(struct train_row_dump *d, uint64_t step,
                           struct err *err) MUST_CHECK;

#endif
