/* SPDX-License-Identifier: Apache-2.0 */
/* A tree by codes: the children of code c are branch * c + 1 .. branch * c + branch, so
 * that a leaf's code holds the whole way to it. Nodes lie level by level, each level
 * sorted by code, which puts the children of a node, and the leaves below it, side by
 * side: two numbers say which they are. itree_by_order() makes the codes by halving an
 * order again and again.
 */
#include "recall/itree.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct leaf {
    int64_t code, row;
};

static int by_code(const void *a, const void *b)
{
    const struct leaf *x = a, *y = b;
    return x->code < y->code ? -1 : x->code > y->code;
}

static int64_t level_of(int64_t code, int64_t branch)
{
    int64_t level = 0;
    for (; code > 0; code = (code - 1) / branch)
        level++;
    return level;
}

static enum rc no_memory(int64_t n, struct err *err)
{
    return err_set(err, RC_NOMEM, "no memory for a tree of %jd items", (intmax_t)n);
}

/* Leaves in the order of their codes, all of them on one level. */
static enum rc sort_leaves(const int64_t *codes, int64_t n, int64_t branch,
                           struct leaf **out, int64_t *level, struct err *err)
{
    struct leaf *leaves = mem_try_alloc((size_t)n, sizeof(*leaves));
    if (!leaves)
        return no_memory(n, err);
    *level = 1; /* a root is no item */
    for (int64_t i = 0; i < n; i++) {
        int64_t l = level_of(codes[i], branch);
        *level = l > *level ? l : *level;
    }
    for (int64_t i = 0; i < n; i++) {
        leaves[i] = (struct leaf){.code = codes[i], .row = i};
        for (int64_t l = level_of(codes[i], branch); l < *level; l++)
            leaves[i].code = leaves[i].code * branch + 1;
    }
    qsort(leaves, (size_t)n, sizeof(*leaves), by_code);
    *out = leaves;
    for (int64_t i = 1; i < n; i++)
        if (leaves[i].code == leaves[i - 1].code)
            return err_set(err, RC_INVAL, "items %jd and %jd have one place in the tree",
                           (intmax_t)leaves[i - 1].row, (intmax_t)leaves[i].row);
    return RC_OK;
}

/* How many nodes a level has above one of these codes. */
static int64_t count_parents(const int64_t *codes, int64_t n, int64_t branch)
{
    int64_t count = 0, last = -1;
    for (int64_t i = 0; i < n; i++) {
        int64_t parent = (codes[i] - 1) / branch;
        count += parent != last;
        last = parent;
    }
    return count;
}

/* Codes of all levels, written from the last one up into the end of `codes`. */
static void fill_codes(struct itree *t, const struct leaf *leaves, int64_t n,
                       const int64_t *sizes)
{
    int64_t at = t->n;
    for (int64_t l = t->n_levels - 1; l >= 0; l--) {
        at -= sizes[l];
        t->level_at[l] = at;
    }
    t->level_at[t->n_levels] = t->n;
    for (int64_t i = 0; i < n; i++) {
        t->codes[t->level_at[t->n_levels - 1] + i] = leaves[i].code;
        t->rows[i] = leaves[i].row;
    }
    for (int64_t l = t->n_levels - 2; l >= 0; l--) {
        int64_t to = t->level_at[l], last = -1;
        for (int64_t k = t->level_at[l + 1]; k < t->level_at[l + 2]; k++) {
            int64_t parent = (t->codes[k] - 1) / t->branch;
            if (parent != last)
                t->codes[to++] = last = parent;
        }
    }
}

static void fill_links(struct itree *t)
{
    int64_t first = t->level_at[t->n_levels - 1];
    for (int64_t k = first; k < t->n; k++) {
        t->child_at[k] = t->n;
        t->leaf_from[k] = k - first;
        t->leaf_to[k] = k - first + 1;
    }
    t->child_at[t->n] = t->n;
    t->parent[0] = -1;
    for (int64_t l = t->n_levels - 2; l >= 0; l--) {
        int64_t child = t->level_at[l + 1];
        for (int64_t k = t->level_at[l]; k < t->level_at[l + 1]; k++) {
            t->child_at[k] = child;
            t->leaf_from[k] = t->leaf_from[child];
            while (child < t->level_at[l + 2] &&
                   (t->codes[child] - 1) / t->branch == t->codes[k])
                t->parent[child++] = k;
            t->leaf_to[k] = t->leaf_to[child - 1];
        }
    }
}

enum rc itree_build(const int64_t *codes, int64_t n, int64_t branch, struct itree *out,
                    struct err *err)
{
    struct itree t = {.branch = branch};
    struct leaf *leaves = NULL;
    int64_t sizes[ITREE_LEVELS_MAX], last = 0;
    int64_t *up = NULL;
    enum rc rc = sort_leaves(codes, n, branch, &leaves, &last, err);
    if (!rc && !(up = mem_try_alloc((size_t)n, sizeof(*up))))
        rc = no_memory(n, err);
    t.n_levels = last + 1;
    int64_t count = n;
    for (int64_t i = 0; i < n && !rc; i++)
        up[i] = leaves[i].code;
    for (int64_t l = last; l >= 0 && !rc; l--) {
        sizes[l] = count;
        t.n += count;
        int64_t parents = l ? count_parents(up, count, branch) : 0, to = 0;
        for (int64_t i = 0; l && i < count; i++) {
            int64_t parent = (up[i] - 1) / branch;
            if (to == 0 || up[to - 1] != parent)
                up[to++] = parent;
        }
        count = parents;
    }
    if (!rc) {
        t.codes = mem_try_alloc((size_t)t.n, sizeof(*t.codes));
        t.child_at = mem_try_alloc((size_t)t.n + 1, sizeof(*t.child_at));
        t.parent = mem_try_alloc((size_t)t.n, sizeof(*t.parent));
        t.leaf_from = mem_try_alloc((size_t)t.n, sizeof(*t.leaf_from));
        t.leaf_to = mem_try_alloc((size_t)t.n, sizeof(*t.leaf_to));
        t.rows = mem_try_alloc((size_t)n, sizeof(*t.rows));
        if (!t.codes || !t.child_at || !t.parent || !t.leaf_from || !t.leaf_to || !t.rows)
            rc = no_memory(n, err);
    }
    if (!rc) {
        fill_codes(&t, leaves, n, sizes);
        fill_links(&t);
        *out = t;
    } else {
        itree_release(&t);
    }
    mem_free(leaves);
    mem_free(up);
    return rc;
}

void itree_release(struct itree *t)
{
    mem_free(t->codes);
    mem_free(t->child_at);
    mem_free(t->parent);
    mem_free(t->leaf_from);
    mem_free(t->leaf_to);
    mem_free(t->rows);
    *t = (struct itree){0};
}

/* Places [from, to) of an order below `code`. */
static void cut_order(const int64_t *order, int64_t from, int64_t to, int64_t code,
                      int64_t branch, int64_t *codes)
{
    if (to - from == 1)
        codes[order[from]] = code;
    if (to - from <= 1)
        return;
    for (int64_t i = 0; i < branch; i++) /* the first part is the last child */
        cut_order(order, from + i * (to - from) / branch,
                  from + (i + 1) * (to - from) / branch, branch * code + branch - i,
                  branch, codes);
}

enum rc itree_by_order(const int64_t *order, int64_t n, int64_t branch, struct itree *out,
                       struct err *err)
{
    int64_t *codes = mem_try_alloc((size_t)n, sizeof(*codes));
    if (!codes)
        return no_memory(n, err);
    cut_order(order, 0, n, 0, branch, codes);
    enum rc rc = itree_build(codes, n, branch, out, err);
    mem_free(codes);
    return rc;
}
