/* SPDX-License-Identifier: Apache-2.0 */
/* data/slots/slots_private.h - what the parts of the reader share.
 *
 *   columns.c  the text that says which columns there are
 *   line.c     a line into slots, by its form
 *   row.c      slots into columns
 *   reader.c   open, next, cursor
 *   look.c     slots of a file against those that are read
 */
#ifndef DATA_SLOTS_SLOTS_PRIVATE_H
#define DATA_SLOTS_SLOTS_PRIVATE_H

#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"
#include "data/csv/csv_private.h"
#include "data/slots/slots.h"

/* What a slot holds of the line at hand; values point into it. */
struct slots_slot {
    const char *name;
    struct str *at; /* [cap], owned */
    size_t n, cap;
};

struct slots_set {
    struct map by_name; /* index plus one */
    VEC(struct slots_slot) list;
    struct arena mem;
    VEC(int) usual; /* by place: the slot of that token of the line before; -1: none */
};
void slots_set_release(struct slots_set *s);
int slots_set_add(struct slots_set *s, struct str name); /* its index, old or new */
int slots_set_find(const struct slots_set *s, struct str name); /* -1: nobody reads it */
bool slots_slot_add(struct slots_slot *s, struct str value);    /* false: no memory */

enum slots_kind {
    SLOTS_ID,
    SLOTS_FLOAT,
    SLOTS_IDS,
    SLOTS_FLOATS,
    SLOTS_PAIR,
    SLOTS_VALUE,
    SLOTS_HEAD,
    SLOTS_TAIL,
    SLOTS_LAST,
    SLOTS_OTHER,
    SLOTS_TEXT,
};

struct slots_column {
    const char *name;
    enum slots_kind kind;
    int slot, weight; /* weight: of SLOTS_PAIR; slot: -1 of SLOTS_VALUE */
    int64_t n;        /* of lists: how many values, 0: any */
    int64_t at;       /* of one value: which; -1: the only one. SLOTS_VALUE: it */
    int64_t part;     /* of lists: which share of `n` values, from 1 on; 0: all */
};
bool slots_kind_is_list(enum slots_kind kind);  /* else one value, or a pair */
bool slots_kind_is_whole(enum slots_kind kind); /* ids; of a pair both are there */

struct slots_columns {
    struct arena mem;
    VEC(struct slots_column) list;
};
void slots_columns_release(struct slots_columns *c);
/* RC_INVAL E1164. */
enum rc slots_columns_parse(const char *text, struct slots_columns *out,
                            struct slots_set *slots, struct err *err) MUST_CHECK;
/* nullable: never. Kids are in `mem`. */
struct type slots_column_type(const struct slots_column *c, struct arena *mem);

/* What is wrong with a line. */
struct slots_fault {
    enum code code;
    struct str at;    /* in the line */
    const char *slot; /* or NULL */
    char what[100];
};

struct slots_format {
    const char *name;
    char sep, inner;          /* between parts, between values of one; 0: one value */
    const char *const *parts; /* their slots, NULL at the end; NULL: tokens slot:value */
    bool rest;                /* the last slot takes all further parts */
    size_t skip;              /* parts in front that are left out */
    bool tokens;              /* behind the parts: tokens slot:value between `sep` */
    size_t least;             /* parts that must be there; 0: all */
};
const struct slots_format *slots_format_find(const char *name); /* NULL: "slots" */
/* Fills the slots of the set; those of other names are left out, or with `all` added to
 * it. False with *fault.
 */
bool slots_line_read(const struct slots_format *f, struct str line, bool all,
                     struct slots_set *slots, struct slots_fault *fault);

/* One row, checked as a whole before a column gets it. */
struct slots_row {
    VEC(int64_t) ids;
    VEC(float) reals;
    VEC(size_t) counts; /* by column: values */
};
void slots_row_release(struct slots_row *r);
bool slots_row_make(struct slots_row *r, const struct slots_columns *c,
                    const struct slots_set *slots, int64_t padding,
                    struct slots_fault *fault);
enum rc slots_row_put(const struct slots_row *r, const struct slots_columns *c,
                      struct batch *b, struct err *err) MUST_CHECK;

#endif
