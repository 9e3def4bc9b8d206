/* SPDX-License-Identifier: Apache-2.0 */
/* The estimate is that of O. Ertl, "New cardinality estimation algorithms for HyperLogLog
 * sketches" (2017): one formula for all sizes, no tables of corrections. Frequent values:
 * J. Misra and D. Gries (1982), many decrements at once as in Anderson et al. (2017).
 */
#include "data/sketch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define SLOTS (2 * (size_t)TOP_MAX)

void hll_merge(struct hll *to, const struct hll *from)
{
    for (size_t i = 0; i < HLL_SIZE; i++)
        if (from->at[i] > to->at[i])
            to->at[i] = from->at[i];
}

static double sigma(double x)
{
    double y = 1, z = x, before;
    if (x >= 1)
        return (double)INFINITY;
    do {
        x *= x;
        before = z;
        z += x * y;
        y += y;
    } while (z > before);
    return z;
}

static double tau(double x)
{
    double y = 1, z = 1 - x, before;
    if (x <= 0 || x >= 1)
        return 0;
    do {
        x = sqrt(x);
        before = z;
        y *= 0.5;
        z -= (1 - x) * (1 - x) * y;
    } while (z < before);
    return z / 3;
}

double hll_count(const struct hll *h)
{
    const int q = 64 - HLL_BITS;
    const double m = (double)HLL_SIZE;
    int64_t of[66] = {0};
    for (size_t i = 0; i < HLL_SIZE; i++)
        of[h->at[i]]++;
    double z = m * tau(1 - (double)of[q + 1] / m);
    for (int k = q; k >= 1; k--)
        z = 0.5 * (z + (double)of[k]);
    z += m * sigma((double)of[0] / m);
    return 0.72134752044448170368 * m * m / z;
}

void top_init(struct top *t)
{
    *t = (struct top){.slots = mem_calloc(SLOTS, sizeof(*t->slots))};
}

void top_release(struct top *t)
{
    mem_free(t->slots);
    *t = (struct top){0};
}

static struct top_item *slot_of(struct top_item *slots, uint64_t hash)
{
    size_t i = (size_t)hash & (SLOTS - 1);
    while (slots[i].count && slots[i].hash != hash)
        i = (i + 1) & (SLOTS - 1);
    return &slots[i];
}

static int by_number(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Takes the median count from all, which drops about half of them. */
static void purge(struct top *t)
{
    int64_t *counts = mem_alloc(t->n * sizeof(*counts));
    struct top_item *old = t->slots;
    size_t n = 0;
    for (size_t i = 0; i < SLOTS; i++)
        if (old[i].count)
            counts[n++] = old[i].count;
    qsort(counts, n, sizeof(*counts), by_number);
    int64_t less = counts[n / 2];
    mem_free(counts);
    t->slots = mem_calloc(SLOTS, sizeof(*t->slots));
    t->n = 0;
    t->lost += less;
    for (size_t i = 0; i < SLOTS; i++) {
        if (old[i].count <= less)
            continue;
        struct top_item *to = slot_of(t->slots, old[i].hash);
        *to = old[i];
        to->count -= less;
        t->n++;
    }
    mem_free(old);
}

void top_add(struct top *t, uint64_t hash, int64_t count, uint64_t bits, struct str s)
{
    struct top_item *at = slot_of(t->slots, hash);
    if (at->count) {
        at->count += count;
        return;
    }
    if (t->n == TOP_MAX) {
        purge(t);
        at = slot_of(t->slots, hash);
    }
    t->n++;
    *at =
        (struct top_item){.hash = hash, .count = count, .bits = bits, .n = (uint32_t)s.n};
    memcpy(at->text, s.p, s.n < TOP_TEXT ? s.n : TOP_TEXT);
}

static int by_count(const void *a, const void *b)
{
    const struct top_item *x = a, *y = b;
    if (x->count != y->count)
        return x->count < y->count ? 1 : -1;
    return (x->hash > y->hash) - (x->hash < y->hash);
}

size_t top_list(const struct top *t, struct top_item *out, size_t n)
{
    struct top_item *all = mem_alloc((t->n ? t->n : 1) * sizeof(*all));
    size_t k = 0;
    for (size_t i = 0; i < SLOTS; i++)
        if (t->slots[i].count)
            all[k++] = t->slots[i];
    qsort(all, k, sizeof(*all), by_count);
    if (n > k)
        n = k;
    memcpy(out, all, n * sizeof(*out));
    mem_free(all);
    return n;
}
