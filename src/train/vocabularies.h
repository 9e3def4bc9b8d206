/* SPDX-License-Identifier: Apache-2.0 */
/* train/vocabularies.h - the words of vocab_file features, kept with a checkpoint.
 *
 * A row of their tables is a word, and the file that says which may change afterwards.
 * The blob of a checkpoint has of each such feature the number of words, a hash of them,
 * and the words themselves while they are few.
 */
#ifndef TRAIN_VOCABULARIES_H
#define TRAIN_VOCABULARIES_H

#include "feature/feature.h"
#include "feature/vocab.h"
#include "text/node.h"

#define TRAIN_VOCABULARIES "vocabularies" /* the blob of a checkpoint */

/* {"tag": {"words": 3, "digest": "90b3...", "text": "a 0\nb 1\nc 2\n"}}; false: none of
 * the features has a vocab_file.
 */
bool train_vocabularies_print(const struct feature_plan *plan, struct buf *out);

enum train_words { WORDS_KNOWN, WORDS_CHANGED, WORDS_UNKNOWN };
/* The words that the vocab_file of a feature had, from the blob (NULL: none) or, where it
 * has too many, from the file if it has not changed. An older checkpoint does not tell:
 * WORDS_UNKNOWN, with those of the file, if it can be read. `out` is to be released in any
 * case.
 */
enum train_words train_vocabularies_find(const struct node *blob,
                                         const struct pc_feature *c, const char *dir,
                                         struct vocab *out);

#endif
