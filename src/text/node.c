/* SPDX-License-Identifier: Apache-2.0 */
/* Trees. Nodes and their lists lie in the arena of the document and are never freed one
 * by one; a list grows by doubling into the arena. Maps keep the order of the file and
 * are searched from the front: they are as long as people write them. A number keeps the
 * text it was written as.
 */
#include "text/node.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

void doc_release(struct doc *d)
{
    source_close(d->src);
    arena_release(&d->arena);
    *d = (struct doc){0};
}

struct node *node_create(struct arena *a, enum node_kind kind, struct span at)
{
    struct node *n = arena_alloc(a, sizeof(*n));
    n->kind = kind;
    n->at = at;
    return n;
}

struct node *node_str(struct arena *a, const char *s, size_t n, struct span at)
{
    struct node *node = node_create(a, NODE_STR, at);
    node->text = str_of(arena_strndup(a, s, n), n);
    return node;
}

static void set_text(struct arena *a, struct node *n, const char *s)
{
    n->text = str_of(arena_strdup(a, s), strlen(s));
}

struct node *node_int(struct arena *a, int64_t v, struct span at)
{
    struct node *n = node_uint(a, v < 0 ? 0 - (uint64_t)v : (uint64_t)v, at);
    n->num.neg = v < 0;
    if (v < 0) {
        char text[32];
        snprintf(text, sizeof(text), "%" PRId64, v);
        set_text(a, n, text);
    }
    return n;
}

struct node *node_uint(struct arena *a, uint64_t v, struct span at)
{
    struct node *n = node_create(a, NODE_INT, at);
    char text[32];
    n->num.mag = v;
    snprintf(text, sizeof(text), "%" PRIu64, v);
    set_text(a, n, text);
    return n;
}

struct node *node_real(struct arena *a, double v, struct span at)
{
    struct node *n = node_create(a, NODE_REAL, at);
    char text[32];
    n->real = v;
    str_from_f64(v, text);
    set_text(a, n, text);
    return n;
}

struct node *node_bool(struct arena *a, bool v, struct span at)
{
    struct node *n = node_create(a, NODE_BOOL, at);
    n->flag = v;
    set_text(a, n, v ? "true" : "false");
    return n;
}

struct node *node_clone(struct arena *a, const struct node *n)
{
    struct node *c = node_create(a, n->kind, n->at);
    *c = *n;
    if (n->kind == NODE_LIST) {
        c->list.at = NULL;
        c->list.n = c->list.cap = 0;
        for (size_t i = 0; i < n->list.n; i++)
            node_push(a, c, node_clone(a, n->list.at[i]));
    } else if (n->kind == NODE_MAP) {
        c->map.at = NULL;
        c->map.n = c->map.cap = 0;
        for (size_t i = 0; i < n->map.n; i++)
            node_add(a, c, n->map.at[i].key, n->map.at[i].key_at,
                     node_clone(a, n->map.at[i].value));
    } else {
        c->text = str_of(arena_strndup(a, n->text.p, n->text.n), n->text.n);
    }
    return c;
}

void node_push(struct arena *a, struct node *list, struct node *item)
{
    if (list->list.n == list->list.cap) {
        size_t cap = list->list.cap ? list->list.cap * 2 : 4;
        struct node **at = arena_alloc(a, cap * sizeof(*at));
        if (list->list.n)
            memcpy(at, list->list.at, list->list.n * sizeof(*at));
        list->list.at = at;
        list->list.cap = cap;
    }
    list->list.at[list->list.n++] = item;
}

void node_add(struct arena *a, struct node *map, struct str key, struct span key_at,
              struct node *value)
{
    if (map->map.n == map->map.cap) {
        size_t cap = map->map.cap ? map->map.cap * 2 : 4;
        struct node_entry *at = arena_alloc(a, cap * sizeof(*at));
        if (map->map.n)
            memcpy(at, map->map.at, map->map.n * sizeof(*at));
        map->map.at = at;
        map->map.cap = cap;
    }
    map->map.at[map->map.n++] =
        (struct node_entry){.key = str_of(arena_strndup(a, key.p, key.n), key.n),
                            .key_at = key_at,
                            .value = value};
}

struct node_entry *node_entry_find(const struct node *map, const char *key)
{
    if (!map || map->kind != NODE_MAP)
        return NULL;
    struct str want = str_c(key);
    for (size_t i = map->map.n; i-- > 0;)
        if (str_eq(map->map.at[i].key, want))
            return &map->map.at[i];
    return NULL;
}

struct node *node_find(const struct node *map, const char *key)
{
    struct node_entry *e = node_entry_find(map, key);
    return e ? e->value : NULL;
}

const struct node *node_nth(const struct node *map, struct str key, size_t i)
{
    for (size_t k = 0; map && map->kind == NODE_MAP && k < map->map.n; k++) {
        const struct node *v = map->map.at[k].value;
        if (!str_eq(map->map.at[k].key, key))
            continue;
        size_t n = v->kind == NODE_LIST ? v->list.n : 1;
        if (i < n)
            return v->kind == NODE_LIST ? v->list.at[i] : v;
        i -= n;
    }
    return NULL;
}

void node_put(struct arena *a, struct node *map, const char *key, struct node *value)
{
    struct node_entry *e = node_entry_find(map, key);
    if (e) {
        e->value = value;
        e->key_at = value->at;
    } else {
        node_add(a, map, str_c(key), value->at, value);
    }
}

bool node_remove(struct node *map, const char *key)
{
    struct str want = str_c(key);
    size_t kept = 0;
    for (size_t i = 0; i < map->map.n; i++)
        if (!str_eq(map->map.at[i].key, want))
            map->map.at[kept++] = map->map.at[i];
    bool removed = kept != map->map.n;
    map->map.n = kept;
    return removed;
}

const char *node_get_text(const struct node *map, const char *key, const char *otherwise)
{
    const struct node *v = node_find(map, key);
    return v && v->kind == NODE_STR ? v->text.p : otherwise;
}

int64_t node_get_int(const struct node *map, const char *key, int64_t otherwise)
{
    const struct node *found = node_find(map, key);
    int64_t v;
    return found && node_i64(found, &v) ? v : otherwise;
}

double node_get_num(const struct node *map, const char *key, double otherwise)
{
    const struct node *found = node_find(map, key);
    double v;
    return found && node_number(found, &v) ? v : otherwise;
}

bool node_get_bool(const struct node *map, const char *key, bool otherwise)
{
    const struct node *v = node_find(map, key);
    return v && v->kind == NODE_BOOL ? v->flag : otherwise;
}

static const struct node *get_kind(const struct node *map, const char *key,
                                   enum node_kind kind)
{
    const struct node *v = node_find(map, key);
    return v && v->kind == kind ? v : NULL;
}

const struct node *node_get_map(const struct node *map, const char *key)
{
    return get_kind(map, key, NODE_MAP);
}

const struct node *node_get_list(const struct node *map, const char *key)
{
    return get_kind(map, key, NODE_LIST);
}

bool node_is_scalar(const struct node *n)
{
    return n->kind != NODE_LIST && n->kind != NODE_MAP;
}

bool node_number(const struct node *n, double *out)
{
    if (n->kind == NODE_REAL)
        *out = n->real;
    else if (n->kind == NODE_INT)
        *out = n->num.neg ? -(double)n->num.mag : (double)n->num.mag;
    else
        return false;
    return true;
}

bool node_i64(const struct node *n, int64_t *out)
{
    if (n->kind != NODE_INT || n->num.mag > (uint64_t)INT64_MAX + n->num.neg)
        return false;
    *out = n->num.neg ? (int64_t)(0 - n->num.mag) : (int64_t)n->num.mag;
    return true;
}

bool node_u64(const struct node *n, uint64_t *out)
{
    if (n->kind != NODE_INT || (n->num.neg && n->num.mag != 0))
        return false;
    *out = n->num.mag;
    return true;
}

static bool equal_lists(const struct node *a, const struct node *b)
{
    if (a->list.n != b->list.n)
        return false;
    for (size_t i = 0; i < a->list.n; i++)
        if (!node_equal(a->list.at[i], b->list.at[i]))
            return false;
    return true;
}

static bool equal_maps(const struct node *a, const struct node *b)
{
    if (a->map.n != b->map.n)
        return false;
    for (size_t i = 0; i < a->map.n; i++)
        if (!str_eq(a->map.at[i].key, b->map.at[i].key) ||
            !node_equal(a->map.at[i].value, b->map.at[i].value))
            return false;
    return true;
}

bool node_equal(const struct node *a, const struct node *b)
{
    if (a->kind != b->kind)
        return false;
    switch (a->kind) {
    case NODE_NULL:
        return true;
    case NODE_BOOL:
        return a->flag == b->flag;
    case NODE_INT:
        return a->num.mag == b->num.mag && (a->num.neg == b->num.neg || a->num.mag == 0);
    case NODE_REAL:
        return a->real == b->real || (isnan(a->real) && isnan(b->real));
    case NODE_STR:
    case NODE_WORD:
        return str_eq(a->text, b->text);
    case NODE_LIST:
        return equal_lists(a, b);
    case NODE_MAP:
        return equal_maps(a, b);
    }
    return false;
}

const char *node_kind_name(enum node_kind kind)
{
    static const char *const names[] = {
        [NODE_NULL] = "null",     [NODE_BOOL] = "a boolean", [NODE_INT] = "an integer",
        [NODE_REAL] = "a number", [NODE_STR] = "a string",   [NODE_WORD] = "a bare word",
        [NODE_LIST] = "a list",   [NODE_MAP] = "a message",
    };
    return names[kind];
}
