/* SPDX-License-Identifier: Apache-2.0 */
/* text/edit_private.h - what the parts of text/edit.h share: a path becomes steps
 * (edit_path.c), steps select places of the tree (edit_select.c), a text or JSON value
 * becomes a node that fits a place (edit_value.c), and edit.c puts it there.
 */
#ifndef TEXT_EDIT_PRIVATE_H
#define TEXT_EDIT_PRIVATE_H

#include "base/vec.h"
#include "text/edit.h"

/* A part of the edit's text and where it stands. */
struct edit_text {
    struct str s;
    struct span at;
    bool exact; /* s are the characters at `at`; else (JSON escapes) only roughly there */
};

enum edit_step_kind { STEP_NAME, STEP_INDEX, STEP_SLICE, STEP_COND };
enum edit_cond_op { COND_GE, COND_LE, COND_GT, COND_LT, COND_EQ };

struct edit_step {
    enum edit_step_kind kind;
    struct edit_text text;       /* the name, or what stands in the brackets */
    int64_t from, to;            /* index in `from`; bounds of a slice */
    bool has_from, has_to;       /* of a slice */
    struct edit_text path, want; /* sides of a condition */
    enum edit_cond_op op;
};

struct edit_steps {
    struct edit_step *at;
    size_t n, cap;
};

/* What a place of the tree holds by its schema. */
enum shape { EDIT_FREE, EDIT_SCALAR, EDIT_LIST, EDIT_DICT, EDIT_MSG };

/* Where a value is, or can be put. */
struct edit_place {
    struct node *parent;           /* map or list; NULL: the place is the root */
    const char *key;               /* in a map; NULL in a list */
    size_t index;                  /* in a list; its length: behind the end */
    const struct msg_def *owner;   /* what the parent map is, NULL when free */
    const struct field_def *field; /* NULL when free */
    enum shape shape;
    const struct msg_def *def; /* EDIT_MSG */
    struct edit_text at;       /* the name or brackets that led here */
};

struct edit_places {
    struct edit_place *at;
    size_t n, cap;
};

/* What a node was before it was changed. */
struct edit_undo {
    struct node *node, before;
};

struct editor {
    struct conf *c;
    struct diags *diags;
    const struct source *src; /* the edit's text */
    enum schema_dialect dialect;
    bool many;     /* a slice or condition was passed: elements are chosen, not named */
    bool removing; /* nothing is made on the way; what is not there need not go */
    VEC(struct edit_undo) undo;
};

/* The n characters at p, which lie in t->s. */
struct edit_text edit_part(const struct edit_text *t, const char *p, size_t n);
struct edit_text edit_trim(const struct edit_text *t);
/* Reports an error of the edit; always RC_FORMAT. */
enum rc edit_fail(struct editor *ed, enum code code, const struct edit_text *at,
                  const char *hint, const char *fmt, ...) PRINTF_LIKE(5, 6);
/* Remembers `n`, a map or list, before its first change. */
void edit_touch(struct editor *ed, struct node *n);
bool edit_is_yaml(const struct editor *ed);

/* edit_path.c */
enum rc edit_parse_path(struct editor *ed, const struct edit_text *path,
                        struct edit_steps *out) MUST_CHECK;

/* edit_select.c: all places that the steps lead to, at least one. Messages on the way are
 * made where they are missing, or with ed->removing passed over.
 */
enum rc edit_select(struct editor *ed, const struct edit_steps *steps,
                    struct edit_places *out) MUST_CHECK;
struct node *place_get(const struct editor *ed, const struct edit_place *p); /* or NULL */
void place_set(struct editor *ed, const struct edit_place *p, struct node *value);
/* edit_cond.c: does the element satisfy the condition? */
enum rc edit_matches(struct editor *ed, const struct edit_place *element,
                     const struct edit_step *s, bool *yes) MUST_CHECK;
/* The value of the condition's field in `list` that is nearest to the wanted one, or
 * NULL.
 */
const char *edit_nearest(struct editor *ed, const struct edit_step *s,
                         const struct node *list);

/* edit_value.c: a node for the place, or NULL with a diagnostic. */
struct node *edit_value_text(struct editor *ed, const struct edit_place *p,
                             const struct edit_text *text);
struct node *edit_value_json(struct editor *ed, const struct edit_place *p,
                             const struct node *json, const struct edit_text *at);

#endif
