/* SPDX-License-Identifier: Apache-2.0 */
/* feature/token/token_private.h - what the two kinds share. */
#ifndef FEATURE_TOKEN_TOKEN_PRIVATE_H
#define FEATURE_TOKEN_TOKEN_PRIVATE_H

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdbool.h>

#include "base/arena.h"
#include "base/vec.h"
#include "feature/token/token.h"
#include "feature/vocab.h"

#define TOKEN_TEXT_MAX ((size_t)64 << 20) /* bytes of one text while it is worked on */

/* A piece of the text at work: bytes of token_scratch.text. */
struct token_piece {
    size_t at, n;
    int64_t id; /* an added token; else -1 */
};
typedef VEC(struct token_piece) token_pieces;

/* A symbol of a word; symbols form a list, merged ones drop out. */
struct token_symbol {
    size_t at, n; /* bytes */
    int64_t id;   /* -1: unknown */
    int64_t prev, next;
};

/* Two neighbours that could be merged. Smaller rank first, then further left. */
struct token_pair {
    double rank;
    int64_t left, right;
    size_t n; /* bytes of both, to see whether it is still true */
    int64_t id;
};

struct token_best { /* unigram: the best way to a place */
    float score;
    int64_t from, id;
};

struct token_scratch {
    struct buf text, next; /* pieces lie in `text`; a stage writes into `next` */
    token_pieces pieces, made;
    VEC(struct token_symbol) symbols;
    VEC(struct token_pair) heap;
    VEC(struct token_best) best;
    VEC(int64_t) ids;
    struct buf word;
    VEC(int32_t) codes; /* characters that are being decomposed */
    pcre2_match_data *match;
    pcre2_match_context *limits;
};

struct tokenizer_ops {
    enum rc (*encode)(const void *model, struct token_scratch *s, struct str text,
                      struct err *err);
    void (*destroy)(void *model);
};

struct tokenizer {
    const struct tokenizer_ops *ops;
    void *model;
    int64_t rows;
};

enum rc token_json_load(struct tokenizer *t, const char *text, size_t n, struct err *err);
enum rc token_sp_load(struct tokenizer *t, const uint8_t *bytes, size_t n,
                      struct err *err);

/* Bytes of the character that `s` begins with, 1 for a byte that is no UTF-8; *c is it,
 * or -1. s.n > 0.
 */
size_t token_char(struct str s, int32_t *c);
/* Appends `s`; what is no UTF-8 becomes U+FFFD. */
void token_add_clean(struct buf *to, struct str s);
void token_put_char(struct buf *to, int32_t c);

/* merge.c: merges symbols of s->symbols until `pair` knows none; it gets two neighbours
 * and says rank and id of both as one (false: not to be merged). The text of symbols is
 * at `base`.
 */
typedef bool token_pair_fn(const void *model, const struct token_scratch *s,
                           const char *base, const struct token_symbol *a,
                           const struct token_symbol *b, double *rank, int64_t *id);
void token_merge(const void *model, struct token_scratch *s, const char *base,
                 token_pair_fn *pair);

#endif
