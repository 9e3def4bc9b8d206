/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "compat/easyrec_private.h"

static const struct span nowhere;

void easyrec_note(struct compat_easyrec *x, const char *fmt, ...)
{
    char text[ERR_MSG_SIZE];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    VEC_PUSH(&x->notes, arena_strdup(x->arena, text));
}

struct node *easyrec_map(struct compat_easyrec *x)
{
    return node_create(x->arena, NODE_MAP, nowhere);
}

void easyrec_put(struct compat_easyrec *x, struct node *map, const char *key,
                 const struct node *value)
{
    if (value)
        node_add(x->arena, map, str_c(key), nowhere, node_clone(x->arena, value));
}

struct node *easyrec_sub(struct compat_easyrec *x, struct node *map, const char *key)
{
    struct node *sub = easyrec_map(x);
    node_add(x->arena, map, str_c(key), nowhere, sub);
    return sub;
}

void easyrec_put_text(struct compat_easyrec *x, struct node *map, const char *key,
                      const char *text)
{
    node_add(x->arena, map, str_c(key), nowhere,
             node_str(x->arena, text, strlen(text), nowhere));
}

void easyrec_put_word(struct compat_easyrec *x, struct node *map, const char *key,
                      const char *word)
{
    struct node *n = node_str(x->arena, word, strlen(word), nowhere);
    n->kind = NODE_WORD;
    node_add(x->arena, map, str_c(key), nowhere, n);
}

void easyrec_put_int(struct compat_easyrec *x, struct node *map, const char *key,
                     int64_t value)
{
    node_add(x->arena, map, str_c(key), nowhere, node_int(x->arena, value, nowhere));
}

const struct node *easyrec_at(const struct node *map, const char *key, size_t i)
{
    return node_nth(map, str_c(key), i);
}

void easyrec_copy(struct compat_easyrec *x, const struct node *from, const char *key,
                  struct node *to, const char *as)
{
    const struct node *v;
    for (size_t i = 0; (v = easyrec_at(from, key, i)) != NULL; i++)
        easyrec_put(x, to, as, v);
}

const char *easyrec_text(const struct node *map, const char *key)
{
    const struct node *v = easyrec_at(map, key, 0);
    return v && (v->kind == NODE_STR || v->kind == NODE_WORD) ? v->text.p : "";
}
