/* SPDX-License-Identifier: Apache-2.0 */
/* Both trees are walked side by side. Fields that occur several times are compared one by
 * one, in their order.
 */
#include "train/changes.h"

#include "base/arena.h"

#define SHOWN_MAX 40

struct walk {
    struct arena arena;
    struct buf *out;
    size_t n, most;
};

static void put_value(const struct node *n, struct buf *out)
{
    if (!n)
        buf_puts(out, "not set");
    else if (n->kind == NODE_MAP || n->kind == NODE_LIST)
        buf_puts(out, n->kind == NODE_MAP ? "{...}" : "[...]");
    else
        buf_printf(out, "%.*s", (int)(n->text.n < SHOWN_MAX ? n->text.n : SHOWN_MAX),
                   n->text.p);
}

static void differ(struct walk *w, const char *path, const struct node *a,
                   const struct node *b)
{
    if (w->n++ >= w->most)
        return;
    buf_printf(w->out, "%s%s: ", w->n > 1 ? "; " : "", path);
    put_value(a, w->out);
    buf_puts(w->out, " -> ");
    put_value(b, w->out);
}

static bool is_first(const struct node *map, size_t at)
{
    for (size_t k = 0; k < at; k++)
        if (str_eq(map->map.at[k].key, map->map.at[at].key))
            return false;
    return true;
}

static void walk_maps(struct walk *w, const char *path, const struct node *a,
                      const struct node *b);

static void walk_key(struct walk *w, const char *path, const struct node *a,
                     const struct node *b, struct str key)
{
    bool many = node_nth(a, key, 1) || node_nth(b, key, 1);
    for (size_t i = 0;; i++) {
        const struct node *x = node_nth(a, key, i), *y = node_nth(b, key, i);
        if (!x && !y)
            return;
        const char *here = arena_printf(&w->arena, "%s%s%.*s", path, path[0] ? "." : "",
                                        (int)key.n, key.p);
        if (many)
            here = arena_printf(&w->arena, "%s[%zu]", here, i);
        if (x && y && x->kind == NODE_MAP && y->kind == NODE_MAP)
            walk_maps(w, here, x, y);
        else if (!x || !y || !node_equal(x, y))
            differ(w, here, x, y);
    }
}

static bool is_place(const char *path, struct str key)
{
    return !path[0] && (str_is(key, "model_dir") || str_is(key, "train_input_path") ||
                        str_is(key, "eval_input_path"));
}

static void walk_maps(struct walk *w, const char *path, const struct node *a,
                      const struct node *b)
{
    for (size_t i = 0; i < a->map.n; i++)
        if (is_first(a, i) && !is_place(path, a->map.at[i].key))
            walk_key(w, path, a, b, a->map.at[i].key);
    for (size_t i = 0; i < b->map.n; i++)
        if (is_first(b, i) && !is_place(path, b->map.at[i].key) &&
            !node_nth(a, b->map.at[i].key, 0))
            walk_key(w, path, a, b, b->map.at[i].key);
}

size_t train_config_changes(const struct node *old, const struct node *now, size_t most,
                            struct buf *out)
{
    struct walk w = {.out = out, .most = most};
    if (old && now && old->kind == NODE_MAP && now->kind == NODE_MAP)
        walk_maps(&w, "", old, now);
    if (w.n > most)
        buf_printf(out, "; and %zu more", w.n - most);
    arena_release(&w.arena);
    return w.n;
}
