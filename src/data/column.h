/* SPDX-License-Identifier: Apache-2.0 */
/* data/column.h - one column of a batch, Arrow-shaped.
 *
 * What is where:
 *   fixed width   values[i]
 *   TYPE_STR      bytes text[offsets[i]] .. text[offsets[i+1]]
 *   TYPE_LIST     elements kids[0][offsets[i]] .. [offsets[i+1]]
 *   TYPE_MAP      entries of kids[0] (keys) and kids[1] (values), as a list's
 *   TYPE_STRUCT   row i of every kid
 * offsets[0] is 0. A row whose bit in `valid` is clear is null: a fixed-width value there
 * is 0, a string, list or map empty. valid == NULL: nothing is null.
 *
 * A flat column may be dictionary-encoded: dict != NULL, `values` holds uint32_t codes
 * into dict->values, and offsets and text are NULL. The code of a null is 0, which means
 * nothing. A consumer that remembers something per dictionary entry keeps a dict_ref():
 * only then is the dictionary's memory not used again for another one.
 *
 * Readers of a column use the const pointers; they may point into memory of somebody
 * else (a mapped file). Whoever fills a column uses the functions below, which write
 * into memory that the column owns and keeps across column_clear(), so that after
 * warm-up nothing is allocated. Owned blocks have COLUMN_PAD spare bytes at the end. One
 * thread at a time.
 */
#ifndef DATA_COLUMN_H
#define DATA_COLUMN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "data/type.h"

#define COLUMN_PAD 64

struct column_mem {
    void *p;    /* owned */
    size_t cap; /* usable bytes, without the pad */
};

struct dict;

struct column {
    const struct type *type; /* borrowed: the schema's */
    int64_t n, n_null;
    int64_t cap;            /* rows for which owned memory was reserved */
    const uint8_t *valid;   /* bit i%8 of byte i/8, or NULL */
    const void *values;     /* fixed width, or uint32_t codes */
    const int32_t *offsets; /* [n + 1] */
    const char *text;
    struct dict *dict;   /* shared: one reference is ours; or NULL */
    struct column *kids; /* owned; [type->n_kids] */
    struct column_mem own_valid, own_values, own_offsets, own_text;
};

/* The distinct values of an encoded column, shared by batches. Counting is safe from
 * several threads; the contents only change while the count is one.
 */
struct dict {
    _Atomic int64_t refs; /* use dict_ref, dict_unref */
    struct column values; /* never encoded, no nulls */
    struct type type;     /* that of `values`; flat */
};

struct dict *dict_create(const struct type *flat_type); /* one reference, no entries */
struct dict *dict_ref(struct dict *d);
void dict_unref(struct dict *d); /* NULL is fine */
bool dict_is_shared(struct dict *d);

void column_init(struct column *c, const struct type *type);
void column_release(struct column *c);
/* Empties it, nested ones too; keeps the memory, gives the dictionary back. */
void column_clear(struct column *c);

static inline bool column_is_null(const struct column *c, int64_t i)
{
    return c->valid && !(c->valid[i >> 3] >> (i & 7) & 1);
}
/* Row of a TYPE_STR column, encoded or not; empty for a null. */
struct str column_str(const struct column *c, int64_t i);
static inline uint32_t column_code(const struct column *c, int64_t i)
{
    return ((const uint32_t *)c->values)[i];
}
static inline int32_t column_i32(const struct column *c, int64_t i)
{
    return ((const int32_t *)c->values)[i];
}
static inline int64_t column_i64(const struct column *c, int64_t i)
{
    return ((const int64_t *)c->values)[i];
}
static inline uint32_t column_u32(const struct column *c, int64_t i)
{
    return ((const uint32_t *)c->values)[i];
}
static inline uint64_t column_u64(const struct column *c, int64_t i)
{
    return ((const uint64_t *)c->values)[i];
}
static inline float column_f32(const struct column *c, int64_t i)
{
    return ((const float *)c->values)[i];
}
static inline double column_f64(const struct column *c, int64_t i)
{
    return ((const double *)c->values)[i];
}
static inline bool column_bool(const struct column *c, int64_t i)
{
    return ((const uint8_t *)c->values)[i] != 0;
}

/* Filling. column_reserve() makes room for `more` further rows (values or offsets, and
 * validity once there is a null), column_reserve_text() for further bytes of a TYPE_STR
 * column. RC_NOMEM; RC_INVAL past INT32_MAX rows or bytes. The column is as before then.
 */
enum rc column_reserve(struct column *c, int64_t more, struct err *err) MUST_CHECK;
enum rc column_reserve_text(struct column *c, size_t more, struct err *err) MUST_CHECK;
/* The same for memory that is filled by hand: `bytes` (and the pad) are there afterwards,
 * and so are the first `keep` bytes of what was there before.
 */
enum rc column_mem_reserve(struct column_mem *m, size_t bytes, size_t keep,
                           struct err *err) MUST_CHECK;

/* Allocates the bitmap, all rows so far valid; a no-op when there is one. */
enum rc column_need_valid(struct column *c, struct err *err) MUST_CHECK;

enum rc column_add_null(struct column *c, struct err *err) MUST_CHECK;
enum rc column_add_str(struct column *c, struct str s, struct err *err) MUST_CHECK;
/* Ends a row of a list or map: its elements were added to the kids before. Of a struct:
 * one row was added to every kid before.
 */
enum rc column_add_nested(struct column *c, struct err *err) MUST_CHECK;

/* Behind the inline functions below; the room was reserved. */
static inline void column_put_valid(struct column *c)
{
    if (c->valid)
        ((uint8_t *)c->own_valid.p)[c->n >> 3] |= (uint8_t)(1u << (c->n & 7));
}

#define COLUMN_ADD(name, T)                                                   \
    MUST_CHECK static inline enum rc column_add_##name(struct column *c, T v, \
                                                       struct err *err)       \
    {                                                                         \
        if (UNLIKELY(c->n >= c->cap)) {                                       \
            enum rc rc = column_reserve(c, 1, err);                           \
            if (rc)                                                           \
                return rc;                                                    \
        }                                                                     \
        ((T *)c->own_values.p)[c->n] = v;                                     \
        column_put_valid(c);                                                  \
        c->n++;                                                               \
        return RC_OK;                                                         \
    }
COLUMN_ADD(i32, int32_t)
COLUMN_ADD(i64, int64_t)
COLUMN_ADD(u32, uint32_t)
COLUMN_ADD(u64, uint64_t)
COLUMN_ADD(f32, float)
COLUMN_ADD(f64, double)
COLUMN_ADD(bool, uint8_t) /* 0 or 1 */
#undef COLUMN_ADD

/* Same type, and row by row the same value or both null; it does not matter whether a
 * side is encoded. Floats are the same when their bits are, NaN always equals NaN.
 */
bool column_equal(const struct column *a, const struct column *b);
/* Rows ai of a and bi of b. */
bool column_row_equal(const struct column *a, int64_t ai, const struct column *b,
                      int64_t bi);
/* Row i as JSON: null, numbers, strings, [..] for lists, {"key": ..} for maps and
 * structs. Dates and timestamps are ISO 8601 strings; NaN and infinities the strings
 * "NaN", "Infinity", "-Infinity".
 */
void column_print_json(const struct column *c, int64_t i, struct buf *out);

#endif
