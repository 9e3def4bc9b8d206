/* SPDX-License-Identifier: Apache-2.0 */
#include "dist/ps_rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define FLOAT_SIZE sizeof(float)

static enum rc grow(struct dist_ps_rows *r, int64_t n, struct err *err)
{
    int64_t room = r->room ? r->room : 64;
    if (n <= r->room)
        return RC_OK;
    while (room < n)
        room *= 2;
    int64_t *ids = mem_try_alloc((size_t)room, sizeof(*ids));
    float *sums = mem_try_alloc((size_t)room, (size_t)r->dim * FLOAT_SIZE);
    if (!ids || !sums) {
        mem_free(ids);
        mem_free(sums);
        return err_set(err, RC_NOMEM, "no memory for gradients of %jd rows", (intmax_t)n);
    }
    if (r->n) {
        memcpy(ids, r->ids, (size_t)r->n * sizeof(*ids));
        memcpy(sums, r->sums, (size_t)(r->n * r->dim) * FLOAT_SIZE);
    }
    mem_free(r->ids);
    mem_free(r->sums);
    r->ids = ids;
    r->sums = sums;
    r->room = room;
    return RC_OK;
}

enum rc dist_ps_rows_add(struct dist_ps_rows *r, int64_t dim, const void *ids,
                         const void *sums, int64_t n, struct err *err)
{
    r->dim = dim;
    enum rc rc = grow(r, r->n + n, err);
    if (rc || n == 0)
        return rc;
    memcpy(r->ids + r->n, ids, (size_t)n * sizeof(*r->ids));
    memcpy(r->sums + r->n * dim, sums, (size_t)(n * dim) * FLOAT_SIZE);
    r->n += n;
    r->lists++;
    return RC_OK;
}

struct place {
    int64_t id, at;
};

static int by_id(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    if (x->id != y->id)
        return x->id < y->id ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

static void sum_places(struct dist_ps_rows *r, const struct place *places, int64_t *ids,
                       float *sums)
{
    int64_t n = 0, dim = r->dim;
    for (int64_t i = 0; i < r->n; i++) {
        const float *from = r->sums + places[i].at * dim;
        if (i > 0 && places[i].id == places[i - 1].id) {
            float *to = sums + (n - 1) * dim;
            for (int64_t k = 0; k < dim; k++)
                to[k] += from[k];
            continue;
        }
        ids[n] = places[i].id;
        memcpy(sums + n++ * dim, from, (size_t)dim * FLOAT_SIZE);
    }
    r->n = n;
}

enum rc dist_ps_rows_merge(struct dist_ps_rows *r, struct err *err)
{
    if (r->n < 2)
        return RC_OK;
    struct place *places = mem_try_alloc((size_t)r->n, sizeof(*places));
    int64_t *ids = mem_try_alloc((size_t)r->room, sizeof(*ids));
    float *sums = mem_try_alloc((size_t)r->room, (size_t)r->dim * FLOAT_SIZE);
    enum rc rc = places && ids && sums
                     ? RC_OK
                     : err_set(err, RC_NOMEM, "no memory to merge gradients");
    if (!rc) {
        for (int64_t i = 0; i < r->n; i++)
            places[i] = (struct place){.id = r->ids[i], .at = i};
        qsort(places, (size_t)r->n, sizeof(*places), by_id);
        sum_places(r, places, ids, sums);
        mem_free(r->ids);
        mem_free(r->sums);
        r->ids = ids;
        r->sums = sums;
    } else {
        mem_free(ids);
        mem_free(sums);
    }
    mem_free(places);
    return rc;
}

void dist_ps_rows_scale(struct dist_ps_rows *r, float by)
{
    for (int64_t i = 0; i < r->n * r->dim; i++)
        r->sums[i] *= by;
}

void dist_ps_rows_clear(struct dist_ps_rows *r)
{
    r->n = 0;
    r->lists = 0;
}

void dist_ps_rows_release(struct dist_ps_rows *r)
{
    mem_free(r->ids);
    mem_free(r->sums);
    *r = (struct dist_ps_rows){0};
}
