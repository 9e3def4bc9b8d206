/* SPDX-License-Identifier: Apache-2.0 */
/* The best pair of neighbours becomes one symbol, again and again. Pairs wait in a heap;
 * one whose symbols have changed meanwhile is passed over, so that a long word costs
 * n log n.
 */
#include "feature/token/token_private.h"

static bool before(const struct token_pair *a, const struct token_pair *b)
{
    return a->rank < b->rank || (a->rank == b->rank && a->left < b->left);
}

static void token_merge_push(struct token_scratch *s, struct token_pair p)
{
    VEC_PUSH(&s->heap, p);
    size_t i = s->heap.n - 1;
    while (i && before(&p, &s->heap.at[(i - 1) / 2])) {
        s->heap.at[i] = s->heap.at[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    s->heap.at[i] = p;
}

static struct token_pair pop(struct token_scratch *s)
{
    struct token_pair first = s->heap.at[0], last = s->heap.at[--s->heap.n];
    size_t i = 0, n = s->heap.n;
    for (size_t kid = 1; kid < n; kid = 2 * i + 1) {
        if (kid + 1 < n && before(&s->heap.at[kid + 1], &s->heap.at[kid]))
            kid++;
        if (!before(&s->heap.at[kid], &last))
            break;
        s->heap.at[i] = s->heap.at[kid];
        i = kid;
    }
    if (n)
        s->heap.at[i] = last;
    return first;
}

static void consider(const void *model, struct token_scratch *s, const char *base,
                     token_pair_fn *pair, int64_t left)
{
    const struct token_symbol *a = left < 0 ? NULL : &s->symbols.at[left];
    if (!a || a->next < 0)
        return;
    const struct token_symbol *b = &s->symbols.at[a->next];
    struct token_pair p = {.left = left, .right = a->next, .n = a->n + b->n};
    if (pair(model, s, base, a, b, &p.rank, &p.id))
        token_merge_push(s, p);
}

void token_merge(const void *model, struct token_scratch *s, const char *base,
                 token_pair_fn *pair)
{
    s->heap.n = 0;
    for (size_t i = 0; i < s->symbols.n; i++) {
        s->symbols.at[i].prev = (int64_t)i - 1;
        s->symbols.at[i].next = i + 1 < s->symbols.n ? (int64_t)i + 1 : -1;
    }
    for (size_t i = 0; i + 1 < s->symbols.n; i++)
        consider(model, s, base, pair, (int64_t)i);
    while (s->heap.n) {
        struct token_pair p = pop(s);
        struct token_symbol *a = &s->symbols.at[p.left], *b = &s->symbols.at[p.right];
        if (a->next != p.right || a->n + b->n != p.n || !a->n || !b->n)
            continue;
        a->n = p.n;
        a->id = p.id;
        a->next = b->next;
        if (b->next >= 0)
            s->symbols.at[b->next].prev = p.left;
        b->n = 0;
        consider(model, s, base, pair, a->prev);
        consider(model, s, base, pair, p.left);
    }
}
