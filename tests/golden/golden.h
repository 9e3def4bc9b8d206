/* SPDX-License-Identifier: Apache-2.0 */
/* golden/golden.h - reading golden files: JSON maps of arrays of numbers, and comparing
 * with them. A file that does not hold what a test asks for fails the test.
 */
#ifndef GOLDEN_GOLDEN_H
#define GOLDEN_GOLDEN_H

#include "tap.h"
#include "text/json.h"

struct golden {
    struct doc doc;
    struct diags diags;
    struct arena arena; /* of everything below */
};

static inline bool golden_open(struct golden *g, const char *path)
{
    struct err err = {0};
    *g = (struct golden){0};
    bool good = source_open(path, &g->doc.src, &err) == RC_OK &&
                json_parse(&g->doc, &g->diags) == RC_OK;
    if (!good)
        printf("# %s %s\n", path, err.msg);
    CHECK(good);
    return good;
}

static inline void golden_close(struct golden *g)
{
    diags_release(&g->diags);
    doc_release(&g->doc);
    arena_release(&g->arena);
}

static inline const struct node *golden_at(const struct node *map, const char *key)
{
    const struct node *n = node_find(map, key);
    if (!n)
        printf("# the file has no '%s'\n", key);
    CHECK(n != NULL);
    return n;
}

static inline double golden_number(const struct node *map, const char *key)
{
    double v = 0;
    CHECK(node_number(golden_at(map, key), &v));
    return v;
}

struct floats {
    float *at;
    int64_t n;
};
struct ints {
    int64_t *at;
    int64_t n;
};

static inline struct floats golden_floats(struct golden *g, const struct node *list)
{
    struct floats f = {0};
    if (!list || list->kind != NODE_LIST)
        return f;
    f.n = (int64_t)list->list.n;
    f.at = arena_alloc(&g->arena, list->list.n * sizeof(*f.at));
    for (size_t i = 0; i < list->list.n; i++) {
        double v = 0;
        CHECK(node_number(list->list.at[i], &v));
        f.at[i] = (float)v;
    }
    return f;
}

static inline struct ints golden_ints(struct golden *g, const struct node *list)
{
    struct ints f = {0};
    if (!list || list->kind != NODE_LIST)
        return f;
    f.n = (int64_t)list->list.n;
    f.at = arena_alloc(&g->arena, list->list.n * sizeof(*f.at));
    for (size_t i = 0; i < list->list.n; i++)
        CHECK(node_i64(list->list.at[i], &f.at[i]));
    return f;
}

/* Each value differs by at most `tolerance` times the larger of its own size and of the
 * largest value of the array. One line says the worst.
 */
static inline void golden_compare(const char *file, const char *what, const char *name,
                                  const float *got, struct floats want, int64_t n,
                                  double tolerance)
{
    double peak = 0, worst = -1;
    int64_t at = 0;
    if (n != want.n)
        printf("# %s: %s %s: %jd values, the file has %jd\n", file, what, name,
               (intmax_t)n, (intmax_t)want.n);
    CHECK_INT(n, want.n);
    for (int64_t i = 0; i < want.n; i++)
        peak = fmax(peak, fabs((double)want.at[i]));
    for (int64_t i = 0; i < n && i < want.n; i++) {
        double d = fabs((double)got[i] - (double)want.at[i]);
        if (!(d <= worst)) {
            worst = d;
            at = i;
        }
    }
    bool good = worst <= tolerance * peak + 1e-12;
    if (!good)
        printf("# %s: %s %s[%jd]: %.9g, the file has %.9g\n", file, what, name,
               (intmax_t)at, (double)got[at], (double)want.at[at]);
    CHECK(good);
}

#endif
