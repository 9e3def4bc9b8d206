/* SPDX-License-Identifier: Apache-2.0 */
/* train/run_file.h - what a run says of itself, beside its checkpoints, for whoever shows it:
 *
 *     run.json      when it begins: the model, features with their tables, memory as `plan`
 *                   works it out, and the graph (nn/describe.h)
 *     run_end.json  when it ends: how, and at which step; a loss that was no number with
 *                   what was not finite first
 *
 * docs/training.md lists their members. A run goes on without them when they cannot be written.
 */
#ifndef TRAIN_RUN_FILE_H
#define TRAIN_RUN_FILE_H

#include "train/session.h"

/* Of a session that has seen no batch: the text of run.json, into an empty buffer. `data_rows` < 0:
 * not known. */
void train_run_file_describe(const struct train_session *s, int64_t data_rows,
                             struct buf *out);
/* Writes it, before the first step. What an earlier run said of its end goes. */
enum rc train_run_file_begin(const char *model_dir, struct buf *text,
                             struct err *err) MUST_CHECK;
/* `rc`, `why`: as the run ended. `stopped`: it was asked to. */
enum rc train_run_file_end(const char *model_dir, const struct train_session *s,
                           enum rc rc, const struct err *why, bool stopped,
                           struct err *err) MUST_CHECK;

#endif
