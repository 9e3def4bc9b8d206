/* SPDX-License-Identifier: Apache-2.0 */
/* text/schema.h - typed schemas for trees: one table per message, written once.
 *
 * A family of messages (pipeline, nni, paddlerec) is described in .def files with the
 * macros below. Each .def is expanded three times: as C structs
 * (text/schema_as_struct.h), as declarations (text/schema_as_decl.h) and as tables
 * (text/schema_as_table.h), so that a reader of a setting writes
 * conf->train_config->num_steps, and a wrong name or type does not compile. In a .def:
 *
 * - MSG(GradScaler, "dynamic loss scaling; on when the message is present")
 * - OPT(FLOAT, init_scale, "65536", "first scale", .min = 0)
 * - END(GradScaler)
 *
 * macro                                what it declares             C members of x
 * -----------------------------------  ---------------------------  ---------------------
 * OPT(TYPE, x, default, doc, ...)      scalar; default: text, or    TYPE x; bool has_x
 *                                      NULL for the zero value
 * REQ(TYPE, x, default, doc, ...)      the same, declared required  TYPE x; bool has_x
 *                                      (not enforced at load)
 * REP(TYPE, x, doc, ...)               repeated scalar              const TYPE *x; n_x
 * CHOICE(Enum, x, default, doc, ...)   enum                         int x; bool has_x
 * CHOICES(Enum, x, doc, ...)           repeated enum                const int *x; n_x
 * SUB(Msg, x, doc, ...)                message                      const struct P_Msg *x
 * SUB_REQ(Msg, x, doc, ...)            message, declared required   const struct P_Msg *x
 * SUBS(Msg, x, doc, ...)               repeated message             P_Msg *const *x; n_x
 * ONE(oneof, Msg, x, doc, ...)         message, member of a oneof   const struct P_Msg *x
 * DICT(TYPE, x, doc, ...)              map from string to scalar    schema_kv_TYPE *x; n_x
 * ANY(x, doc, ...)                     any value, kept as a tree    const struct node *x
 * UNION(x, tag, variants, doc, ...)    message whose kind is told   msg *const *x; n_x
 *                                      by its key `tag`
 * ENUM(Name, doc)                      opens an enum
 * VALUE(Name, WORD, number, doc)       one word of it
 * END_ENUM(Name)                       closes it
 *
 * TYPE is BOOL I32 I64 U32 U64 FLOAT DOUBLE STR. `...` sets further members of struct
 * field_def by name, such as .oneof, .min, .max, .words, .check, .flags. A FLOAT is a
 * double that holds the shortest decimal of the float32 value, so that 0.1 stays 0.1.
 * A message that is absent is NULL; n_x is an int64_t. Every struct starts with
 * `struct msg base`. P is the prefix of the family: struct pc_EasyRecConfig.
 */
#ifndef TEXT_SCHEMA_H
#define TEXT_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "text/diag.h"
#include "text/node.h"

enum field_type {
    FIELD_BOOL,
    FIELD_I32,
    FIELD_I64,
    FIELD_U32,
    FIELD_U64,
    FIELD_FLOAT,
    FIELD_DOUBLE,
    FIELD_STR,
    FIELD_ENUM,
    FIELD_MSG,
    FIELD_ANY,
    FIELD_UNION,
};

enum field_label { LABEL_OPT, LABEL_REQ, LABEL_REP, LABEL_DICT };

enum field_flags {
    FIELD_DEPRECATED = 1,   /* accepted with a warning; `note` says what to use */
    FIELD_IGNORED = 2,      /* accepted with a warning: has no effect; `note` says why */
    FIELD_MANY = 4,         /* UNION: one message or a list of them */
    FIELD_FOLD = 8,         /* words are compared without regard to case */
    FIELD_SECRET = 16,      /* never printed */
    FIELD_ONE_OR_LIST = 32, /* REP: a single scalar stands for a list of one */
};

struct msg_def;

struct enum_value {
    const char *name;
    int number;
    const char *doc;
};

struct enum_def {
    const char *name;
    const char *doc;
    const struct enum_value *values; /* ends with a NULL name */
};

struct schema_variant {
    const char *word; /* value of the tag */
    const struct msg_def *msg;
};

struct field_def {
    const char *name;
    enum field_type type;
    enum field_label label;
    const char *init; /* default as text, NULL: the zero value */
    const char *doc;  /* one line of meaning */
    const struct msg_def *msg;
    const struct enum_def *enums;
    const char *oneof; /* name of the oneof it belongs to, or NULL */
    const char *alias; /* another accepted spelling, or NULL */
    const char *words; /* FIELD_STR: the accepted texts, separated by '|', or NULL */
    double min, max;   /* numbers, checked when min < max; each element of a list */
    const char *note;  /* for FIELD_DEPRECATED and FIELD_IGNORED */
    const char *tag;   /* FIELD_UNION: the key that tells the kind */
    const struct schema_variant *variants; /* FIELD_UNION: ends with a NULL word */
    /* FIELD_STR: NULL when `value` is fine, else what is wrong with it. */
    const char *(*check)(struct str value);
    unsigned flags;
    /* Offsets in the C struct; `has` and `count` are 0 when there is none. */
    size_t at, has, count;
};

enum msg_flags {
    /* Unknown keys are the user's own; one that looks misspelt is a warning. */
    MSG_OPEN = 1,
};

struct msg_def {
    const char *name;
    const char *doc;
    const struct field_def *(*fields)(void); /* ends with a NULL name */
    size_t size;
    const char *title; /* field whose value names an instance: "feature_name"; or NULL */
    unsigned flags;
};

/* What every bound struct starts with. */
struct msg {
    const struct msg_def *def;
    const struct node *node; /* what it was read from */
    const struct msg *parent;
    const char *field; /* its name in the parent; NULL for the root */
    int64_t index;     /* its place in a repeated field, else -1 */
};

struct schema_kv_U64 {
    const char *key;
    uint64_t value;
};
struct schema_kv_FLOAT {
    const char *key;
    double value;
};
struct schema_kv_STR {
    const char *key;
    const char *value;
};

/* How the names and scalars of a file are to be read. */
enum schema_dialect {
    SCHEMA_PROTO,  /* protobuf text format: exact names, enum words, typed scalars */
    SCHEMA_JSON,   /* protobuf JSON: names or lowerCamelCase */
    SCHEMA_YAML,   /* exact names; scalars become strings where a string is wanted */
    SCHEMA_FOLDED, /* YAML whose keys match without regard to case and '_' */
};

/* Checks `root` (a map) against `def` and rewrites it in place into its normal form: each
 * name once, in the schema's spelling; repeated fields as one list; a singular field that
 * was given twice merged or overwritten (a warning); of a oneof only the last member (a
 * warning); scalars of the type that the field declares. All problems go to `diags`; what
 * is wrong is left out of the tree. Normalising twice changes nothing. RC_FORMAT when
 * there was an error.
 */
enum rc schema_normalise(const struct msg_def *def, struct node *root,
                         enum schema_dialect dialect, struct arena *a,
                         struct diags *diags);

/* Fills the C struct of `def` from a normal tree, defaults included. The result and all
 * it points to lie in `a`; strings are borrowed from the tree. `root` must outlive it.
 */
const void *schema_bind(const struct msg_def *def, const struct node *root,
                        struct arena *a);

/* Copies the fields of `m` that `view` names, has_x and n_x too, to the places that
 * `view` states: one C struct for messages that share fields. Fields that `m` lacks, or
 * that have no effect in it, are left as they are.
 */
void schema_view(const struct msg *m, const struct field_def *view, size_t n, void *out);

/* NULL when there is none. `name` in the schema's spelling or an alias. */
const struct field_def *schema_field(const struct msg_def *def, const char *name);
/* The member of `oneof` that is set, or NULL; *out is its message (may be NULL). */
const struct field_def *schema_oneof(const struct msg *m, const char *oneof,
                                     const struct msg **out);
const struct enum_value *schema_enum_word(const struct enum_def *e, struct str word);
const struct enum_value *schema_enum_number(const struct enum_def *e, int64_t number);
const char *schema_type_name(const struct field_def *f); /* "uint32", "MLP", ... */

/* Where `m` stands, for people: "id_feature 'uid', feature_configs[3]". */
const char *schema_where(const struct msg *m, struct arena *a);
/* The span of field `name` of `m` (its last value), or of `m` itself when it is not set.
 */
struct span schema_span(const struct msg *m, const char *name);
/* A diagnostic about field `name` of `m` (NULL: about m itself), its place filled in. */
struct diag *schema_report(struct diags *d, enum severity severity, enum code code,
                           const struct msg *m, const char *name, const char *fmt, ...)
    PRINTF_LIKE(6, 7);

/* All messages and enums of a family, for `explain` and the reference pages. */
struct schema_family {
    const char *name;                    /* "pipeline" */
    const char *title;                   /* "TorchEasyRec pipeline.config" */
    const struct msg_def *const *msgs;   /* ends with NULL, the root first */
    const struct enum_def *const *enums; /* ends with NULL */
};

#endif
