/* SPDX-License-Identifier: Apache-2.0 */
/* feature/token/sp_private.h - a model of sentencepiece, taken apart. */
#ifndef FEATURE_TOKEN_SP_PRIVATE_H
#define FEATURE_TOKEN_SP_PRIVATE_H

#include "feature/token/token_private.h"

enum sp_type {
    SP_NORMAL = 1,
    SP_UNKNOWN = 2,
    SP_CONTROL = 3,
    SP_USER = 4, /* found in any text, never cut */
    SP_UNUSED = 5,
    SP_BYTE = 6,
};

enum sp_model { SP_UNIGRAM = 1, SP_BPE = 2 };

struct sp_piece {
    struct str text;
    float score;
    enum sp_type type;
};

/* A tree of bytes; kids of a node form a list. */
struct sp_node {
    uint32_t kid, next; /* 0: none */
    int32_t id;         /* -1: no piece ends here */
    uint8_t byte;
};

struct sp {
    struct arena mem;
    struct sp_piece *at; /* [n], ids are places */
    size_t n;
    enum sp_model model;
    bool byte_fallback, blank_behind;
    bool dummy_prefix, squeeze, escape; /* the normalizer */
    const uint32_t *trie;               /* its double array, [n_trie] */
    size_t n_trie;
    struct str pool; /* what it replaces by, NUL-terminated texts */
    struct vocab vocab;
    VEC(struct sp_node) tree;
    uint32_t root[256];
    bool has_user;
    int64_t unk, bytes[256];
    float min_score, max_score;
};

/* sp_load.c: the kid of node (0: the root) for a byte; 0 when there is none. */
uint32_t sp_step(const struct sp *m, uint32_t node, uint8_t byte);
/* sp_normal.c: `in`, which is UTF-8, to `out` as the model wants to see it. */
void sp_normalize(const struct sp *m, struct str in, struct buf *out);
/* Bytes of the longest user-defined piece that `s` begins with; 0: none. */
size_t sp_user_piece(const struct sp *m, struct str s);
/* sp_encode.c */
extern const struct tokenizer_ops token_sp_ops;

#endif
