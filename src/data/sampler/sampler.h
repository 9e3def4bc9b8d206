/* SPDX-License-Identifier: Apache-2.0 */
/* data/sampler/sampler.h - negatives for a batch of positives.
 *
 *     sampler_open(&conf, schema, &s, err)      once: reads the tables
 *     sampler_scratch_create(s)                 one per thread
 *     sampler_run(s, scratch, batch, step, &out, err)
 *
 * A sampler belongs to a stream of batches. What it draws for a batch follows from (seed,
 * step) and the batch alone: nothing has to be stored to go on after a stop, and threads
 * may share a sampler.
 *
 *   negative       num_sample items by weight, none of them in the batch
 *   negative_v2    drawn row by row, none that has a positive edge to the row's user or
 *                  is the row's item
 *   hard_negative  as negative; then each row's items of the hard edges of its user, as
 *                  many as num_hard_sample, in the order of the file
 *   hard_negative_v2   as negative_v2, and hard ones
 *   tdm            for each row its item's ancestors in a tree as positives, and on
 *                  every level negatives by weight: the batch itself becomes longer
 *
 * Draws are with replacement, except for the negatives of one row on one level of a tree.
 * Where all items that can be drawn are excluded, an excluded one is taken: a table with
 * fewer items than a batch has rows still gives negatives.
 */
#ifndef DATA_SAMPLER_SAMPLER_H
#define DATA_SAMPLER_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "data/batch.h"

enum sampler_kind {
#define SAMPLER(id, ...) SAMPLER_##id,
#include "text/pipeline/samplers.def"
#undef SAMPLER
};

/* How often a middle level of a tree is trained when not all are. */
enum sampler_levels { LEVELS_UNIFORM, LEVELS_ARITHMETIC, LEVELS_RECIPROCAL };

/* What it points at is only used during sampler_open(). */
struct sampler_conf {
    enum sampler_kind kind;
    const char *items, *positive_edges, *hard_edges; /* paths, see data/files.h */
    const char *tree_edges;                          /* tdm: leaf, ancestor */
    const char *users;      /* table of the edges' users; NULL: they are not checked */
    char field_delim;       /* of text tables; 0: tab */
    const char *attr_delim; /* of attributes */
    const char *const *attr_fields; /* columns that they stand for */
    size_t n_attr_fields;
    const char *item_id_field, *user_id_field; /* columns of the training data */
    /* Rows have several items each: item_id_field and the columns of attr_fields are lists, or
     * texts that are cut at list_delim. Columns have this prefix, which attr_fields leave out.
     * NULL: a row has one item.
     */
    const char *list_prefix, *list_delim;
    int64_t num_sample, num_hard_sample;
    const uint32_t *layer_num_sample; /* tdm: negatives per level, from the root's 0 on */
    size_t n_layers;
    double remain_ratio; /* tdm: share of the middle levels; 1: all */
    enum sampler_levels levels;
    const char *const *labels; /* tdm: columns that become 1 and 0 */
    size_t n_labels;
    uint64_t seed;
};

struct sampler;
struct sampler_scratch;

/* `data` says which columns batches have, and must outlive the sampler. RC_FORMAT E1901
 * (no such table), E1902 (a row's id or weight), E1903 (an attribute); RC_INVAL E1904 (a
 * column of the training data), E1905 (nothing to draw), E1906 (the tree); RC_NOMEM.
 */
enum rc sampler_open(const struct sampler_conf *conf, const struct data_schema *data,
                     struct sampler **out, struct err *err) MUST_CHECK;
void sampler_close(struct sampler *s); /* NULL is fine */

int64_t sampler_items(const struct sampler *s); /* of the item table */
/* What was odd but could be handled, a line each; "" when nothing was. */
const char *sampler_notes(const struct sampler *s);

struct sampler_scratch *sampler_scratch_create(const struct sampler *s);
void sampler_scratch_destroy(struct sampler_scratch *x); /* NULL is fine */

/* Borrowed until the scratch is used again. */
struct sampled {
    /* The batch given, or of tdm: the originals, positives grouped by original row,
     * negatives alike.
     */
    const struct batch *rows;
    /* All columns of attr_fields that batches have: the items of the batch's rows, then what
     * was drawn for all of them, then hard ones row by row. NULL with tdm.
     */
    const struct batch *items;
    int64_t n_own;          /* items of the batch's rows */
    const int64_t *own_at;  /* [rows->n + 1]: which of them are a row's; NULL: one each */
    int64_t n_common;       /* drawn for all */
    const int64_t *hard_at; /* [rows->n + 1]: a row's among the hard ones; or NULL */
    int64_t n_negatives;    /* tdm: the last of `rows` */
    int64_t unknown;        /* tdm: rows whose item is not in the tree: not expanded */
};

/* RC_INVAL E1904 (an id of the batch), RC_NOMEM. After warm-up nothing is allocated. */
enum rc sampler_run(const struct sampler *s, struct sampler_scratch *x,
                    const struct batch *batch, uint64_t step, struct sampled *out,
                    struct err *err) MUST_CHECK;

#endif
