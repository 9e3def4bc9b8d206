/* SPDX-License-Identifier: Apache-2.0 */
/* A vector gets a random highest level, fewer the higher. It is added by going down from
 * the entry: above its levels always to the nearest neighbour, on its own levels by a
 * search that keeps the `ef` best; of these a few that lie in different directions become
 * its neighbours, and it becomes theirs, where a full list is chosen anew. A search goes
 * down the same way and keeps `ef` on the lowest level.
 *
 * Distances are compared, smaller is nearer: minus the product, or the squared distance.
 * Of two alike the first vector is nearer, so that nothing depends on the machine.
 */
#include "recall/hnsw.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "recall/kmeans.h"
#include "tensor/kernel.h"

#define STREAM 0x686e7377
#define LINKS_MAX 512
#define GRAIN 8

struct hnsw_near {
    float far;
    int32_t row;
};

/* A heap: the nearest or the farthest on top. */
struct hnsw_heap {
    struct hnsw_near *at;
    int64_t n;
    bool farthest;
};

/* Memory of one search. */
struct hnsw_scratch {
    uint32_t *seen; /* [n]: the search that has been there */
    uint32_t now;
    struct hnsw_heap todo, best;
};

static bool nearer(struct hnsw_near a, struct hnsw_near b)
{
    return a.far < b.far || (a.far == b.far && a.row < b.row);
}

static bool above(const struct hnsw_heap *h, struct hnsw_near a, struct hnsw_near b)
{
    return h->farthest ? nearer(b, a) : nearer(a, b);
}

static void heap_add(struct hnsw_heap *h, struct hnsw_near v)
{
    int64_t i = h->n++;
    for (; i > 0 && above(h, v, h->at[(i - 1) / 2]); i = (i - 1) / 2)
        h->at[i] = h->at[(i - 1) / 2];
    h->at[i] = v;
}

static struct hnsw_near heap_take(struct hnsw_heap *h)
{
    struct hnsw_near top = h->at[0], last = h->at[--h->n];
    int64_t i = 0;
    for (int64_t c; (c = 2 * i + 1) < h->n; i = c) {
        if (c + 1 < h->n && above(h, h->at[c + 1], h->at[c]))
            c++;
        if (!above(h, h->at[c], last))
            break;
        h->at[i] = h->at[c];
    }
    h->at[i] = last;
    return top;
}

static void scratch_release(struct hnsw_scratch *s)
{
    mem_free(s->seen);
    mem_free(s->todo.at);
    mem_free(s->best.at);
}

static bool scratch_init(struct hnsw_scratch *s, const struct recall_hnsw *h, int64_t ef)
{
    *s = (struct hnsw_scratch){.best = {.farthest = true}};
    s->seen = mem_try_calloc((size_t)h->n + 1, sizeof(*s->seen));
    s->todo.at = mem_try_alloc((size_t)h->n + 1, sizeof(*s->todo.at));
    s->best.at = mem_try_alloc((size_t)ef + 1, sizeof(*s->best.at));
    return s->seen && s->todo.at && s->best.at;
}

/* From a query with the squared length `square` to a vector. */
static float distance(const struct recall_hnsw *h, const float *q, double square,
                      int32_t row)
{
    float dot;
    kernels()->dot_rows(&dot, h->x + row * h->d, h->d, 1, q, h->d);
    return h->squares ? (float)(square + (double)h->squares[row] - 2 * (double)dot)
                      : -dot;
}

static double square_of(const struct recall_hnsw *h, const float *q)
{
    return h->squares ? kernels()->sum_squares(q, h->d) : 0;
}

static int32_t *links_of(const struct recall_hnsw *h, int32_t row, int level,
                         int32_t *room)
{
    *room = h->per_level[level + 1] - h->per_level[level];
    return h->neighbours + h->offsets[row] + (uint64_t)h->per_level[level];
}

/* Always to the nearest neighbour of a level, while that is nearer. */
static struct hnsw_near descend(const struct recall_hnsw *h, const float *q,
                                double square, struct hnsw_near at, int level)
{
    for (bool moved = true; moved;) {
        int32_t room, *links = links_of(h, at.row, level, &room);
        moved = false;
        for (int32_t i = 0; i < room && links[i] >= 0; i++) {
            struct hnsw_near v = {distance(h, q, square, links[i]), links[i]};
            if (nearer(v, at)) {
                at = v;
                moved = true;
            }
        }
    }
    return at;
}

static void meet(struct hnsw_scratch *s, struct hnsw_near v, int64_t ef)
{
    if (s->best.n == ef && !nearer(v, s->best.at[0]))
        return;
    heap_add(&s->todo, v);
    heap_add(&s->best, v);
    if (s->best.n > ef)
        (void)heap_take(&s->best);
}

/* The `ef` nearest of a level that can be reached; they are left in s->best. */
static void search_level(const struct recall_hnsw *h, struct hnsw_scratch *s,
                         const float *q, double square, struct hnsw_near from, int level,
                         int64_t ef)
{
    s->now++;
    s->todo.n = s->best.n = 0;
    s->seen[from.row] = s->now;
    meet(s, from, ef);
    while (s->todo.n) {
        struct hnsw_near v = heap_take(&s->todo);
        if (s->best.n == ef && nearer(s->best.at[0], v))
            break;
        int32_t room, *links = links_of(h, v.row, level, &room);
        for (int32_t i = 0; i < room && links[i] >= 0; i++) {
            if (s->seen[links[i]] == s->now)
                continue;
            s->seen[links[i]] = s->now;
            meet(s, (struct hnsw_near){distance(h, q, square, links[i]), links[i]}, ef);
        }
    }
}

/* Of candidates, nearest first, those that are not nearer to one chosen before than to the
 * vector itself; at most `room`. Returns how many.
 */
static int32_t choose(const struct recall_hnsw *h, const struct hnsw_near *from,
                      int64_t n, int32_t room, int32_t *out)
{
    int32_t chosen = 0;
    for (int64_t i = 0; i < n && chosen < room; i++) {
        const float *v = h->x + from[i].row * h->d;
        double square = h->squares ? (double)h->squares[from[i].row] : 0;
        bool good = true;
        for (int32_t k = 0; k < chosen && good; k++)
            good = distance(h, v, square, out[k]) >= from[i].far;
        if (good)
            out[chosen++] = from[i].row;
    }
    return chosen;
}

/* Nearest first, by taking the heap apart. */
static int64_t sorted(struct hnsw_heap *best)
{
    int64_t n = best->n;
    for (int64_t i = n - 1; i >= 0; i--) {
        struct hnsw_near far = heap_take(best);
        best->at[i] = far;
    }
    return n;
}

/* `row` becomes a neighbour of `of`. */
static void link_back(struct recall_hnsw *h, int32_t of, int32_t row, int level)
{
    int32_t room, *links = links_of(h, of, level, &room), n = 0;
    const float *v = h->x + of * h->d;
    double square = h->squares ? (double)h->squares[of] : 0;
    struct hnsw_near room_for[2 * LINKS_MAX + 1];
    struct hnsw_heap all = {.at = room_for, .farthest = true};
    while (n < room && links[n] >= 0)
        n++;
    if (n < room) {
        links[n] = row;
        return;
    }
    heap_add(&all, (struct hnsw_near){distance(h, v, square, row), row});
    for (int32_t i = 0; i < n; i++)
        heap_add(&all, (struct hnsw_near){distance(h, v, square, links[i]), links[i]});
    int64_t count = sorted(&all);
    int32_t kept = choose(h, room_for, count, room, links);
    while (kept < room)
        links[kept++] = -1;
}

static void add_vector(struct recall_hnsw *h, struct hnsw_scratch *s, int32_t row)
{
    const float *q = h->x + row * h->d;
    double square = square_of(h, q);
    int32_t levels = h->levels[row];
    if (h->entry < 0) {
        h->entry = row;
        h->top = levels - 1;
        return;
    }
    struct hnsw_near at = {distance(h, q, square, h->entry), h->entry};
    for (int l = h->top; l >= levels; l--)
        at = descend(h, q, square, at, l);
    for (int l = levels - 1 < h->top ? levels - 1 : h->top; l >= 0; l--) {
        int32_t room, *links = links_of(h, row, l, &room);
        search_level(h, s, q, square, at, l, h->conf.ef);
        int64_t n = sorted(&s->best);
        at = s->best.at[0];
        int32_t chosen = choose(h, s->best.at, n, room, links);
        for (int32_t i = 0; i < chosen; i++)
            link_back(h, links[i], row, l);
    }
    if (levels - 1 > h->top) {
        h->top = levels - 1;
        h->entry = row;
    }
}

/* As faiss does: levels as long as one vector in 10^9 has them. */
static void set_levels(struct recall_hnsw *h)
{
    double scale = 1 / log((double)h->conf.links);
    int32_t places = 0;
    for (int l = 0; l < HNSW_LEVELS_MAX; l++) {
        double chance = exp(-l / scale) * (1 - exp(-1 / scale));
        if (chance < 1e-9)
            break;
        places += (int32_t)(l ? h->conf.links : 2 * h->conf.links);
        h->chances[l] = chance;
        h->per_level[l + 1] = places;
        h->n_levels = l + 1;
    }
}

static int32_t draw_levels(const struct recall_hnsw *h, int64_t row)
{
    struct rng r;
    rng_init(&r, h->conf.seed, STREAM, 0, (uint64_t)row);
    double v = rng_f64(&r);
    for (int l = 0; l < h->n_levels; l++) {
        if (v < h->chances[l])
            return l + 1;
        v -= h->chances[l];
    }
    return h->n_levels;
}

static enum rc make_room(struct recall_hnsw *h, struct err *err)
{
    h->levels = mem_try_alloc((size_t)h->n + 1, sizeof(*h->levels));
    h->offsets = mem_try_alloc((size_t)h->n + 1, sizeof(*h->offsets));
    if (h->conf.distance)
        h->squares = mem_try_alloc((size_t)h->n + 1, sizeof(*h->squares));
    bool good = h->levels && h->offsets && (h->squares || !h->conf.distance);
    uint64_t places = 0;
    for (int64_t i = 0; good && i < h->n; i++) {
        h->levels[i] = draw_levels(h, i);
        h->offsets[i] = places;
        places += (uint64_t)h->per_level[h->levels[i]];
        if (h->squares)
            h->squares[i] = (float)kernels()->sum_squares(h->x + i * h->d, h->d);
    }
    if (good) {
        h->offsets[h->n] = places;
        h->neighbours = mem_try_alloc((size_t)places + 1, sizeof(*h->neighbours));
    }
    if (!good || !h->neighbours)
        return err_set(err, RC_NOMEM, "no memory for a graph of %jd vectors",
                       (intmax_t)h->n);
    memset(h->neighbours, 0xff, (size_t)places * sizeof(*h->neighbours));
    return RC_OK;
}

enum rc recall_hnsw_create(const float *x, int64_t n, int64_t d,
                           const struct recall_hnsw_conf *conf, struct recall_hnsw **out,
                           struct err *err)
{
    struct recall_hnsw *h = mem_calloc(1, sizeof(*h));
    struct hnsw_scratch s = {0};
    *h = (struct recall_hnsw){
        .conf = *conf, .x = x, .n = n, .d = d, .entry = -1, .top = -1};
    enum rc rc = RC_OK;
    if (n > INT32_MAX || conf->links < 2 || conf->links > LINKS_MAX || conf->ef < 1)
        rc = err_coded(err, RC_INVAL, E2405,
                       "a graph of %jd vectors with %jd links: at most %d and 2 to %d",
                       (intmax_t)n, (intmax_t)conf->links, INT32_MAX, LINKS_MAX);
    if (!rc) {
        set_levels(h);
        rc = make_room(h, err);
    }
    if (!rc && !scratch_init(&s, h, conf->ef))
        rc = err_set(err, RC_NOMEM, "no memory for a graph of %jd vectors", (intmax_t)n);
    for (int64_t i = 0; i < n && !rc; i++)
        add_vector(h, &s, (int32_t)i);
    scratch_release(&s);
    if (rc)
        recall_hnsw_destroy(h);
    else
        *out = h;
    return rc;
}

void recall_hnsw_destroy(struct recall_hnsw *h)
{
    if (!h)
        return;
    mem_free(h->squares);
    mem_free(h->levels);
    mem_free(h->offsets);
    mem_free(h->neighbours);
    mem_free(h);
}

/* A search of several threads. */
struct hnsw_task {
    const struct recall_hnsw *h;
    const float *q;
    int64_t k, ef;
    int64_t *rows;
    float *scores;
    _Atomic bool failed;
};

static void search_one(const struct hnsw_task *t, struct hnsw_scratch *s, int64_t i)
{
    const struct recall_hnsw *h = t->h;
    const float *q = t->q + i * h->d;
    double square = square_of(h, q);
    int64_t n = 0;
    if (h->entry >= 0) {
        struct hnsw_near at = {distance(h, q, square, h->entry), h->entry};
        for (int l = h->top; l > 0; l--)
            at = descend(h, q, square, at, l);
        search_level(h, s, q, square, at, 0, t->ef);
        n = sorted(&s->best);
    }
    for (int64_t k = 0; k < t->k; k++) {
        bool there = k < n;
        float far = there ? s->best.at[k].far : FLT_MAX;
        t->rows[i * t->k + k] = there ? s->best.at[k].row : -1;
        t->scores[i * t->k + k] = !h->conf.distance ? -far : far > 0 ? far : 0;
    }
}

static void search_some(void *arg, int64_t begin, int64_t end, int64_t chunk)
{
    struct hnsw_task *t = arg;
    struct hnsw_scratch s;
    if (!scratch_init(&s, t->h, t->ef))
        t->failed = true;
    else
        for (int64_t i = begin; i < end; i++)
            search_one(t, &s, i);
    scratch_release(&s);
}

enum rc recall_hnsw_search(const struct recall_hnsw *h, const float *q, int64_t n,
                           int64_t k, int64_t ef, struct pool *pool, int64_t *rows,
                           float *scores, struct err *err)
{
    struct hnsw_task t = {
        .h = h, .q = q, .k = k, .ef = ef < k ? k : ef, .rows = rows, .scores = scores};
    int64_t grain = n / 64 > GRAIN ? n / 64 : GRAIN; /* each takes memory of its own */
    pool_for(pool, n, grain, search_some, &t);
    return t.failed ? err_set(err, RC_NOMEM, "no memory for %jd queries", (intmax_t)n)
                    : RC_OK;
}
