/* SPDX-License-Identifier: Apache-2.0 */
/* data/sampler/sampler_private.h - what the parts of a sampler share. */
#ifndef DATA_SAMPLER_SAMPLER_PRIVATE_H
#define DATA_SAMPLER_SAMPLER_PRIVATE_H

#include "base/vec.h"
#include "data/sampler/edges.h"
#include "data/sampler/sampler.h"

#define SAMPLER_STREAM 0x6e656761 /* of base/rng.h */
#define SAMPLER_TRIES 64          /* draws before the items that follow are looked at */
#define SAMPLER_SCAN 4096         /* so many of them */

/* The items of one level of a tree. */
struct sampler_level {
    int64_t *items; /* [n], owned */
    int64_t n;
    struct alias alias;
};

struct sampler_tree {
    int64_t n_levels; /* the root's is 0 */
    /* [n_levels]; those that are never drawn from are empty. */
    struct sampler_level *levels;
    uint32_t *samples;      /* [n_levels] negatives per row */
    struct edges ancestors; /* by leaf */
    double remain;
    double *chance;     /* [n_levels]: of a middle level to be chosen */
    VEC(size_t) labels; /* columns */
};

struct sampler {
    enum sampler_kind kind;
    const struct data_schema *data;
    struct nodes nodes;
    struct alias alias;
    struct edges positive, hard;
    struct sampler_tree tree;
    size_t item_at, user_at; /* columns of the training data */
    size_t *attr_at;         /* [nodes.schema.n]: column of the training data */
    bool by_user, has_hard;
    /* Rows have lists of items, texts cut at `delim`; see struct sampler_conf. */
    bool lists;
    struct str delim; /* owned */
    int64_t num_sample, num_hard;
    uint64_t seed;
    struct buf notes;
};

/* Memory for numbers that grows. */
struct sampler_list {
    int64_t *at; /* owned */
    int64_t n, cap;
};
/* Room for n in all. RC_NOMEM. */
enum rc list_room(struct sampler_list *l, int64_t n, struct err *err) MUST_CHECK;

struct sampler_scratch {
    const struct sampler *s;
    /* Of the batch: row of the item table or -1, user's id. */
    struct sampler_list rows, keys;
    struct sampler_list drawn; /* rows of the item table */
    struct sampler_list hard_at;
    struct sampler_list own_at; /* of lists: the items of a row */
    struct column ids;          /* of lists: those of all items */
    struct sampler_list
        from; /* tdm: the original row of each row; of lists: of each item */
    struct keymap in_batch;
    struct batch items;  /* of nodes.schema */
    struct batch longer; /* tdm: of the data's schema */
};

/* Rows of the item table of n ids; E1904. */
enum rc sampler_item_rows(const struct sampler *s, struct sampler_scratch *x,
                          const struct column *ids, int64_t n,
                          struct err *err) MUST_CHECK;

/* lists.c: the items of rows that have several */
/* Adds the items of all rows of `from`, one by one; `to` is of their type. With `first` it says
 * in x->own_at and x->from which are whose; else they must be as many. RC_INVAL E1904, RC_NOMEM.
 */
enum rc sampler_flatten(const struct sampler *s, struct sampler_scratch *x,
                        const struct batch *from, size_t column, bool first,
                        struct column *to, struct err *err) MUST_CHECK;

/* tree.c */
enum rc tree_open(struct sampler_tree *t, const struct sampler_conf *conf,
                  struct sampler *s, struct err *err) MUST_CHECK;
void tree_release(struct sampler_tree *t);
enum rc tree_run(const struct sampler *s, struct sampler_scratch *x,
                 const struct batch *b, uint64_t step, struct sampled *out,
                 struct err *err) MUST_CHECK;

#endif
