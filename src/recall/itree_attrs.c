/* SPDX-License-Identifier: Apache-2.0 */
/* Values are numbered in their order once; a node's items are then numbers that stand
 * side by side, which are sorted to find the most frequent. Over a level that is as much
 * work as sorting all items.
 */
#include "recall/itree_attrs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "data/rows.h"

#define NODE_GRAIN 64

static int compare_values(const void *a, const void *b, void *arg)
{
    const struct column *c = arg;
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    if (c->type->id == TYPE_STR) {
        struct str s = column_str(c, x), t = column_str(c, y);
        int order = memcmp(s.p ? s.p : "", t.p ? t.p : "", s.n < t.n ? s.n : t.n);
        if (order || s.n != t.n)
            return order ? order : s.n < t.n ? -1 : 1;
    } else if (c->type->id == TYPE_I64) {
        int64_t u = column_i64(c, x), v = column_i64(c, y);
        if (u != v)
            return u < v ? -1 : 1;
    } else {
        double u = column_number(c, x), v = column_number(c, y);
        if (u < v || v < u)
            return u < v ? -1 : 1;
    }
    return x < y ? -1 : x > y;
}

static bool same_value(const struct column *c, int64_t x, int64_t y)
{
    return column_row_equal(c, x, c, y);
}

struct modes {
    const struct itree *t;
    int32_t *ranks; /* [leaves]: number of the value of leaf k; -1: none */
    int32_t *room;  /* [leaves] of a level's nodes, to sort in */
    int64_t *first; /* [ranks]: an item that has the value */
    int64_t *rows;
    int64_t level_from;
};

static int by_rank(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return x < y ? -1 : x > y;
}

/* The most frequent of n ranks, which are put in order; -1 when there is none. */
static int32_t most_frequent(int32_t *ranks, int64_t n)
{
    int32_t best = -1;
    int64_t most = 0, run = 0;
    qsort(ranks, (size_t)n, sizeof(*ranks), by_rank);
    for (int64_t i = 0; i < n; i++) {
        run = i && ranks[i] == ranks[i - 1] ? run + 1 : 1;
        if (ranks[i] >= 0 && run > most) {
            most = run;
            best = ranks[i];
        }
    }
    return best;
}

static void node_modes(void *arg, int64_t begin, int64_t end, int64_t chunk)
{
    struct modes *m = arg;
    for (int64_t k = m->level_from + begin; k < m->level_from + end; k++) {
        int64_t from = m->t->leaf_from[k], n = m->t->leaf_to[k] - from;
        memcpy(m->room + from, m->ranks + from, (size_t)n * sizeof(*m->room));
        int32_t best = most_frequent(m->room + from, n);
        m->rows[k] = best < 0 ? -1 : m->first[best];
    }
}

/* Numbers the values in their order. */
static enum rc number_values(struct modes *m, const struct column *c, struct err *err)
{
    int64_t n = itree_leaves(m->t), n_ranks = 0, filled = 0;
    int64_t *order = mem_try_alloc((size_t)n, sizeof(*order));
    int32_t *rank_of = mem_try_alloc((size_t)n, sizeof(*rank_of)); /* by item */
    m->ranks = mem_try_alloc((size_t)n, sizeof(*m->ranks));
    m->room = mem_try_alloc((size_t)n, sizeof(*m->room));
    m->first = mem_try_alloc((size_t)n, sizeof(*m->first));
    enum rc rc = RC_OK;
    if (!order || !rank_of || !m->ranks || !m->room || !m->first)
        rc = err_set(err, RC_NOMEM, "no memory for the attributes of %jd items",
                     (intmax_t)n);
    for (int64_t i = 0; i < n && !rc; i++) {
        rank_of[i] = -1;
        if (!column_is_null(c, i) && (c->type->id != TYPE_STR || column_str(c, i).n))
            order[filled++] = i;
    }
    if (!rc)
        qsort_r(order, (size_t)filled, sizeof(*order), compare_values,
                (void *)(uintptr_t)c);
    for (int64_t i = 0; i < filled && !rc; i++) {
        if (i == 0 || !same_value(c, order[i - 1], order[i]))
            m->first[n_ranks++] = order[i];
        rank_of[order[i]] = (int32_t)(n_ranks - 1);
    }
    for (int64_t k = 0; k < n && !rc; k++)
        m->ranks[k] = rank_of[m->t->rows[k]];
    mem_free(order);
    mem_free(rank_of);
    return rc;
}

enum rc itree_modes(const struct itree *t, const struct column *c, struct pool *pool,
                    int64_t *rows, struct err *err)
{
    struct modes m = {.t = t, .rows = rows};
    enum rc rc = number_values(&m, c, err);
    for (int64_t l = 0; l < t->n_levels && !rc; l++) {
        m.level_from = t->level_at[l];
        pool_for(pool, t->level_at[l + 1] - t->level_at[l], NODE_GRAIN, node_modes, &m);
    }
    for (int64_t k = t->level_at[t->n_levels - 1]; k < t->n && !rc; k++)
        rows[k] = t->rows[t->leaf_from[k]]; /* a leaf has its own, null or not */
    mem_free(m.ranks);
    mem_free(m.room);
    mem_free(m.first);
    return rc;
}

struct means {
    const struct itree *t;
    const struct column *c;
    double *means;
};

static void node_means(void *arg, int64_t begin, int64_t end, int64_t chunk)
{
    const struct means *m = arg;
    for (int64_t k = begin; k < end; k++) {
        double sum = 0;
        int64_t n = 0;
        for (int64_t i = m->t->leaf_from[k]; i < m->t->leaf_to[k]; i++) {
            int64_t row = m->t->rows[i];
            if (column_is_null(m->c, row))
                continue;
            sum += column_number(m->c, row);
            n++;
        }
        m->means[k] = n ? sum / (double)n : NAN;
    }
}

void itree_means(const struct itree *t, const struct column *c, struct pool *pool,
                 double *means)
{
    struct means m = {.t = t, .c = c, .means = means};
    pool_for(pool, t->n, NODE_GRAIN, node_means, &m);
}
