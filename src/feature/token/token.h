/* SPDX-License-Identifier: Apache-2.0 */
/* feature/token/token.h - texts to token ids, as a tokenizer file says.
 *
 * Two kinds of files: the tokenizer.json of Hugging Face's tokenizers with a BPE model,
 * and the models of sentencepiece (unigram and BPE). Special tokens that such a library
 * would put around a text are not added. A tokenizer is only read once it is made; each
 * thread brings its own scratch.
 *
 * Both are read by code of our own: there is no C library for the first, the second is
 * C++ and would bring protobuf along, and what is needed of both are bounded tables.
 * Unicode's tables come from utf8proc, regular expressions from PCRE2.
 */
#ifndef FEATURE_TOKEN_TOKEN_H
#define FEATURE_TOKEN_TOKEN_H

#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

struct tokenizer;
struct token_scratch;

enum tokenizer_kind { TOKENIZER_BPE, TOKENIZER_SENTENCEPIECE };

/* On success *out is the caller's. Messages name the file and what in it is not
 * understood. RC_NOTFOUND, RC_IO, RC_FORMAT, RC_UNSUPPORTED.
 */
enum rc tokenizer_open(const char *path, enum tokenizer_kind kind, struct tokenizer **out,
                       struct err *err) MUST_CHECK;
/* The same of bytes, which are only used during the call. */
enum rc tokenizer_from(const void *bytes, size_t n, enum tokenizer_kind kind,
                       struct tokenizer **out, struct err *err) MUST_CHECK;
void tokenizer_close(struct tokenizer *t); /* NULL is fine */

/* Ids are below it. */
int64_t tokenizer_rows(const struct tokenizer *t);

struct token_scratch *token_scratch_create(void);
void token_scratch_destroy(struct token_scratch *s); /* NULL is fine */

/* *ids is valid until the next call with the same scratch. Bytes that are not UTF-8 count
 * as U+FFFD. RC_NOMEM; RC_UNSUPPORTED when a regular expression of the file gives up.
 */
enum rc tokenizer_encode(const struct tokenizer *t, struct token_scratch *s,
                         struct str text, const int64_t **ids, size_t *n,
                         struct err *err) MUST_CHECK;

#endif
