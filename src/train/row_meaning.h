/* SPDX-License-Identifier: Apache-2.0 */
/* train/row_meaning.h - whether the rows of a checkpoint's tables stand for the same ids
 * as those of a model: a row of a table is an id, and how a feature makes ids (hash,
 * numbers, a vocabulary, boundaries) says which.
 */
#ifndef TRAIN_ROW_MEANING_H
#define TRAIN_ROW_MEANING_H

#include "ckpt/ckpt.h"
#include "train/session.h"

struct train_row_meaning;

/* Reads the config of the checkpoint. One without a config, or one that cannot be read,
 * tells nothing: every table is then taken to be the same. Both must outlive it.
 * `same_run`: what may be the same under another name is (a vocab_file whose words the
 * checkpoint does not tell, ids made by an fg_mode or before).
 */
struct train_row_meaning *train_row_meaning_create(const struct train_session *s,
                                                   const struct ckpt *c, bool same_run);
void train_row_meaning_destroy(struct train_row_meaning *m); /* NULL is fine */
/* How rows of that table of the model differ, for a person: "hash_bucket_size 500, was
 * 1000"; NULL: those that both have mean the same. Valid until it is destroyed. `arg` is
 * a struct train_row_meaning.
 */
const char *train_row_meaning_differs(void *arg, int table);
/* Rows of such a table by the words that they stand for: then[] gets of each row the one
 * that its word had, -1: none. Words of a list count with those that it begins with. How
 * many were found, for a person; NULL: one side has no words, or they are not known.
 */
const char *train_row_meaning_rows(void *arg, int table, int64_t *then);

#endif
