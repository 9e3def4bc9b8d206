/* SPDX-License-Identifier: Apache-2.0 */
/* A tree by k-means: each node's items are split among its children by the nearest centre
 * and then evened out, so that sizes differ by one at most and the tree is no deeper than
 * it must be. The points of a large node are shared among threads; small nodes, each with
 * all that is below it, are done by one thread. What a split gives does not depend on
 * which of the two it is.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"
#include "recall/itree.h"
#include "recall/kmeans.h"
#include "tensor/kernel.h"

#define LARGE 32768 /* items: from here on threads share a node */

/* Items order[from] .. order[to] that belong below `code`. */
struct group {
    int64_t from, to, code;
    enum rc rc; /* of what is below it */
};

struct clustering {
    const float *x;
    int64_t n, d;
    const struct itree_cluster *conf;
    int64_t *order; /* [n] */
    int64_t *codes; /* [n] */
    VEC(struct group) large, small;
};

/* An item while it is dealt to the parts of its group. */
struct member {
    double far; /* squared distance to the centre at hand */
    int64_t row;
};

static int by_distance(const void *a, const void *b)
{
    const struct member *x = a, *y = b;
    if (x->far != y->far)
        return x->far < y->far ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

/* What one split works with. */
struct split {
    const struct clustering *c;
    int64_t n, k;
    float *x, *centres; /* [n][d], [k][d] */
    int32_t *nearest;
    struct member *members, *rest; /* [n] */
    int64_t n_rest;
    int64_t *parts;                  /* [n]: rows, part by part */
    int64_t sizes[ITREE_BRANCH_MAX]; /* rows that each part has so far */
};

static double distance(const struct split *s, int64_t row, int64_t centre)
{
    const float *x = s->c->x + row * s->c->d, *y = s->centres + centre * s->c->d;
    double sum = 0;
    for (int64_t i = 0; i < s->c->d; i++) {
        double diff = (double)x[i] - (double)y[i];
        sum += diff * diff;
    }
    return sum;
}

/* Each centre keeps its nearest, no more than an even share; the others are left over. */
static void keep_nearest(struct split *s, const int64_t *rows, int64_t share)
{
    for (int64_t c = 0; c < s->k; c++) {
        int64_t n = 0;
        for (int64_t i = 0; i < s->n; i++)
            if (s->nearest[i] == c)
                s->members[n++] =
                    (struct member){.far = distance(s, rows[i], c), .row = rows[i]};
        if (n > share)
            qsort(s->members, (size_t)n, sizeof(*s->members), by_distance);
        for (int64_t i = 0; i < n; i++)
            if (i < share)
                s->parts[c * (share + 1) + s->sizes[c]++] = s->members[i].row;
            else
                s->rest[s->n_rest++] = s->members[i];
    }
}

/* Parts that lack some take what is left over and nearest to them. */
static void fill_up(struct split *s, int64_t share)
{
    for (int64_t c = 0; c < s->k; c++) {
        if (s->sizes[c] == share || s->n_rest == 0)
            continue;
        for (int64_t i = 0; i < s->n_rest; i++)
            s->rest[i].far = distance(s, s->rest[i].row, c);
        qsort(s->rest, (size_t)s->n_rest, sizeof(*s->rest), by_distance);
        int64_t taken = 0;
        while (s->sizes[c] < share && taken < s->n_rest)
            s->parts[c * (share + 1) + s->sizes[c]++] = s->rest[taken++].row;
        memmove(s->rest, s->rest + taken, (size_t)(s->n_rest - taken) * sizeof(*s->rest));
        s->n_rest -= taken;
    }
}

/* What does not divide evenly: one more for the nearest part that has no more yet. */
static void add_odd(struct split *s, int64_t share)
{
    for (int64_t i = 0; i < s->n_rest; i++)
        s->rest[i].far = 0;
    qsort(s->rest, (size_t)s->n_rest, sizeof(*s->rest), by_distance); /* by row */
    for (int64_t i = 0; i < s->n_rest; i++) {
        int64_t best = -1;
        double far = 0;
        for (int64_t c = 0; c < s->k; c++) {
            double dist = distance(s, s->rest[i].row, c);
            if (s->sizes[c] == share && (best < 0 || dist < far)) {
                best = c;
                far = dist;
            }
        }
        s->parts[best * (share + 1) + s->sizes[best]++] = s->rest[i].row;
    }
}

static void split_release(struct split *s)
{
    mem_free(s->x);
    mem_free(s->centres);
    mem_free(s->nearest);
    mem_free(s->members);
    mem_free(s->rest);
    mem_free(s->parts);
}

static enum rc split_init(struct split *s, const struct clustering *c,
                          const struct group *g, struct err *err)
{
    size_t d = (size_t)c->d;
    *s = (struct split){.c = c, .n = g->to - g->from, .k = c->conf->branch};
    s->x = mem_try_alloc((size_t)s->n, d * sizeof(float));
    s->centres = mem_try_alloc((size_t)s->k, d * sizeof(float));
    s->nearest = mem_try_alloc((size_t)s->n, sizeof(*s->nearest));
    s->members = mem_try_alloc((size_t)s->n, sizeof(*s->members));
    s->rest = mem_try_alloc((size_t)s->n, sizeof(*s->rest));
    s->parts = mem_try_alloc((size_t)(s->n + s->k), sizeof(*s->parts));
    if (!s->x || !s->centres || !s->nearest || !s->members || !s->rest || !s->parts)
        return err_set(err, RC_NOMEM, "no memory to cluster %jd items", (intmax_t)s->n);
    for (int64_t i = 0; i < s->n; i++)
        memcpy(s->x + i * c->d, c->x + c->order[g->from + i] * c->d, d * sizeof(float));
    return RC_OK;
}

/* Puts the rows of a group into the order of its parts; ends[i]: of part i. */
static enum rc split_group(struct clustering *c, const struct group *g, int64_t *ends,
                           struct err *err)
{
    int64_t n = g->to - g->from, k = c->conf->branch, at = g->from;
    struct split s;
    if (n <= k) { /* each item is a part */
        for (int64_t i = 0; i < k; i++)
            ends[i] = g->from + (i < n ? i + 1 : n);
        return RC_OK;
    }
    enum rc rc = split_init(&s, c, g, err);
    struct kmeans_conf conf = {.k = k,
                               .iterations = c->conf->iterations,
                               .seed = c->conf->seed,
                               .stream = (uint64_t)g->code,
                               .pool = c->conf->pool};
    if (!rc)
        rc = kmeans(s.x, n, c->d, &conf, s.centres, s.nearest, err);
    if (!rc) {
        keep_nearest(&s, c->order + g->from, n / k);
        fill_up(&s, n / k);
        add_odd(&s, n / k);
        for (int64_t i = 0; i < k; i++) {
            memcpy(c->order + at, s.parts + i * (n / k + 1),
                   (size_t)s.sizes[i] * sizeof(*c->order));
            at += s.sizes[i];
            ends[i] = at;
        }
    }
    split_release(&s);
    return rc;
}

/* Everything below a group. */
static enum rc cluster_below(struct clustering *c, const struct group *g, struct err *err)
{
    int64_t ends[ITREE_BRANCH_MAX], from = g->from;
    if (g->to - g->from == 1)
        c->codes[c->order[g->from]] = g->code;
    if (g->to - g->from <= 1)
        return RC_OK;
    enum rc rc = split_group(c, g, ends, err);
    for (int64_t k = 0; k < c->conf->branch && !rc; k++) {
        struct group part = {
            .from = from, .to = ends[k], .code = g->code * c->conf->branch + k + 1};
        rc = cluster_below(c, &part, err);
        from = ends[k];
    }
    return rc;
}

static void cluster_small(void *arg, int64_t begin, int64_t end, int64_t chunk)
{
    struct clustering *c = arg;
    for (int64_t i = begin; i < end; i++)
        c->small.at[i].rc = cluster_below(c, &c->small.at[i], NULL);
}

/* Splits large groups until all are small. */
static enum rc cluster_large(struct clustering *c, struct err *err)
{
    int64_t ends[ITREE_BRANCH_MAX];
    VEC_PUSH(&c->large, ((struct group){.to = c->n}));
    while (c->large.n) {
        struct group g = c->large.at[--c->large.n];
        int64_t from = g.from;
        if (g.to - g.from <= LARGE) {
            VEC_PUSH(&c->small, g);
            continue;
        }
        enum rc rc = split_group(c, &g, ends, err);
        if (rc)
            return rc;
        for (int64_t k = 0; k < c->conf->branch; k++) {
            VEC_PUSH(&c->large,
                     ((struct group){.from = from,
                                     .to = ends[k],
                                     .code = g.code * c->conf->branch + k + 1}));
            from = ends[k];
        }
    }
    return RC_OK;
}

enum rc itree_by_vectors(const float *x, int64_t n, int64_t d,
                         const struct itree_cluster *conf, struct itree *out,
                         struct err *err)
{
    struct clustering c = {.x = x, .n = n, .d = d, .conf = conf};
    enum rc rc = RC_OK;
    c.order = mem_try_alloc((size_t)n, sizeof(*c.order));
    c.codes = mem_try_calloc((size_t)n, sizeof(*c.codes));
    if (!c.order || !c.codes)
        rc = err_set(err, RC_NOMEM, "no memory to cluster %jd items", (intmax_t)n);
    for (int64_t i = 0; i < n && !rc; i++)
        c.order[i] = i;
    if (!rc)
        rc = cluster_large(&c, err);
    if (!rc)
        pool_for(conf->pool, (int64_t)c.small.n, 1, cluster_small, &c);
    for (size_t i = 0; i < c.small.n && !rc; i++)
        if (c.small.at[i].rc)
            rc = err_set(err, c.small.at[i].rc, "no memory to cluster %jd items",
                         (intmax_t)(c.small.at[i].to - c.small.at[i].from));
    if (!rc)
        rc = itree_build(c.codes, n, conf->branch, out, err);
    VEC_RELEASE(&c.large);
    VEC_RELEASE(&c.small);
    mem_free(c.order);
    mem_free(c.codes);
    return rc;
}
