/* SPDX-License-Identifier: Apache-2.0 */
/* All pairs are counted in n log n: rows sorted by label, equal labels by falling
 * prediction, leave as right pairs just those whose predictions rise.
 */
#include "nn/metric/pairs.h"

#include <math.h>

#include "base/mem.h"
#include "nn/metric/sort.h"

void metric_pairs_release(struct metric_pairs *p)
{
    mem_free(p->memory);
    *p = (struct metric_pairs){0};
}

uint64_t metric_pairs_total(int64_t n)
{
    return n < 2 ? 0 : (uint64_t)n * (uint64_t)(n - 1) / 2;
}

enum rc metric_pairs_count(struct metric_pairs *p, const float *pred, const float *label,
                           int64_t n, uint64_t *right, struct err *err)
{
    if (n > p->cap) {
        void *memory =
            mem_try_realloc(p->memory, (size_t)n, 2 * sizeof(struct metric_sort_row));
        if (!memory)
            return err_set(err, RC_NOMEM, "no memory to sort %jd rows", (intmax_t)n);
        p->memory = memory;
        p->cap = n;
    }
    struct metric_sort_row *rows = p->memory;
    for (int64_t i = 0; i < n; i++)
        rows[i] = (struct metric_sort_row){metric_sort_key(label[i]),
                                           ~metric_sort_key(pred[i])};
    metric_sort_rows(rows, rows + n, n);
    /* The second half is free again. */
    uint32_t *keys = (uint32_t *)(rows + n);
    for (int64_t i = 0; i < n; i++)
        keys[i] = ~(uint32_t)rows[i].second;
    *right = (uint64_t)metric_sort_count_pairs(keys, keys + n, n);
    return RC_OK;
}

void metric_pairs_at(uint64_t f, int64_t *a, int64_t *b)
{
    uint64_t i = (uint64_t)((sqrt(1 + 8 * (double)f) - 1) / 2);
    /* The root is rounded: set it right in whole numbers. */
    while (i * (i + 1) / 2 > f)
        i--;
    while ((i + 1) * (i + 2) / 2 <= f)
        i++;
    *a = (int64_t)(f - i * (i + 1) / 2);
    *b = (int64_t)i + 1;
}

uint64_t metric_pairs_sample(struct rng *rng, const float *pred, const float *label,
                             int64_t n, uint64_t draws)
{
    uint64_t total = metric_pairs_total(n), right = 0;
    for (uint64_t k = 0; k < draws; k++) {
        int64_t a, b;
        metric_pairs_at(rng_below(rng, total), &a, &b);
        right += (label[a] < label[b] && pred[a] < pred[b]) ||
                 (label[a] > label[b] && pred[a] > pred[b]);
    }
    return right;
}
