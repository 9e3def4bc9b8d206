/* SPDX-License-Identifier: Apache-2.0 */
/* Lloyd's iterations. The nearest centre is that with the largest x . c - |c|^2 / 2: a
 * matrix product with the centres packed as weights and their lengths as bias. For the
 * means points are put in order of their centre, so that each centre is summed by one
 * thread, in the order of the points.
 */
#include "recall/kmeans.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "tensor/gemm.h"
#include "tensor/kernel.h"

#define ROWS_GRAIN 1024
#define SCORES 32768 /* on the stack: so many at a time */
#define SPREAD_MAX 8 /* up to so many first centres are chosen far from each other */

struct work {
    const float *x;
    int64_t n, d, k;
    float *centres, *bias; /* bias: minus half of a centre's squared length */
    int32_t *nearest;
    float *score;        /* [n]: of the nearest; half of (|x|^2 - squared distance) */
    int64_t *order, *at; /* points by centre: order[at[c]] .. order[at[c + 1]] */
    struct gemm_weight *packed;
    struct pool *pool;
};

static void assign_rows(void *arg, int64_t begin, int64_t end, int64_t chunk)
{
    struct work *w = arg;
    float scores[SCORES];
    int64_t most = SCORES / w->k;
    for (int64_t from = begin; from < end; from += most) {
        int64_t rows = end - from < most ? end - from : most;
        struct view x = {.data = (float *)(uintptr_t)(w->x + from * w->d),
                         .rows = rows,
                         .width = w->d,
                         .ld = w->d};
        struct view y = {.data = scores, .rows = rows, .width = w->k, .ld = w->k};
        gemm_forward(w->packed, x, w->bias, GEMM_ACT_NONE, y);
        for (int64_t r = 0; r < rows; r++) {
            const float *s = scores + r * w->k;
            int32_t best = 0;
            for (int64_t c = 1; c < w->k; c++)
                best = s[c] > s[best] ? (int32_t)c : best;
            w->nearest[from + r] = best;
            w->score[from + r] = s[best];
        }
    }
}

static void kmeans_assign(struct work *w)
{
    for (int64_t c = 0; c < w->k; c++)
        w->bias[c] = (float)(-0.5 * kernels()->sum_squares(w->centres + c * w->d, w->d));
    gemm_pack(w->packed, w->centres);
    pool_for(w->pool, w->n, ROWS_GRAIN, assign_rows, w);
}

static void put_in_order(struct work *w)
{
    memset(w->at, 0, (size_t)(w->k + 1) * sizeof(*w->at));
    for (int64_t i = 0; i < w->n; i++)
        w->at[w->nearest[i] + 1]++;
    for (int64_t c = 0; c < w->k; c++)
        w->at[c + 1] += w->at[c];
    for (int64_t i = 0; i < w->n; i++)
        w->order[w->at[w->nearest[i]]++] = i;
    for (int64_t c = w->k; c > 0; c--)
        w->at[c] = w->at[c - 1];
    w->at[0] = 0;
}

static void mean_of(void *arg, int64_t begin, int64_t end, int64_t chunk)
{
    struct work *w = arg;
    for (int64_t c = begin; c < end; c++) {
        float *to = w->centres + c * w->d;
        int64_t n = w->at[c + 1] - w->at[c];
        if (n == 0)
            continue;
        memset(to, 0, (size_t)w->d * sizeof(float));
        for (int64_t k = w->at[c]; k < w->at[c + 1]; k++)
            kernels()->add(to, w->x + w->order[k] * w->d, w->d);
        kernels()->scale(to, 1.0f / (float)n, w->d);
    }
}

/* Centres without points take those that are worst off; each of them once. */
static void fill_empty(struct work *w)
{
    for (int64_t c = 0; c < w->k; c++) {
        if (w->at[c + 1] > w->at[c])
            continue;
        int64_t worst = 0;
        double most = -1;
        for (int64_t i = 0; i < w->n; i++) {
            const float *x = w->x + i * w->d;
            double far = w->score[i] == INFINITY
                             ? -1
                             : kernels()->sum_squares(x, w->d) - 2 * (double)w->score[i];
            if (far > most) {
                most = far;
                worst = i;
            }
        }
        w->score[worst] = INFINITY;
        memcpy(w->centres + c * w->d, w->x + worst * w->d, (size_t)w->d * sizeof(float));
    }
}

/* First centres: points drawn with a probability proportional to their squared distance
 * from those drawn before, while there are few; else any points, none twice.
 */
static void first_spread(struct work *w, struct rng *r)
{
    for (int64_t c = 0; c < w->k; c++) {
        double sum = 0;
        int64_t pick = (int64_t)rng_below(r, (uint64_t)w->n);
        for (int64_t i = 0; c > 0 && i < w->n; i++) {
            double far = INFINITY;
            for (int64_t b = 0; b < c; b++) {
                const float *x = w->x + i * w->d, *y = w->centres + b * w->d;
                double dist = kernels()->sum_squares(x, w->d) +
                              kernels()->sum_squares(y, w->d) -
                              2 * (double)kernels()->dot(x, y, w->d);
                far = dist < far ? dist : far;
            }
            w->score[i] = far > 0 ? (float)far : 0;
            sum += (double)w->score[i];
        }
        double at = rng_f64(r) * sum;
        for (int64_t i = 0; c > 0 && sum > 0 && i < w->n; i++) {
            at -= (double)w->score[i];
            pick = i;
            if (at < 0)
                break;
        }
        memcpy(w->centres + c * w->d, w->x + pick * w->d, (size_t)w->d * sizeof(float));
    }
}

static void first_any(struct work *w, struct rng *r)
{
    for (int64_t i = 0; i < w->n; i++)
        w->order[i] = i;
    for (int64_t c = 0; c < w->k; c++) {
        int64_t at = c + (int64_t)rng_below(r, (uint64_t)(w->n - c)), row = w->order[at];
        w->order[at] = w->order[c];
        w->order[c] = row;
        memcpy(w->centres + c * w->d, w->x + row * w->d, (size_t)w->d * sizeof(float));
    }
}

static void iterate(struct work *w, int64_t most, int32_t *before)
{
    for (int64_t t = 0; t < most; t++) {
        kmeans_assign(w);
        if (t > 0 && memcmp(before, w->nearest, (size_t)w->n * sizeof(*before)) == 0)
            return;
        memcpy(before, w->nearest, (size_t)w->n * sizeof(*before));
        put_in_order(w);
        pool_for(w->pool, w->k, 1, mean_of, w);
        fill_empty(w);
    }
    kmeans_assign(w);
}

static void work_release(struct work *w)
{
    gemm_weight_destroy(w->packed);
    mem_free(w->bias);
    mem_free(w->score);
    mem_free(w->order);
    mem_free(w->at);
}

static enum rc work_init(struct work *w, struct err *err)
{
    w->bias = mem_try_alloc((size_t)w->k, sizeof(*w->bias));
    w->score = mem_try_alloc((size_t)w->n, sizeof(*w->score));
    enum rc rc = gemm_weight_create(w->k, w->d, GEMM_F32, false, &w->packed, err);
    if (!rc && (!w->bias || !w->score))
        rc = err_set(err, RC_NOMEM, "no memory for %jd points", (intmax_t)w->n);
    return rc;
}

enum rc kmeans_nearest(const float *x, int64_t n, int64_t d, const float *centres,
                       int64_t k, struct pool *pool, int32_t *nearest, struct err *err)
{
    struct work w = {.x = x,
                     .n = n,
                     .d = d,
                     .k = k,
                     .centres = (float *)(uintptr_t)centres,
                     .nearest = nearest,
                     .pool = pool};
    enum rc rc = work_init(&w, err);
    if (!rc)
        kmeans_assign(&w);
    work_release(&w);
    return rc;
}

enum rc kmeans(const float *x, int64_t n, int64_t d, const struct kmeans_conf *c,
               float *centres, int32_t *nearest, struct err *err)
{
    struct work w = {.x = x,
                     .n = n,
                     .d = d,
                     .k = c->k,
                     .centres = centres,
                     .nearest = nearest,
                     .pool = c->pool};
    struct rng r;
    enum rc rc = work_init(&w, err);
    int32_t *before = mem_try_alloc((size_t)n, sizeof(*before));
    w.order = mem_try_alloc((size_t)n, sizeof(*w.order));
    w.at = mem_try_alloc((size_t)c->k + 1, sizeof(*w.at));
    if (!rc && (!before || !w.order || !w.at))
        rc = err_set(err, RC_NOMEM, "no memory for %jd points", (intmax_t)n);
    if (!rc) {
        rng_init(&r, c->seed, c->stream, 0, 0);
        if (c->k <= SPREAD_MAX)
            first_spread(&w, &r);
        else
            first_any(&w, &r);
        iterate(&w, c->iterations, before);
    }
    work_release(&w);
    mem_free(before);
    return rc;
}
