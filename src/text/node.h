/* SPDX-License-Identifier: Apache-2.0 */
/* text/node.h - one tree for JSON, YAML and protobuf text format, with source positions.
 *
 * A map keeps its entries in file order and may hold a key more than once (protobuf text
 * format repeats fields that way; the JSON and YAML readers deal with duplicates
 * themselves). Nodes lie in the arena of their struct doc; nobody frees a single node.
 */
#ifndef TEXT_NODE_H
#define TEXT_NODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"
#include "text/source.h"

#define NODE_DEPTH_MAX 100 /* nesting that parsers accept */

enum node_kind {
    NODE_NULL,
    NODE_BOOL,
    NODE_INT,
    NODE_REAL,
    NODE_STR,  /* a quoted string, or a YAML scalar that is nothing else */
    NODE_WORD, /* a bare identifier of protobuf text format: enum value, true, inf, ... */
    NODE_LIST,
    NODE_MAP,
};

struct node;

struct node_entry {
    struct str key;
    struct span key_at;
    struct node *value;
};

struct node {
    enum node_kind kind;
    struct span at; /* a map or list in braces: the whole of it */
    /* Scalars: NODE_STR the bytes it stands for (NUL-terminated, may hold NULs), any
     * other scalar the characters as written.
     */
    struct str text;
    union {
        bool flag; /* NODE_BOOL */
        struct {
            uint64_t mag;
            bool neg;
        } num;       /* NODE_INT: magnitude and sign, so that u64 and i64 both fit */
        double real; /* NODE_REAL */
        struct {
            struct node **at;
            size_t n, cap;
        } list;
        struct {
            struct node_entry *at;
            size_t n, cap;
        } map;
    };
};

/* A parsed file. */
struct doc {
    struct source *src; /* owned */
    struct node *root;  /* in the arena */
    struct arena arena;
};
void doc_release(struct doc *d);

struct node *node_create(struct arena *a, enum node_kind kind, struct span at);
/* Copies s. */
struct node *node_str(struct arena *a, const char *s, size_t n, struct span at);
struct node *node_int(struct arena *a, int64_t v, struct span at);
struct node *node_uint(struct arena *a, uint64_t v, struct span at);
struct node *node_real(struct arena *a, double v, struct span at);
struct node *node_bool(struct arena *a, bool v, struct span at);
struct node *node_clone(struct arena *a, const struct node *n); /* deep */

void node_push(struct arena *a, struct node *list, struct node *item);
/* `key` is copied. Always adds, even when the key is there. */
void node_add(struct arena *a, struct node *map, struct str key, struct span key_at,
              struct node *value);
/* The last entry of that name: what counts when a key was given twice. NULL when absent,
 * or when `map` is NULL or no map.
 */
struct node_entry *node_entry_find(const struct node *map, const char *key);
struct node *node_find(const struct node *map, const char *key);
/* The i-th value of `key`, whether it was repeated or written as a list; NULL behind the
 * last, or when `map` is NULL or no map.
 */
const struct node *node_nth(const struct node *map, struct str key, size_t i);
/* Replaces the value of `key`, or adds it. */
void node_put(struct arena *a, struct node *map, const char *key, struct node *value);
bool node_remove(struct node *map, const char *key); /* every entry of that name */

/* Members of a map whose form is known, such as an answer of our own: the value of `key`
 * when it is of that kind, else `otherwise` (text may be NULL), or NULL.
 */
const char *node_get_text(const struct node *map, const char *key, const char *otherwise);
int64_t node_get_int(const struct node *map, const char *key, int64_t otherwise);
double node_get_num(const struct node *map, const char *key, double otherwise);
bool node_get_bool(const struct node *map, const char *key, bool otherwise);
const struct node *node_get_map(const struct node *map, const char *key);
const struct node *node_get_list(const struct node *map, const char *key);

bool node_is_scalar(const struct node *n);
/* NODE_INT or NODE_REAL as a double; false for anything else. */
bool node_number(const struct node *n, double *out);
/* NODE_INT that fits; false for anything else. */
bool node_i64(const struct node *n, int64_t *out);
bool node_u64(const struct node *n, uint64_t *out);
/* Same shape, keys in the same order, same values; positions and spelling do not count.
 * NaN equals NaN.
 */
bool node_equal(const struct node *a, const struct node *b);
/* "a string", "a list", ... for messages. */
const char *node_kind_name(enum node_kind kind);

#endif
