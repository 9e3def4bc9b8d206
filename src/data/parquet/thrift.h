/* SPDX-License-Identifier: Apache-2.0 */
/* data/parquet/thrift.h - the Thrift compact protocol, as far as Parquet needs it.
 *
 * Reading never runs past the end of the bytes. The first mistake is remembered and
 * every later call returns nothing, so that callers check thrift_failed() once.
 *
 *     struct thrift t;
 *     int64_t n = 0;
 *     ...
 *     struct thrift_struct s = thrift_struct_begin(&t);
 *     for (int id; (id = thrift_field(&t, &s)) > 0;)
 *         switch (id) {
 *         case 1: n = thrift_i64(&t, &s); break;
 *         default: thrift_skip(&t, s.type);
 *         }
 */
#ifndef DATA_PARQUET_THRIFT_H
#define DATA_PARQUET_THRIFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

#define THRIFT_DEPTH_MAX 32

enum thrift_type {
    THRIFT_STOP = 0,
    THRIFT_TRUE = 1,
    THRIFT_FALSE = 2,
    THRIFT_I8 = 3,
    THRIFT_I16 = 4,
    THRIFT_I32 = 5,
    THRIFT_I64 = 6,
    THRIFT_DOUBLE = 7,
    THRIFT_BINARY = 8,
    THRIFT_LIST = 9,
    THRIFT_SET = 10,
    THRIFT_MAP = 11,
    THRIFT_STRUCT = 12,
    THRIFT_UUID = 13,
};

struct thrift {
    const uint8_t *start, *p, *end; /* borrowed */
    int depth;
    const char *failed; /* what was wrong first, or NULL */
};

struct thrift_struct {
    int32_t last_id;
    enum thrift_type type; /* of the field that thrift_field() returned */
};

void thrift_init(struct thrift *t, const void *p, size_t n);
static inline bool thrift_failed(const struct thrift *t)
{
    return t->failed != NULL;
}
/* RC_OK, or RC_FORMAT with what was wrong and at which byte (counted from `base`). */
enum rc thrift_check(const struct thrift *t, uint64_t base, struct err *err) MUST_CHECK;

struct thrift_struct thrift_struct_begin(struct thrift *t);
/* The id of the next field, 0 at the end of the struct or after a mistake. The caller
 * reads or skips the field before the next call.
 */
int thrift_field(struct thrift *t, struct thrift_struct *s);

/* Each fails when the field is of another type. */
bool thrift_bool(struct thrift *t, const struct thrift_struct *s);
int64_t thrift_i64(struct thrift *t, const struct thrift_struct *s); /* I8 to I64 */
int32_t thrift_i32(struct thrift *t, const struct thrift_struct *s); /* and in range */
struct str thrift_binary(struct thrift *t, const struct thrift_struct *s);
/* Number of elements, at most one per byte left; fails when they are not of `want`. */
size_t thrift_list(struct thrift *t, const struct thrift_struct *s,
                   enum thrift_type want);
/* Inside of a list. */
int64_t thrift_item_i64(struct thrift *t);
bool thrift_item_bool(struct thrift *t);
struct str thrift_item_binary(struct thrift *t);
/* A nested struct: begin with `thrift_enter`, leave after its last field. Of a field that
 * is no struct, it fails.
 */
struct thrift_struct thrift_enter(struct thrift *t, const struct thrift_struct *s);
void thrift_skip(struct thrift *t, enum thrift_type type);

/* Writing; the buffer remembers when it is full. */
struct thrift_out {
    struct buf *buf;
    int32_t last_id[THRIFT_DEPTH_MAX];
    int depth;
};

void thrift_out_init(struct thrift_out *o, struct buf *buf);
void thrift_put_bool(struct thrift_out *o, int id, bool v);
void thrift_put_i8(struct thrift_out *o, int id, int8_t v);
void thrift_put_i32(struct thrift_out *o, int id, int32_t v);
void thrift_put_i64(struct thrift_out *o, int id, int64_t v);
void thrift_put_binary(struct thrift_out *o, int id, struct str s);
void thrift_put_list(struct thrift_out *o, int id, enum thrift_type of, size_t n);
void thrift_put_item_i64(struct thrift_out *o, int64_t v); /* also I32 */
void thrift_put_item_bool(struct thrift_out *o, bool v);
void thrift_put_item_binary(struct thrift_out *o, struct str s);
/* id 0: an element of a list, or the outermost struct. */
void thrift_put_struct(struct thrift_out *o, int id);
void thrift_put_end(struct thrift_out *o);

#endif
