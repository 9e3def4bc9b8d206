/* SPDX-License-Identifier: Apache-2.0 */
/* feature/leaf.h - one value of a flat column of numbers, encoded or not. Booleans are 0 and
 * 1, dates and timestamps whole seconds since 1970: what `init` writes for them.
 */
#ifndef FEATURE_LEAF_H
#define FEATURE_LEAF_H

#include "data/column.h"

static inline bool leaf_is_whole(const struct column *c)
{
    enum type_id id = c->type->id;
    return id == TYPE_BOOL || id == TYPE_I32 || id == TYPE_I64 || id == TYPE_U32;
}

static inline bool leaf_is_time(const struct type *t)
{
    return t->logical == LOGICAL_DATE ||
           (t->logical >= LOGICAL_TIMESTAMP_MS && t->logical <= LOGICAL_TIMESTAMP_NS);
}

static inline int64_t leaf_seconds(enum logical l, int64_t v)
{
    switch (l) {
    case LOGICAL_DATE:
        return v * 86400;
    case LOGICAL_TIMESTAMP_MS:
        return v / 1000;
    case LOGICAL_TIMESTAMP_US:
        return v / 1000000;
    case LOGICAL_TIMESTAMP_NS:
        return v / 1000000000;
    default:
        return v;
    }
}

static inline const struct column *leaf_values(const struct column *c, int64_t *i)
{
    if (!c->dict)
        return c;
    *i = column_code(c, *i);
    return &c->dict->values;
}

/* Of a column that is whole, or of numbers without sign that leaf_fits() says fit. */
static inline int64_t leaf_i64(const struct column *c, int64_t i)
{
    c = leaf_values(c, &i);
    int64_t v = c->type->id == TYPE_I64    ? column_i64(c, i)
                : c->type->id == TYPE_I32  ? column_i32(c, i)
                : c->type->id == TYPE_BOOL ? column_bool(c, i)
                : c->type->id == TYPE_U64  ? (int64_t)column_u64(c, i)
                                           : (int64_t)column_u32(c, i);
    return c->type->logical == LOGICAL_NONE ? v : leaf_seconds(c->type->logical, v);
}

/* Of a column of TYPE_U64. */
static inline uint64_t leaf_u64(const struct column *c, int64_t i)
{
    c = leaf_values(c, &i);
    return column_u64(c, i);
}

/* Are all values of a column of TYPE_U64 below 2^63? Most are, and then whole as any other. */
static inline bool leaf_fits(const struct column *c)
{
    const struct column *values = c->dict ? &c->dict->values : c;
    uint64_t all = 0;
    for (int64_t i = 0; i < values->n; i++)
        all |= column_u64(values, i);
    return all <= INT64_MAX;
}

static inline double leaf_f64(const struct column *c, int64_t i)
{
    if (leaf_is_whole(c))
        return (double)leaf_i64(c, i);
    c = leaf_values(c, &i);
    switch (c->type->id) {
    case TYPE_U64:
        return (double)column_u64(c, i);
    case TYPE_F32:
        return (double)column_f32(c, i);
    default:
        return column_f64(c, i);
    }
}

/* Integers go to float32 in one rounding. */
static inline float leaf_f32(const struct column *c, int64_t i)
{
    return leaf_is_whole(c) ? (float)leaf_i64(c, i) : (float)leaf_f64(c, i);
}

#endif
