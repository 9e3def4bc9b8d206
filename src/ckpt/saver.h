/* SPDX-License-Identifier: Apache-2.0 */
/* ckpt/saver.h - checkpoints written by another thread while training goes on.
 *
 * Between two steps ckpt_saver_start() copies what the writer was given (dense arrays whole,
 * of tables the rows that were ever used) and returns; a thread then writes, syncs,
 * renames and prunes. The cost is that copy, at the speed of memory, and as much memory
 * for the time of the save: ckpt_copy_bytes(). When memory for the copy is refused, the
 * save is made on the spot instead. One save is in flight at a time.
 */
#ifndef CKPT_SAVER_H
#define CKPT_SAVER_H

#include "ckpt/ckpt.h"

struct ckpt_saver;

struct ckpt_saver_conf {
    const char *model_dir;
    int64_t keep; /* checkpoints to keep; 0: all */
};
struct ckpt_saver *ckpt_saver_create(const struct ckpt_saver_conf *conf);
/* Waits for a save in flight; its failure is lost. NULL is fine. */
void ckpt_saver_destroy(struct ckpt_saver *s);

/* Waits for the save before, takes `w` (which it ends in any case) and starts writing it.
 * `best` is a step that pruning spares, or -1. When the save before had failed, that
 * failure is returned and the new save has been started all the same.
 */
enum rc ckpt_saver_start(struct ckpt_saver *s, struct ckpt_writer *w, int64_t best,
                         struct err *err) MUST_CHECK;
/* Waits until nothing is in flight; returns how that went, once. */
enum rc ckpt_saver_wait(struct ckpt_saver *s, struct err *err) MUST_CHECK;
bool ckpt_saver_busy(const struct ckpt_saver *s);

#endif
