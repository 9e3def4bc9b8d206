/* SPDX-License-Identifier: Apache-2.0 */
/* feature/words.h - the vocabulary of a feature: its words and their rows.
 *
 * vocab_list, vocab_dict and vocab_file become one struct vocab. The row of unknown words
 * and the words that a list begins with (the default, "<OOV>") are part of it.
 */
#ifndef FEATURE_WORDS_H
#define FEATURE_WORDS_H

#include "feature/vocab.h"
#include "text/pipeline/feature.h"

/* The value that stands for a missing one. */
struct str feature_default_text(const struct pc_feature *c);

bool feature_has_words(const struct pc_feature *c);
/* Of vocab_list or vocab_dict; texts are borrowed from `c`. *unknown: the row of other
 * words. RC_NOMEM.
 */
enum rc feature_words_listed(const struct pc_feature *c, struct vocab *out,
                             int64_t *unknown, struct err *err) MUST_CHECK;
/* A vocabulary as the text of a vocab_file, words in the order in which they were put. */
void feature_words_print(const struct vocab *v, struct buf *out);

#endif
