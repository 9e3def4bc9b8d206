/* SPDX-License-Identifier: Apache-2.0 */
/* Vectors are compared by x . q, or for distances by x . q - |x|^2 / 2, of which the
 * largest is nearest. All against all is a matrix product: a block of vectors is packed
 * as weights, and all queries go through it before the next. Lists hold copies of their
 * vectors side by side; a query is compared with the centres and then with the vectors of
 * the lists of the best ones.
 *
 * What was found so far is a heap with the worst on top: most vectors are dismissed by
 * one comparison, and most blocks by that of their largest score.
 */
#include "recall/index.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "recall/index_private.h"
#include "tensor/gemm.h"
#include "tensor/kernel.h"

#define BLOCK 1024       /* vectors that are packed at a time */
#define QUERY_GRAIN 16   /* queries of a chunk: their scores lie on the stack */
#define SCAN 256         /* vectors of a list whose scores lie on the stack */
#define TRAIN_POINTS 256 /* per list, for its centre */
#define ITERATIONS 10
#define EF_CONSTRUCTION 200

/* The best so far of one query. */
struct best {
    int64_t *rows;
    float *scores;
    int64_t n, k;
};

/* Whether a is farther than b. */
static bool farther(float score_a, int64_t a, float score_b, int64_t b)
{
    return score_a < score_b || (score_a == score_b && a > b);
}

static void swap(struct best *h, int64_t i, int64_t j)
{
    float s = h->scores[i];
    int64_t r = h->rows[i];
    h->scores[i] = h->scores[j];
    h->rows[i] = h->rows[j];
    h->scores[j] = s;
    h->rows[j] = r;
}

static void sift_down(struct best *h, int64_t i, int64_t n)
{
    for (;;) {
        int64_t worst = i;
        for (int64_t c = 2 * i + 1; c <= 2 * i + 2 && c < n; c++)
            if (farther(h->scores[c], h->rows[c], h->scores[worst], h->rows[worst]))
                worst = c;
        if (worst == i)
            return;
        swap(h, i, worst);
        i = worst;
    }
}

static void best_add(struct best *h, float score, int64_t row)
{
    if (h->n < h->k) {
        int64_t i = h->n++;
        h->scores[i] = score;
        h->rows[i] = row;
        while (i > 0) {
            int64_t up = (i - 1) / 2;
            if (!farther(h->scores[i], h->rows[i], h->scores[up], h->rows[up]))
                return;
            swap(h, i, up);
            i = up;
        }
        return;
    }
    if (!farther(h->scores[0], h->rows[0], score, row))
        return;
    h->scores[0] = score;
    h->rows[0] = row;
    sift_down(h, 0, h->n);
}

/* Nearest first. */
static void best_sort(struct best *h)
{
    for (int64_t n = h->n - 1; n > 0; n--) {
        swap(h, 0, n);
        sift_down(h, 0, n);
    }
}

/* Scores of n vectors; rows[i] (or from + i) is which. */
static void best_take(struct best *h, const float *scores, int64_t n, const int64_t *rows,
                      int64_t from)
{
    if (h->n == h->k && kernels()->max(scores, n) < h->scores[0])
        return;
    for (int64_t i = 0; i < n; i++)
        if (h->n < h->k || scores[i] >= h->scores[0])
            best_add(h, scores[i], rows ? rows[i] : from + i);
}

static float *half_lengths(const float *x, int64_t n, int64_t d)
{
    float *half = mem_try_alloc((size_t)n + 1, sizeof(*half));
    for (int64_t i = 0; half && i < n; i++)
        half[i] = (float)(-0.5 * kernels()->sum_squares(x + i * d, d));
    return half;
}

/* Centres from some of the vectors, evenly taken. */
static enum rc train_lists(struct recall_index *x, const struct recall_index_conf *c,
                           struct err *err)
{
    int64_t n = x->n < TRAIN_POINTS * x->lists ? x->n : TRAIN_POINTS * x->lists;
    float *points = mem_try_alloc((size_t)n, (size_t)x->d * sizeof(float));
    int32_t *nearest = mem_try_alloc((size_t)n, sizeof(*nearest));
    struct kmeans_conf conf = {.k = x->lists,
                               .iterations = c->iterations ? c->iterations : ITERATIONS,
                               .seed = c->seed,
                               .pool = c->pool};
    enum rc rc = points && nearest
                     ? RC_OK
                     : err_set(err, RC_NOMEM, "no memory for %jd vectors", (intmax_t)n);
    for (int64_t i = 0; i < n && !rc; i++)
        memcpy(points + i * x->d, x->x + i * x->n / n * x->d,
               (size_t)x->d * sizeof(float));
    if (!rc)
        rc = kmeans(points, n, x->d, &conf, x->centres, nearest, err);
    mem_free(points);
    mem_free(nearest);
    return rc;
}

static void fill_lists(struct recall_index *x, const int32_t *nearest)
{
    memset(x->list_at, 0, (size_t)(x->lists + 1) * sizeof(*x->list_at));
    for (int64_t i = 0; i < x->n; i++)
        x->list_at[nearest[i] + 1]++;
    for (int64_t l = 0; l < x->lists; l++)
        x->list_at[l + 1] += x->list_at[l];
    for (int64_t i = 0; i < x->n; i++) {
        int64_t at = x->list_at[nearest[i]]++;
        x->rows[at] = i;
        memcpy(x->own + at * x->d, x->x + i * x->d, (size_t)x->d * sizeof(float));
    }
    for (int64_t l = x->lists; l > 0; l--)
        x->list_at[l] = x->list_at[l - 1];
    x->list_at[0] = 0;
}

static enum rc make_lists(struct recall_index *x, const struct recall_index_conf *c,
                          struct err *err)
{
    size_t d = (size_t)x->d * sizeof(float);
    int32_t *nearest = mem_try_alloc((size_t)x->n, sizeof(*nearest));
    x->centres = mem_try_alloc((size_t)x->lists, d);
    x->own = mem_try_alloc((size_t)x->n, d);
    x->list_at = mem_try_alloc((size_t)x->lists + 1, sizeof(*x->list_at));
    x->rows = mem_try_alloc((size_t)x->n, sizeof(*x->rows));
    enum rc rc = RC_OK;
    if (!nearest || !x->centres || !x->own || !x->list_at || !x->rows)
        rc = err_set(err, RC_NOMEM, "no memory for %jd vectors", (intmax_t)x->n);
    if (!rc)
        rc = train_lists(x, c, err);
    if (!rc)
        rc =
            kmeans_nearest(x->x, x->n, x->d, x->centres, x->lists, c->pool, nearest, err);
    if (!rc) {
        fill_lists(x, nearest);
        x->centre_half = half_lengths(x->centres, x->lists, x->d);
        if (!x->centre_half)
            rc = err_set(err, RC_NOMEM, "no memory for %jd centres", (intmax_t)x->lists);
    }
    mem_free(nearest);
    return rc;
}

static enum rc make_graph(struct recall_index *x, const struct recall_index_conf *c,
                          struct err *err)
{
    struct recall_hnsw_conf conf = {.links = c->links,
                                    .ef = c->ef_construction ? c->ef_construction
                                                             : EF_CONSTRUCTION,
                                    .distance = c->metric == INDEX_L2,
                                    .seed = c->seed};
    return recall_hnsw_create(x->x, x->n, x->d, &conf, &x->graph, err);
}

enum rc recall_index_create(const float *v, int64_t n, int64_t d,
                            const struct recall_index_conf *c, struct recall_index **out,
                            struct err *err)
{
    struct recall_index *x = mem_calloc(1, sizeof(*x));
    enum rc rc = RC_OK;
    *x = (struct recall_index){
        .x = v, .n = n, .d = d, .metric = c->metric, .lists = c->lists};
    if (c->lists < 0 || c->lists > KMEANS_CENTRES_MAX || c->lists > n)
        rc = err_coded(err, RC_INVAL, E2405, "%jd lists for %jd vectors: at most %jd",
                       (intmax_t)c->lists, (intmax_t)n,
                       (intmax_t)(n < KMEANS_CENTRES_MAX ? n : KMEANS_CENTRES_MAX));
    if (!rc && x->lists)
        rc = make_lists(x, c, err);
    if (!rc && c->links)
        rc = make_graph(x, c, err);
    else if (!rc && x->metric == INDEX_L2) {
        x->half = half_lengths(x->lists ? x->own : x->x, n, d);
        if (!x->half)
            rc = err_set(err, RC_NOMEM, "no memory for %jd vectors", (intmax_t)n);
    }
    if (rc)
        recall_index_destroy(x);
    else
        *out = x;
    return rc;
}

void recall_index_destroy(struct recall_index *x)
{
    if (!x)
        return;
    mem_free(x->half);
    mem_free(x->centres);
    mem_free(x->centre_half);
    mem_free(x->own);
    mem_free(x->list_at);
    mem_free(x->rows);
    recall_hnsw_destroy(x->graph);
    mem_free(x);
}

/* A search under way. */
struct search {
    const struct recall_index *x;
    const float *q;
    int64_t k, probes;
    struct best *best; /* [queries] */
    struct gemm_weight *packed;
    int64_t from, n; /* of the packed block */
};

static void search_block(void *arg, int64_t begin, int64_t end, int64_t chunk)
{
    const struct search *s = arg;
    const struct recall_index *x = s->x;
    float scores[QUERY_GRAIN * BLOCK];
    struct view q = {.data = (float *)(uintptr_t)(s->q + begin * x->d),
                     .rows = end - begin,
                     .width = x->d,
                     .ld = x->d};
    struct view y = {.data = scores, .rows = end - begin, .width = s->n, .ld = s->n};
    gemm_forward(s->packed, q, x->half ? x->half + s->from : NULL, GEMM_ACT_NONE, y);
    for (int64_t i = begin; i < end; i++)
        best_take(&s->best[i], scores + (i - begin) * s->n, s->n, NULL, s->from);
}

static enum rc search_all(struct search *s, int64_t n, struct pool *pool, struct err *err)
{
    const struct recall_index *x = s->x;
    enum rc rc = RC_OK;
    for (s->from = 0; s->from < x->n && !rc; s->from += BLOCK) {
        int64_t rows = x->n - s->from < BLOCK ? x->n - s->from : BLOCK;
        if (rows != s->n) {
            gemm_weight_destroy(s->packed);
            s->packed = NULL;
            rc = gemm_weight_create(rows, x->d, GEMM_F32, false, &s->packed, err);
        }
        s->n = rows;
        if (rc)
            break;
        gemm_pack(s->packed, x->x + s->from * x->d);
        pool_for(pool, n, QUERY_GRAIN, search_block, s);
    }
    gemm_weight_destroy(s->packed);
    return rc;
}

static void scan_list(const struct recall_index *x, const float *q, int64_t list,
                      struct best *b)
{
    float scores[SCAN];
    for (int64_t at = x->list_at[list]; at < x->list_at[list + 1]; at += SCAN) {
        int64_t n = x->list_at[list + 1] - at < SCAN ? x->list_at[list + 1] - at : SCAN;
        kernels()->dot_rows(scores, x->own + at * x->d, x->d, n, q, x->d);
        if (x->half)
            kernels()->add(scores, x->half + at, n);
        best_take(b, scores, n, x->rows + at, 0);
    }
}

/* Lists are chosen by the same measure as vectors. */
static void search_lists(void *arg, int64_t begin, int64_t end, int64_t chunk)
{
    const struct search *s = arg;
    const struct recall_index *x = s->x;
    float scores[KMEANS_CENTRES_MAX], near[KMEANS_CENTRES_MAX];
    int64_t rows[KMEANS_CENTRES_MAX];
    for (int64_t i = begin; i < end; i++) {
        const float *q = s->q + i * x->d;
        struct best lists = {.rows = rows, .scores = near, .k = s->probes};
        kernels()->dot_rows(scores, x->centres, x->d, x->lists, q, x->d);
        if (x->half)
            kernels()->add(scores, x->centre_half, x->lists);
        for (int64_t l = 0; l < x->lists; l++)
            best_add(&lists, scores[l], l);
        best_sort(&lists);
        for (int64_t l = 0; l < lists.n; l++)
            scan_list(x, q, rows[l], &s->best[i]);
    }
}

/* From measures to scores, nearest first. */
static void recall_index_finish(const struct recall_index *x, const float *q,
                                struct best *b)
{
    best_sort(b);
    double length = kernels()->sum_squares(q, x->d);
    for (int64_t i = 0; i < b->k; i++) {
        if (i >= b->n) {
            b->rows[i] = -1;
            b->scores[i] = x->metric == INDEX_DOT ? -FLT_MAX : FLT_MAX;
        } else if (x->metric == INDEX_L2) {
            double far = length - 2 * (double)b->scores[i];
            b->scores[i] = far > 0 ? (float)far : 0;
        }
    }
}

enum rc recall_index_search(const struct recall_index *x, const float *q, int64_t n,
                            int64_t k, int64_t probes, struct pool *pool, int64_t *rows,
                            float *scores, struct err *err)
{
    if (x->graph)
        return recall_hnsw_search(x->graph, q, n, k, probes, pool, rows, scores, err);
    struct search s = {.x = x, .q = q, .k = k};
    s.probes = probes < 1 ? 1 : probes < x->lists ? probes : x->lists;
    s.best = mem_try_calloc((size_t)n + 1, sizeof(*s.best));
    enum rc rc =
        s.best ? RC_OK : err_set(err, RC_NOMEM, "no memory for %jd queries", (intmax_t)n);
    for (int64_t i = 0; i < n && !rc; i++)
        s.best[i] = (struct best){.rows = rows + i * k, .scores = scores + i * k, .k = k};
    if (!rc && x->lists)
        pool_for(pool, n, QUERY_GRAIN, search_lists, &s);
    else if (!rc)
        rc = search_all(&s, n, pool, err);
    for (int64_t i = 0; i < n && !rc; i++)
        recall_index_finish(x, q + i * x->d, &s.best[i]);
    mem_free(s.best);
    return rc;
}
