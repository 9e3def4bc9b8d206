/* SPDX-License-Identifier: Apache-2.0 */
/* embed/conf.h - what tables and their uses are, whoever keeps them. */
#ifndef EMBED_CONF_H
#define EMBED_CONF_H

#include <stdbool.h>
#include <stdint.h>

#include "embed/filter.h"
#include "embed/row_opt.h"
#include "tensor/tensor.h"

/* --- ids that own rows, see keyed.h --- */

#define EMBED_IDS_MAX ((int64_t)INT32_MAX - 1)

enum embed_keyed_kind { KEYED_NONE, KEYED_ZCH, KEYED_GROWING };
/* What makes an id valuable. */
enum embed_keyed_worth {
    WORTH_COUNT,        /* how often it occurred */
    WORTH_RECENT,       /* when it last did */
    WORTH_COUNT_BY_AGE, /* count / age^decay; KEYED_ZCH */
    WORTH_ALL           /* nobody goes: new ids are refused; KEYED_GROWING */
};

struct embed_keyed_conf {
    enum embed_keyed_kind kind;
    int64_t capacity; /* ids with a row */
    enum embed_keyed_worth worth;
    double decay;               /* KEYED_ZCH: power of the age */
    int64_t interval;           /* KEYED_ZCH: batches between two rounds */
    struct embed_filter filter; /* KEYED_ZCH: which counts take part in a round */
    int64_t bucket;             /* KEYED_GROWING: ids that compete for a place */
    int64_t admit; /* KEYED_GROWING: occurrences before it gets a row; 0: none */
    int64_t counters, counter_bucket; /* ids that are counted towards `admit` at once */
    uint64_t seed, stream;            /* of the random filter */
};

/* Rows that a table of this kind has: those of ids, then those without. */
int64_t embed_keyed_rows(const struct embed_keyed_conf *conf);

/* --- tables --- */

#define EMBED_DIM_MAX 1024
#define EMBED_STRIDE_MAX (3 * EMBED_DIM_MAX + 1) /* floats of a row with its state */

enum embed_init { EMBED_UNIFORM, EMBED_NORMAL, EMBED_CONST, EMBED_TRUNCATED };

/* Uniform [a, b), normal with mean a and deviation b, constant a; truncated: the normal
 * within [lo, hi].
 */
struct embed_values {
    enum embed_init init;
    double a, b, lo, hi;
};

/* Some columns of a wider table: initial values and rounding are those of the same columns
 * there, so that the parts of a row are what the whole row would be.
 */
struct embed_cut {
    const char *of;     /* the wider table's name; NULL: all columns */
    int64_t first, dim; /* the first column; columns of the wider table */
};

struct embed_table_conf {
    const char *name;
    int64_t rows, dim;
    enum dtype type; /* of the weights: DT_F32, DT_F16, DT_BF16; state is always f32 */
    enum embed_init init;
    double a, b, lo, hi; /* as in struct embed_values */
    bool trainable;
    struct embed_row_opt opt;
    uint64_t seed;
    const char *dir; /* where to keep it in a file; NULL: in memory */
    /* Kind KEYED_NONE: rows have numbers; else `rows` follow from it. */
    struct embed_keyed_conf keyed;
    /* Of KEYED_GROWING: what ids without a row read in training and outside of it. */
    struct embed_values stranger, unknown;
    struct embed_cut cut; /* of numbered rows, with an optimizer of single weights */
};

/* Which stream of random numbers its initial values come from: a hash of its name, or of
 * the table's that it is cut from.
 */
uint64_t embed_table_stream(const struct embed_table_conf *conf);
/* Floats of a row with its state, and from the row to its state: `dim`, or half of it
 * rounded up.
 */
int64_t embed_table_stride(const struct embed_table_conf *conf);
int64_t embed_table_state_at(const struct embed_table_conf *conf);

/* --- slots: uses of a table --- */

enum embed_pooling { EMBED_SUM, EMBED_MEAN };

/* Ids of one slot for the current batch; all borrowed. Row r has ids[offsets[r]] up to
 * ids[offsets[r + 1]]; without offsets exactly ids[r]. A negative id is skipped.
 */
struct embed_slot_ids {
    const int64_t *ids;
    const int64_t *offsets; /* [rows + 1] or NULL */
    const float *weights;   /* one per id, or NULL */
    int64_t rows;
};

struct embed_slot_conf {
    const char *feature; /* for messages */
    int table;           /* from lookup_add_table() */
    enum embed_pooling pooling;
    int output; /* which of the views given to lookup_forward() */
    int64_t col;
    float max_gradient; /* > 0: gradients of the output are clamped to +- it first */
    /* Mean pooling hands each id the gradient that a sum would. */
    bool sum_gradient;
};

#endif
