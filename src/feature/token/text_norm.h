/* SPDX-License-Identifier: Apache-2.0 */
/* feature/token/text_norm.h - what text_normalizer does to a text before it is cut into
 * tokens: docs/features.md.
 */
#ifndef FEATURE_TOKEN_TEXT_NORM_H
#define FEATURE_TOKEN_TEXT_NORM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

struct feature_text_norm {
    bool upper, lower;
    bool half_width;  /* full-width forms become ASCII */
    bool simplified;  /* traditional Chinese characters become simplified ones */
    bool filter;      /* stop characters, or punctuation and symbols, are left out */
    bool split_chars; /* blanks around each Chinese character */
    bool no_blanks;
    uint32_t max_chars; /* longer texts stay as they are; 0: none do */
    int32_t *stops;     /* owned, sorted; n_stops 0: punctuation and symbols */
    size_t n_stops;
};

/* Every character of the file but line ends is a stop character. */
enum rc feature_text_norm_stops(struct feature_text_norm *t, const char *path,
                                struct err *err) MUST_CHECK;
void feature_text_norm_release(struct feature_text_norm *t);
/* Replaces the contents of `out`. */
void feature_text_norm_run(const struct feature_text_norm *t, struct str in,
                           struct buf *out);

#endif
