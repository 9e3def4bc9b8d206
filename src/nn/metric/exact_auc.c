/* SPDX-License-Identifier: Apache-2.0 */
/* The exact AUC: the share of pairs of a positive and a negative row in which the
 * positive one scores higher, equal scores counting half. Scores are kept, 4 bytes each,
 * and sorted when asked (another 4). A histogram by the float's upper bits was the
 * alternative: bounded memory, but one more number that is almost right, and the binned
 * auc is that already.
 */
#include "base/mem.h"
#include "nn/metric/metric_private.h"
#include "nn/metric/sort.h"

struct exact {
    struct metric base;
    struct metric_kept negative, positive; /* floats */
};

static enum rc exact_init(struct metric *m, const struct msg *conf, struct err *err)
{
    struct exact *e = (struct exact *)m;
    e->negative.size = e->positive.size = sizeof(float);
    return RC_OK;
}

static void exact_release(struct metric *m)
{
    struct exact *e = (struct exact *)m;
    metric_kept_release(&e->negative);
    metric_kept_release(&e->positive);
}

static void exact_reset(struct metric *m)
{
    struct exact *e = (struct exact *)m;
    e->negative.n = e->positive.n = 0;
}

/* Room in both, within the limit for both together. */
static enum rc reserve(struct exact *e, int64_t negative, int64_t positive,
                       struct err *err)
{
    int64_t most = e->base.max_rows;
    enum rc rc = metric_kept_reserve(&e->negative, negative, most - e->positive.n, err);
    if (rc == RC_OK)
        rc = metric_kept_reserve(&e->positive, positive, most - e->negative.n - negative,
                                 err);
    return rc;
}

static enum rc exact_update(struct metric *m, const struct metric_rows *rows,
                            struct err *err)
{
    struct exact *e = (struct exact *)m;
    int64_t positive = 0;
    enum rc rc = metric_check_binary(rows, err);
    for (int64_t i = 0; i < rows->n; i++)
        positive += rows->label[i] == 1.0f;
    if (rc == RC_OK)
        rc = reserve(e, rows->n - positive, positive, err);
    for (int64_t i = 0; rc == RC_OK && i < rows->n; i++)
        metric_kept_add(rows->label[i] == 1.0f ? &e->positive : &e->negative,
                        &rows->pred[i], 1);
    return rc;
}

static enum rc exact_merge(struct metric *m, const struct metric *from, struct err *err)
{
    struct exact *e = (struct exact *)m;
    const struct exact *o = (const struct exact *)from;
    enum rc rc = reserve(e, o->negative.n, o->positive.n, err);
    if (rc)
        return rc;
    metric_kept_add(&e->negative, o->negative.at, o->negative.n);
    metric_kept_add(&e->positive, o->positive.at, o->positive.n);
    return RC_OK;
}

static void sorted_keys(const struct metric_kept *k, uint32_t *out, uint32_t *spare)
{
    const float *at = k->at;
    for (int64_t i = 0; i < k->n; i++)
        out[i] = metric_sort_key(at[i]);
    metric_sort_u32(out, spare, k->n);
}

/* Twice the pairs won: at most 2^61 with METRIC_ROWS_MAX rows. */
static uint64_t wins(const uint32_t *negative, int64_t n, const uint32_t *positive,
                     int64_t p)
{
    uint64_t sum = 0;
    int64_t below = 0, upto = 0; /* negatives below, and not above, the current score */
    for (int64_t i = 0; i < p; i++) {
        while (below < n && negative[below] < positive[i])
            below++;
        upto = upto < below ? below : upto;
        while (upto < n && negative[upto] == positive[i])
            upto++;
        sum += (uint64_t)(below + upto);
    }
    return sum;
}

static enum rc exact_compute(const struct metric *m, struct metric_value *out,
                             struct err *err)
{
    const struct exact *e = (const struct exact *)m;
    int64_t n = e->negative.n, p = e->positive.n;
    if (n == 0 || p == 0) {
        *out = metric_none(n + p == 0 ? "no rows"
                           : p == 0   ? "all labels are 0"
                                      : "all labels are 1");
        return RC_OK;
    }
    int64_t longer = n > p ? n : p;
    uint32_t *keys = mem_try_alloc((size_t)(n + p + longer), sizeof(*keys));
    if (!keys)
        return err_set(err, RC_NOMEM, "no memory to sort %jd rows", (intmax_t)(n + p));
    sorted_keys(&e->negative, keys, keys + n + p);
    sorted_keys(&e->positive, keys + n, keys + n + p);
    double won = (double)wins(keys, n, keys + n, p) / 2;
    mem_free(keys);
    *out = metric_number(won / (double)n / (double)p);
    return RC_OK;
}

static void exact_save(const struct metric *m, const char *prefix, struct nn_state *out)
{
    const struct exact *e = (const struct exact *)m;
    nn_state_add(out, STATE_F32, e->negative.at, e->negative.n, "%snegative", prefix);
    nn_state_add(out, STATE_F32, e->positive.at, e->positive.n, "%spositive", prefix);
}

static enum rc exact_load(struct metric *m, const char *prefix, const struct nn_state *in,
                          struct err *err)
{
    struct exact *e = (struct exact *)m;
    int64_t most = m->max_rows;
    enum rc rc =
        metric_kept_load(&e->negative, STATE_F32, prefix, "negative", in, most, err);
    if (rc == RC_OK)
        rc = metric_kept_load(&e->positive, STATE_F32, prefix, "positive", in,
                              most - e->negative.n, err);
    return rc;
}

const struct metric_ops metric_exact_auc = {
    .name = "exact_auc",
    .size = sizeof(struct exact),
    .wants = METRIC_PROB,
    .init = exact_init,
    .release = exact_release,
    .reset = exact_reset,
    .update = exact_update,
    .merge = exact_merge,
    .compute = exact_compute,
    .save = exact_save,
    .load = exact_load,
};
