/* SPDX-License-Identifier: Apache-2.0 */
/* embed/table.h - one embedding table: rows of weights with their optimiser state behind
 * them.
 *
 * A row's first values are a function of (seed, table name, row), worked out when the row
 * is first used in training: a table needs no initial pass, and rows that never occur
 * cost address space only. In a keyed table (see keyed.h) the id of a row stands for the
 * row's number, so that an id starts from the same values wherever it is put.
 */
#ifndef EMBED_TABLE_H
#define EMBED_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "embed/keyed.h"
#include "embed/row_opt.h"
#include "embed/touched.h"
#include "tensor/tensor.h"

#define TABLE_DIM_MAX 1024
#define TABLE_STRIDE_MAX (3 * TABLE_DIM_MAX + 1) /* floats of a row with its state */

enum table_init { TABLE_UNIFORM, TABLE_NORMAL, TABLE_CONST, TABLE_TRUNCATED };

/* Uniform [a, b), normal with mean a and deviation b, constant a; truncated: the normal
 * within [lo, hi].
 */
struct table_values {
    enum table_init init;
    double a, b, lo, hi;
};

struct table_conf {
    const char *name;
    int64_t rows, dim;
    enum dtype type; /* of the weights: DT_F32, DT_F16, DT_BF16; state is always f32 */
    enum table_init init;
    double a, b, lo, hi; /* as in struct table_values */
    bool trainable;
    struct row_opt opt;
    uint64_t seed;
    const char *dir;         /* where to keep it in a file; NULL: in memory */
    struct keyed_conf keyed; /* kind KEYED_NONE: rows have numbers; else `rows` follow */
    /* Of KEYED_GROWING: what ids without a row read in training and outside of it. */
    struct table_values stranger, unknown;
};

struct table {
    struct table_conf conf;
    char *name;     /* owned */
    int64_t stride; /* floats from one row to the next */
    int64_t
        state_at;    /* floats from a row to its state: `dim`, or half of it rounded up */
    float *data;     /* mapped; rows that were never used are zeros */
    uint64_t *used;  /* a bit per row */
    uint64_t stream; /* of the random numbers */
    struct keyed *keyed; /* NULL: rows have numbers */
    /* Ids (or numbers of rows) that training looked up, and those that got or lost a row
     * of KEYED_ZCH; owned; NULL: nobody asks.
     */
    struct touched *touched;
    /* Pages of 2 MiB: bytes from the front that have them, or that need none. */
    size_t settled;
    bool dense;      /* enough rows are used */
    uint64_t looked; /* how often it was asked for that */
};

/* RC_INVAL (sizes, E2301), RC_NOMEM (E2304), RC_IO (E2305). */
enum rc table_create(const struct table_conf *conf, struct table **out,
                     struct err *err) MUST_CHECK;
void table_destroy(struct table *t);

/* Where a row begins; its weights, when they are f32. */
static inline float *table_row(const struct table *t, int64_t row)
{
    return t->data + row * t->stride;
}
static inline float *table_state(const struct table *t, int64_t row)
{
    return table_row(t, row) + t->state_at;
}
static inline bool table_used(const struct table *t, int64_t row)
{
    return t->used[row >> 6] >> (row & 63) & 1;
}
/* The first values of a row, without touching the table, as they would be stored. */
void table_first(const struct table *t, int64_t row, float *out);
/* The same for any values, seed and stream of random numbers; `at` is the row's number or
 * its id. Values are those of f32.
 */
void table_draw(const struct table_values *v, uint64_t seed, uint64_t stream, int64_t at,
                float *out, int64_t dim);
/* Weights of a row that is used, in any type. */
void table_load(const struct table *t, int64_t row, float *out);
void table_store(struct table *t, int64_t row, const float *w); /* to nearest */
/* Halves are rounded up or down by chance, so that steps smaller than half a unit count
 * on average; which way is a function of (seed, table, step, row or id). step > 0.
 */
void table_store_step(struct table *t, int64_t row, const float *w, uint64_t step);
/* Weights and state of a row before its first use, as stored: out[stride]. */
void table_fill(const struct table *t, int64_t row, float *out);
/* Fills weights and state of a row that was not used before. Rows of one word of `used`
 * must not be filled by two threads at once.
 */
void table_use(struct table *t, int64_t row);
/* Once per batch of training, one thread: a large table of which a good part is used gets
 * pages of 2 MiB, a slice at a time. Until then it has small ones, so that a few rows of
 * a table for many cost little memory.
 */
void table_settle(struct table *t);
/* The weights of a row as they are now, used or not. */
void table_get(const struct table *t, int64_t row, float *out);
/* Sets the weights of a row, which is a used one from then on. */
void table_set(struct table *t, int64_t row, const float *weights);
size_t table_bytes(const struct table *t); /* of weights and state, all rows */
/* Memory that `rows` used rows take at most: a row takes the page that it lies in. */
size_t table_reach_bytes(const struct table *t, int64_t rows);
/* The row of an id: the id itself, or what a keyed table says; -1 when it has none. */
int64_t table_find(const struct table *t, int64_t id);

#endif
