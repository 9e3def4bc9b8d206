/* SPDX-License-Identifier: Apache-2.0 */
/* data/type.h - the types of columns, and schemas.
 *
 * A type tells how a value lies in memory (`id`), what it means (`logical`), and, for
 * nested types, what it is made of. Integers of 8 and 16 bits are widened to 32,
 * float16 to float32; decimals are doubles. Types and schemas are built once and then
 * only read; threads may share them.
 */
#ifndef DATA_TYPE_H
#define DATA_TYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

enum type_id {
    TYPE_BOOL, /* one byte, 0 or 1 */
    TYPE_I32,
    TYPE_I64,
    TYPE_U32,
    TYPE_U64,
    TYPE_F32,
    TYPE_F64,
    TYPE_STR,    /* bytes, any length */
    TYPE_LIST,   /* one kid: the element */
    TYPE_MAP,    /* two kids: key and value */
    TYPE_STRUCT, /* any number of named kids */
    TYPE_COUNT
};

enum logical {
    LOGICAL_NONE,
    LOGICAL_BINARY,  /* TYPE_STR whose bytes need not be UTF-8 */
    LOGICAL_DATE,    /* TYPE_I32: days since 1970-01-01 */
    LOGICAL_TIME_MS, /* TYPE_I32: since midnight; the next two TYPE_I64 */
    LOGICAL_TIME_US,
    LOGICAL_TIME_NS,
    LOGICAL_TIMESTAMP_MS, /* TYPE_I64: since 1970-01-01T00:00, no time zone */
    LOGICAL_TIMESTAMP_US,
    LOGICAL_TIMESTAMP_NS,
    LOGICAL_DECIMAL, /* TYPE_F64: already divided by 10^scale */
    LOGICAL_FLOAT16, /* TYPE_F32 that came from 16 bits */
    LOGICAL_UUID,    /* TYPE_STR of 16 bytes */
    LOGICAL_UINT8,   /* TYPE_U32 up to 255, for writers; readers say TYPE_U32 alone */
    LOGICAL_COUNT
};

struct type {
    enum type_id id;
    enum logical logical;
    bool nullable;
    bool utc;                 /* timestamps: an instant rather than a wall clock */
    int32_t precision, scale; /* LOGICAL_DECIMAL */
    struct data_field *kids;  /* [n_kids]; belongs to the schema's arena */
    size_t n_kids;
};

struct data_field {
    const char *name; /* of list and map kids: "element", "key", "value" */
    struct type type;
    /* Of columns of text: who says that it has this type, for messages; NULL: nobody. */
    const char *why;
    bool unseen; /* no value has told the type: all are missing */
};

struct data_schema {
    struct data_field *at; /* [n] */
    size_t n, cap;
    struct arena mem; /* names and kids */
};

static inline struct type type_of(enum type_id id, bool nullable)
{
    return (struct type){.id = id, .nullable = nullable};
}
/* Kids are copied into `mem`. */
struct type type_list(struct arena *mem, struct type element, bool nullable);
struct type type_map(struct arena *mem, struct type key, struct type value,
                     bool nullable);
struct type type_copy(struct arena *mem, const struct type *t); /* deep */
/* Same ids, logical meaning and kids; nullability is not looked at. */
bool type_equal(const struct type *a, const struct type *b);
size_t type_width(enum type_id id); /* bytes of a fixed-width value, else 0 */
bool type_is_nested(enum type_id id);
/* As a person writes it: "list<int64>", "map<string,float>", "timestamp[ms]". */
void type_print(const struct type *t, struct buf *out);
/* What type_print() prints of numbers, texts, lists and maps of them; false when it is
 * something else. Kids are in `mem`.
 */
bool type_parse(struct str text, struct arena *mem, struct type *out);

/* A zeroed struct data_schema is an empty one. */
void data_schema_release(struct data_schema *s);
/* Name and type are copied; the result is the new field, valid until the next call. */
struct data_field *data_schema_add(struct data_schema *s, struct str name,
                                   const struct type *type);
/* `why` is copied; NULL is fine. */
void data_field_explain(struct data_schema *s, struct data_field *f, const char *why);
int64_t data_schema_find(const struct data_schema *s, struct str name); /* index, or -1 */
/* `to` is empty. */
void data_schema_copy(struct data_schema *to, const struct data_schema *from);
/* Names and types. */
bool data_schema_equal(const struct data_schema *a, const struct data_schema *b);
/* One "name: type" per line. */
void data_schema_print(const struct data_schema *s, struct buf *out);

#endif
