/* SPDX-License-Identifier: Apache-2.0 */
/* Aliases are copies: whoever rewrites one place of a tree must not change another. The
 * copies of a file are bounded, in nodes and in bytes, before they are made.
 */
#include <string.h>

#include "text/yaml_private.h"

struct weight {
    size_t nodes, bytes;
    unsigned depth; /* lists and maps inside each other */
};

/* Stops counting beyond the bound. */
static void weigh(const struct node *n, unsigned depth, struct weight *w)
{
    w->nodes++;
    w->bytes += n->text.n;
    if (node_is_scalar(n) || w->nodes > YAML_EXPANDED_MAX)
        return;
    if (++depth > w->depth)
        w->depth = depth;
    if (n->kind == NODE_LIST)
        for (size_t i = 0; i < n->list.n; i++)
            weigh(n->list.at[i], depth, w);
    else
        for (size_t i = 0; i < n->map.n; i++) {
            w->bytes += n->map.at[i].key.n;
            weigh(n->map.at[i].value, depth, w);
        }
}

static struct node *yaml_alias_refuse(struct yaml *y, enum code code, struct span at,
                                      const char *fmt, const char *name)
{
    diag_add(y->diags, DIAG_ERROR, code, at, "alias '*%s' %s", name, fmt);
    return NULL;
}

struct node *yaml_alias(struct yaml *y, const char *name, struct span at)
{
    const struct map_entry *e = map_find(&y->anchors, str_c(name));
    if (!e)
        return yaml_alias_refuse(y, E0103, at, "has no anchor before it", name);
    if (!e->value)
        return yaml_alias_refuse(y, E0109, at, "stands inside what it refers to", name);
    struct weight w = {0};
    weigh(e->value, 0, &w);
    if (w.nodes > YAML_EXPANDED_MAX - y->expanded ||
        w.bytes > SOURCE_MAX - y->expanded_bytes)
        return yaml_alias_refuse(y, E0109, at, "makes the file expand without bound",
                                 name);
    if (y->depth + w.depth > NODE_DEPTH_MAX)
        return yaml_alias_refuse(y, E0107, at, "nests the file more than 100 levels deep",
                                 name);
    y->expanded += w.nodes;
    y->expanded_bytes += w.bytes;
    return node_clone(&y->doc->arena, e->value);
}

/* Adds the entries of `from` whose keys are not in `to` yet. */
static void add_missing(struct yaml *y, struct node *to, struct keys *keys,
                        const struct node *from)
{
    for (size_t i = 0; i < from->map.n; i++) {
        const struct node_entry *e = &from->map.at[i];
        if (!keys_note(keys, to, e->key))
            node_add(&y->doc->arena, to, e->key, e->key_at, e->value);
    }
}

void yaml_merge(struct yaml *y, struct yaml_frame *f)
{
    struct arena *a = &y->doc->arena;
    struct node *merged = node_create(a, NODE_MAP, f->node->at);
    struct node *whole = node_create(a, NODE_MAP, f->node->at);
    struct keys keys = {0};
    for (size_t i = 0; i < f->merges->list.n; i++)
        add_missing(y, merged, &keys, f->merges->list.at[i]);
    keys_release(&keys);
    for (size_t i = 0; i < merged->map.n; i++) {
        const struct node_entry *e = &merged->map.at[i];
        if (!keys_find(&f->keys, f->node, e->key))
            node_add(a, whole, e->key, e->key_at, e->value);
    }
    for (size_t i = 0; i < f->node->map.n; i++) {
        const struct node_entry *e = &f->node->map.at[i];
        node_add(a, whole, e->key, e->key_at, e->value);
    }
    f->node->map = whole->map;
}
