/* SPDX-License-Identifier: Apache-2.0 */
/* train/dense_tables.h - which tables TorchEasyRec trains with the dense optimizer, all rows
 * at every step (`train --like-reference tables`). In the model they are parameters
 * (model.dense).
 */
#ifndef TRAIN_DENSE_TABLES_H
#define TRAIN_DENSE_TABLES_H

#include "train/session.h"

struct ckpt;

/* As its plan says (session.options.pins); of tables that no plan names, those whose
 * constraints allow nothing but data_parallel, and those of sequence groups, as on CPU.
 * `session` is a struct train_session. For model_options.dense.
 */
bool train_dense_tables_are(const void *session, const struct pc_feature *f,
                            const char *table, bool sequence);
/* Of a checkpoint with such tables: sets what a session is to be made with that loads all
 * of it. The checkpoint must live until then.
 */
void train_dense_tables_of(const struct ckpt *c, struct train_session_options *so);
/* For the blob "session" of a checkpoint: , "dense_tables": [...], or nothing. */
void train_dense_tables_print(const struct model *m, struct buf *out);
/* Whether a session with such tables can run. RC_UNSUPPORTED: several shards, a device, or
 * dumps of changed rows.
 */
enum rc train_dense_tables_check(const struct train_session *s,
                                 struct err *err) MUST_CHECK;

#endif
