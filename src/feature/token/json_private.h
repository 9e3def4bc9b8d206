/* SPDX-License-Identifier: Apache-2.0 */
/* feature/token/json_private.h - a tokenizer.json, taken apart.
 *
 * A text goes through stages: added tokens that are looked for in the raw text, the
 * normalizer, added tokens of the normalized text, the pre-tokenizer. Each turns pieces
 * into pieces. What is left is cut by the merges of the BPE model.
 */
#ifndef FEATURE_TOKEN_JSON_PRIVATE_H
#define FEATURE_TOKEN_JSON_PRIVATE_H

#include "feature/token/token_private.h"
#include "text/node.h"

enum split_way {
    SPLIT_REMOVED,
    SPLIT_ISOLATED,
    SPLIT_WITH_PREVIOUS,
    SPLIT_WITH_NEXT,
    SPLIT_CONTIGUOUS,
};

struct stage {
    /* One piece of s->text into pieces of s->next (stage_emit). */
    enum rc (*run)(const struct stage *st, struct token_scratch *s, struct str in,
                   bool first, struct err *err);
    int unicode_form; /* flags of utf8proc */
    struct str a, b;  /* replace a by b; prepend a */
    bool left, right; /* strip; prefix: always / only before the first piece */
    pcre2_code *regex;
    enum split_way way;
    bool invert;
};
typedef VEC(struct stage) stages;

struct added_token {
    struct str text;
    int64_t id;
    bool single_word, lstrip, rstrip;
};

/* Tokens by their first byte, the longest first. */
struct added {
    struct added_token *at;
    size_t n;
    uint32_t first[257];
};

struct bpe_merge {
    uint64_t pair; /* ids of both; UINT64_MAX: free */
    uint32_t rank, id;
};

struct bpe {
    struct arena mem;
    struct vocab vocab;
    struct bpe_merge *merges; /* [n_slots], a power of two */
    size_t n_slots;
    int64_t unk; /* -1: unknown characters are left out */
    bool fuse_unk, byte_fallback, ignore_merges;
    int64_t bytes[256]; /* ids of <0x00> ..., or -1 */
    struct str prefix, suffix;
    stages normal, split;
    struct added raw, normalized;
    int64_t cut; /* truncation: tokens, 0: none */
    bool cut_left;
};

/* json_stage.c */
void stage_emit(struct token_scratch *s, struct str piece);
enum rc stage_normalizers(struct bpe *m, const struct node *n, struct err *err);
enum rc stage_splitters(struct bpe *m, const struct node *n, struct err *err);
enum rc stages_run(const stages *all, struct token_scratch *s, struct err *err);
void stages_release(stages *all);
/* json_regex.c */
enum rc stage_regex(struct stage *st, struct str pattern, struct err *err);
enum rc stage_split(const struct stage *st, struct token_scratch *s, struct str in,
                    bool first, struct err *err);
enum rc stage_replace_regex(const struct stage *st, struct token_scratch *s,
                            struct str in, bool first, struct err *err);
/* json_added.c */
void added_build(struct added *a, struct added_token *list, size_t n, struct arena *mem);
void added_run(const struct added *a, struct token_scratch *s);
/* json_encode.c */
extern const struct tokenizer_ops token_json_ops;

#endif
