/* SPDX-License-Identifier: Apache-2.0 */
/* embed/table.h - one embedding table: rows of weights with their optimizer state behind
 * them.
 *
 * A row's initial values are a function of (seed, table name, row), worked out when the row
 * is first used in training: a table needs no initial pass, and rows that never occur
 * cost address space only. In a keyed table (see keyed.h) the id of a row stands for the
 * row's number, so that an id starts from the same values wherever it is put.
 */
#ifndef EMBED_TABLE_H
#define EMBED_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "embed/conf.h"
#include "embed/keyed.h"
#include "embed/touched.h"
#include "tensor/tensor.h"

struct embed_table {
    struct embed_table_conf conf;
    char *name;     /* owned */
    int64_t stride; /* floats from one row to the next */
    /* Floats from a row to its state: `dim`, or half of it rounded up. */
    int64_t state_at;
    float *data;               /* mapped; rows that were never used are zeros */
    uint64_t *used;            /* a bit per row */
    uint64_t stream;           /* of the random numbers */
    struct embed_keyed *keyed; /* NULL: rows have numbers */
    /* Ids (or numbers of rows) that training looked up, and those that got or lost a row
     * of KEYED_ZCH; owned; NULL: nobody asks.
     */
    struct embed_touched *touched;
    /* Pages of 2 MiB: bytes from the front that have them, or that need none. */
    size_t settled;
    bool dense;      /* enough rows are used */
    uint64_t looked; /* how often it was asked for that */
};

/* RC_INVAL (sizes, E2301), RC_NOMEM (E2304), RC_IO (E2305). */
enum rc embed_table_create(const struct embed_table_conf *conf, struct embed_table **out,
                           struct err *err) MUST_CHECK;
void embed_table_destroy(struct embed_table *t);

/* Where a row begins; its weights, when they are f32. */
static inline float *embed_table_row(const struct embed_table *t, int64_t row)
{
    return t->data + row * t->stride;
}
static inline float *embed_table_state(const struct embed_table *t, int64_t row)
{
    return embed_table_row(t, row) + t->state_at;
}
static inline bool embed_table_used(const struct embed_table *t, int64_t row)
{
    return t->used[row >> 6] >> (row & 63) & 1;
}
/* The initial values of a row, without touching the table, as they would be stored. */
void embed_table_initial(const struct embed_table *t, int64_t row, float *out);
/* The same for any values, seed and stream of random numbers; `at` is the row's number or
 * its id. Values are those of f32.
 */
void embed_values_draw(const struct embed_values *v, uint64_t seed, uint64_t stream,
                       int64_t at, float *out, int64_t dim);
/* The same for a row of a table, of which only some columns may be kept: out[conf->dim]. */
void embed_table_draw(const struct embed_table_conf *conf, const struct embed_values *v,
                      uint64_t seed, uint64_t stream, int64_t at, float *out);
/* Weights of a row that is used, in any type. */
void embed_table_load(const struct embed_table *t, int64_t row, float *out);
void embed_table_store(struct embed_table *t, int64_t row,
                       const float *w); /* to nearest */
/* Halves are rounded up or down by chance, so that steps smaller than half a unit count
 * on average; which way is a function of (seed, table, step, row or id). step > 0.
 */
void embed_table_store_step(struct embed_table *t, int64_t row, const float *w,
                            uint64_t step);
/* Weights and state of a row before its first use, as stored: out[stride]. */
void embed_table_fill(const struct embed_table *t, int64_t row, float *out);
/* Fills weights and state of a row that was not used before. Rows of one word of `used`
 * must not be filled by two threads at once.
 */
void embed_table_use(struct embed_table *t, int64_t row);
/* Once per batch of training, one thread: a large table of which a good part is used gets
 * pages of 2 MiB, a slice at a time. Until then it has small ones, so that a few rows of
 * a table for many cost little memory.
 */
void embed_table_settle(struct embed_table *t);
/* The weights of a row as they are now, used or not. */
void embed_table_get(const struct embed_table *t, int64_t row, float *out);
/* Sets the weights of a row, which is a used one from then on. */
void embed_table_set(struct embed_table *t, int64_t row, const float *weights);
size_t
embed_table_bytes(const struct embed_table *t); /* of weights and state, all rows */
/* Memory that `rows` used rows take at most: a row takes the page that it lies in. */
size_t embed_table_reach_bytes(const struct embed_table *t, int64_t rows);
/* The row of an id: the id itself, or what a keyed table says; -1 when it has none. */
int64_t embed_table_find(const struct embed_table *t, int64_t id);

#endif
