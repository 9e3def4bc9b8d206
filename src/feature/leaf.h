/* SPDX-License-Identifier: Apache-2.0 */
/* feature/leaf.h - one value of a flat column of numbers, encoded or not. */
#ifndef FEATURE_LEAF_H
#define FEATURE_LEAF_H

#include "data/column.h"

static inline bool leaf_is_whole(const struct column *c)
{
    enum type_id id = c->type->id;
    return id == TYPE_I32 || id == TYPE_I64 || id == TYPE_U32;
}

static inline const struct column *leaf_values(const struct column *c, int64_t *i)
{
    if (!c->dict)
        return c;
    *i = column_code(c, *i);
    return &c->dict->values;
}

/* Of a column that is whole. */
static inline int64_t leaf_i64(const struct column *c, int64_t i)
{
    c = leaf_values(c, &i);
    return c->type->id == TYPE_I64   ? column_i64(c, i)
           : c->type->id == TYPE_I32 ? column_i32(c, i)
                                     : (int64_t)column_u32(c, i);
}

static inline double leaf_f64(const struct column *c, int64_t i)
{
    c = leaf_values(c, &i);
    switch (c->type->id) {
    case TYPE_BOOL:
        return column_bool(c, i) ? 1.0 : 0.0;
    case TYPE_I32:
        return (double)column_i32(c, i);
    case TYPE_I64:
        return (double)column_i64(c, i);
    case TYPE_U32:
        return (double)column_u32(c, i);
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
