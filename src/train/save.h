/* SPDX-License-Identifier: Apache-2.0 */
/* train/save.h - a session into a checkpoint and back, exactly. */
#ifndef TRAIN_SAVE_H
#define TRAIN_SAVE_H

#include "ckpt/ckpt.h"
#include "train/session.h"

/* All of the session, the text of its config, and the position in the data (JSON, may be
 * NULL). The writer is the caller's, to commit; the session must not change before.
 */
struct ckpt_writer *train_session_save(const struct train_session *s,
                                       const char *model_dir, const char *config,
                                       const char *position);

/* Everything back as it was saved: counters, parameters, tables, optimizers. *position is
 * borrowed from a copy in `a`, NULL when none was saved. With `fresh` optimizers begin
 * anew. RC_INVAL: the checkpoint is of another model (the message names the first
 * differences) or seed.
 */
enum rc train_session_resume(struct train_session *s, const struct ckpt *c, bool fresh,
                             struct arena *a, const char **position,
                             struct err *err) MUST_CHECK;
/* The seed of the run that made it. RC_FORMAT when it is no checkpoint of a run. */
enum rc train_session_saved_seed(const struct ckpt *c, uint64_t *seed,
                                 struct err *err) MUST_CHECK;
/* Shards of the run that made it; 1 when it does not say. */
int train_session_saved_shards(const struct ckpt *c);
/* All parameters and tables, without what only training needs; with `average` dense
 * parameters are their moving average if the checkpoint has one. The session does not
 * train and has the seed of the checkpoint, if that was trained here. RC_INVAL: it is of
 * another model.
 */
enum rc train_session_load_weights(struct train_session *s, const struct ckpt *c,
                                   bool average, struct err *err) MUST_CHECK;

#endif
