/* SPDX-License-Identifier: Apache-2.0 */
#include "nn/metric/bins.h"

#include <string.h>

#include "base/mem.h"

/* The float32 values of torch.linspace(0, 1, n), to the last bit, so that a score at a
 * threshold falls into the same bin: multiples of a rounded step from the nearer end, with one
 * rounding each (what a fused multiply-add gives there).
 */
static void fill_linspace(float *at, int64_t n)
{
    double step = (double)(1.0f / (float)(n - 1));
    for (int64_t k = 0; k < n; k++)
        at[k] = (float)(k < n / 2 ? step * (double)k : 1.0 - step * (double)(n - 1 - k));
}

enum rc metric_bins_init(struct metric_bins *b, int64_t n, struct err *err)
{
    if (n < 2 || n > BINS_MAX)
        return err_set(err, RC_INVAL, "thresholds: %jd is outside [2, %jd]", (intmax_t)n,
                       (intmax_t)BINS_MAX);
    *b = (struct metric_bins){.n = n};
    b->threshold = mem_try_alloc((size_t)n, sizeof(float));
    b->negative = mem_try_calloc((size_t)n, sizeof(double));
    b->positive = mem_try_calloc((size_t)n, sizeof(double));
    if (!b->threshold || !b->negative || !b->positive) {
        metric_bins_release(b);
        return err_set(err, RC_NOMEM, "no memory for %jd thresholds", (intmax_t)n);
    }
    fill_linspace(b->threshold, n);
    return RC_OK;
}

void metric_bins_release(struct metric_bins *b)
{
    mem_free(b->threshold);
    mem_free(b->negative);
    mem_free(b->positive);
    *b = (struct metric_bins){0};
}

void metric_bins_reset(struct metric_bins *b)
{
    memset(b->negative, 0, (size_t)b->n * sizeof(double));
    memset(b->positive, 0, (size_t)b->n * sizeof(double));
}

void metric_bins_add(struct metric_bins *b, const struct metric_bins *from)
{
    for (int64_t k = 0; k < b->n; k++) {
        b->negative[k] += from->negative[k];
        b->positive[k] += from->positive[k];
    }
}

/* The product may be off by one where the score lies at a threshold. */
int64_t metric_bins_find(const float *threshold, int64_t n, float score)
{
    int64_t k = (int64_t)((double)score * (double)(n - 1));
    if (k > n - 1)
        k = n - 1;
    while (k > 0 && threshold[k] > score)
        k--;
    while (k + 1 < n && threshold[k + 1] <= score)
        k++;
    return k;
}

double metric_bins_sum(const double *count, int64_t n)
{
    double sum = 0;
    for (int64_t k = 0; k < n; k++)
        sum += count[k];
    return sum;
}

double metric_bins_area(const double *negative, const double *positive, int64_t n)
{
    double x = negative[n - 1], y = positive[n - 1], area = 0;
    for (int64_t k = n - 2; k >= 0; k--) {
        area += negative[k] * (y + y + positive[k]) / 2;
        x += negative[k];
        y += positive[k];
    }
    return x > 0 && y > 0 ? area / x / y : 0;
}

/* Rows that no threshold tells apart. Above the last one the curve of TorchEasyRec's metric,
 * which starts there and not at (0, 0), has no area at all.
 */
static const char *all_alike(const struct metric_bins *b)
{
    int64_t used = 0, last = 0;
    for (int64_t k = 0; k < b->n; k++)
        if (b->negative[k] > 0 || b->positive[k] > 0) {
            used++;
            last = k;
        }
    if (used > 1)
        return NULL;
    return last == b->n - 1
               ? "every score is 1, where the curve starts, as in TorchEasyRec; rows that "
                 "are not told apart are 0.5 otherwise"
               : "no threshold lies between any two scores: rows are not told apart, or "
                 "more thresholds are needed";
}

struct metric_value metric_bins_auc(const struct metric_bins *b)
{
    double negative = metric_bins_sum(b->negative, b->n),
           positive = metric_bins_sum(b->positive, b->n);
    if (negative == 0 && positive == 0)
        return metric_none("no rows");
    if (positive == 0)
        return metric_none("all labels are 0");
    if (negative == 0)
        return metric_none("all labels are 1");
    struct metric_value v =
        metric_number(metric_bins_area(b->negative, b->positive, b->n));
    v.why = all_alike(b);
    return v;
}

void metric_bins_save(const struct metric_bins *b, const char *prefix,
                      struct nn_state *out)
{
    nn_state_add(out, STATE_F64, b->negative, b->n, "%snegative", prefix);
    nn_state_add(out, STATE_F64, b->positive, b->n, "%spositive", prefix);
}

enum rc metric_bins_load(struct metric_bins *b, const char *prefix,
                         const struct nn_state *in, struct err *err)
{
    enum rc rc = metric_copy(in, prefix, "negative", STATE_F64, b->negative, b->n, err);
    if (rc == RC_OK)
        rc = metric_copy(in, prefix, "positive", STATE_F64, b->positive, b->n, err);
    if (rc == RC_OK)
        rc = metric_check_counts(b->negative, b->n, err);
    if (rc == RC_OK)
        rc = metric_check_counts(b->positive, b->n, err);
    return rc;
}
