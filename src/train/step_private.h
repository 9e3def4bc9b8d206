/* SPDX-License-Identifier: Apache-2.0 */
/* train/step_private.h - what the files of a training step share: step.c does a batch of
 * one shard, step_shards.c one of several.
 */
#ifndef TRAIN_STEP_PRIVATE_H
#define TRAIN_STEP_PRIVATE_H

#include "dist/shards.h"
#include "train/session.h"

struct train_shard_step;

/* What a session needs for several shards. RC_INVAL, RC_NOMEM. */
enum rc train_shard_step_create(struct train_session *s, struct train_shard_step **out,
                                struct err *err) MUST_CHECK;
void train_shard_step_destroy(struct train_shard_step *x); /* NULL is fine */

/* train_session_train() for several shards, without its counters. */
enum rc train_shard_step_run(struct train_session *s, const struct train_session_batch *b,
                             double *loss, struct err *err) MUST_CHECK;
/* Bytes among ranks since the start, of a session with several shards. */
struct dist_traffic train_shard_step_traffic(const struct train_session *s);
const struct train_feed *train_shard_step_feed(const struct train_shard_step *x);
const double *train_shard_step_losses(const struct train_shard_step *x);

/* step.c: when a part of the step was over. */
void train_step_mark(struct train_session *s, enum train_session_mark part);
/* The rates of this step for rows of tables. */
struct embed_row_step train_step_rows(const struct train_session *s);
/* Dense parameters move, by the gradients that they have, if their accumulation is over. */
void train_step_dense(struct train_session *s);

#endif
