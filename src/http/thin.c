/* SPDX-License-Identifier: Apache-2.0 */
#include "http/thin.h"

#include "base/mem.h"

void http_thin_init(struct http_thin *t, size_t points)
{
    size_t most = points / 2 < 2 ? 2 : points / 2;
    *t = (struct http_thin){.most = most + most % 2, .wide = 1};
    t->at = mem_calloc(t->most, sizeof(*t->at));
}

void http_thin_release(struct http_thin *t)
{
    mem_free(t->at);
    *t = (struct http_thin){0};
}

static void thin_join(struct http_thin_stretch *a, const struct http_thin_stretch *b)
{
    if (b->least.value < a->least.value)
        a->least = b->least;
    if (b->greatest.value > a->greatest.value)
        a->greatest = b->greatest;
}

static void thin_halve(struct http_thin *t)
{
    for (size_t i = 0; i < t->n; i += 2) {
        t->at[i / 2] = t->at[i];
        thin_join(&t->at[i / 2], &t->at[i + 1]);
    }
    t->n /= 2;
    t->wide *= 2;
}

void http_thin_add(struct http_thin *t, int64_t step, int64_t time, double value)
{
    struct http_thin_point p = {t->total, step, time, value};
    struct http_thin_stretch one = {p, p};
    if (t->total % t->wide == 0 && t->n == t->most)
        thin_halve(t);
    if (t->total % t->wide == 0)
        t->at[t->n++] = one;
    else
        thin_join(&t->at[t->n - 1], &one);
    t->total++;
}

void http_thin_cut(struct http_thin *t, int64_t step)
{
    size_t before = t->n;
    while (t->n && t->at[t->n - 1].least.step >= step &&
           t->at[t->n - 1].greatest.step >= step)
        t->n--;
    if (t->n) {
        struct http_thin_stretch *s = &t->at[t->n - 1];
        if (s->least.step >= step)
            s->least = s->greatest;
        else if (s->greatest.step >= step)
            s->greatest = s->least;
    }
    if (t->n < before) /* the next one begins a stretch */
        t->total = (int64_t)t->n * t->wide;
}

size_t http_thin_get(const struct http_thin *t, size_t i, struct http_thin_point out[2])
{
    const struct http_thin_stretch *s = &t->at[i];
    bool up = s->least.index <= s->greatest.index;
    out[0] = up ? s->least : s->greatest;
    out[1] = up ? s->greatest : s->least;
    return s->least.index == s->greatest.index ? 1 : 2;
}
