/* SPDX-License-Identifier: Apache-2.0 */
/* embed/table.h - one embedding table: rows of weights with their optimiser state behind
 * them.
 *
 * A row's first values are a function of (seed, table name, row), worked out when the row
 * is first used in training: a table needs no initial pass, and rows that never occur
 * cost address space only.
 */
#ifndef EMBED_TABLE_H
#define EMBED_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "embed/row_opt.h"

enum table_init { TABLE_UNIFORM, TABLE_NORMAL, TABLE_CONST };

struct table_conf {
    const char *name;
    int64_t rows, dim;
    enum table_init init;
    double a, b; /* uniform [a, b), normal mean a deviation b, constant a */
    bool trainable;
    struct row_opt opt;
    uint64_t seed;
};

struct table {
    struct table_conf conf;
    char *name;      /* owned */
    int64_t stride;  /* floats from one row to the next */
    float *data;     /* mapped; rows that were never used are zeros */
    uint64_t *used;  /* a bit per row */
    uint64_t stream; /* of the random numbers */
};

/* RC_INVAL (sizes), RC_NOMEM. */
enum rc table_create(const struct table_conf *conf, struct table **out,
                     struct err *err) MUST_CHECK;
void table_destroy(struct table *t);

static inline float *table_row(const struct table *t, int64_t row)
{
    return t->data + row * t->stride;
}
static inline bool table_used(const struct table *t, int64_t row)
{
    return t->used[row >> 6] >> (row & 63) & 1;
}
/* The first values of a row, without touching the table. */
void table_first(const struct table *t, int64_t row, float *out);
/* Fills weights and state of a row that was not used before. Rows of one word of `used`
 * must not be filled by two threads at once.
 */
void table_use(struct table *t, int64_t row);
size_t table_bytes(const struct table *t); /* of weights and state, all rows */

#endif
