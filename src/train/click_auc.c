/* SPDX-License-Identifier: Apache-2.0 */
#include "train/click_auc.h"

#include <string.h>

#include "base/mem.h"

/* [2 * buckets]: positives, then negatives. */
struct train_click_auc {
    int64_t buckets, window;
    int64_t *all, *last;
    int64_t *ring; /* [window]: of each of the last batches */
    int64_t at;    /* in the ring, where the next one goes */
};

static size_t words(const struct train_click_auc *a)
{
    return (size_t)(2 * a->buckets);
}

struct train_click_auc *train_click_auc_create(int64_t thresholds, int64_t window)
{
    struct train_click_auc *a = mem_calloc(1, sizeof(*a));
    a->buckets = thresholds + 1;
    a->window = window;
    a->all = mem_calloc(words(a), sizeof(*a->all));
    a->last = mem_calloc(words(a), sizeof(*a->last));
    a->ring = mem_calloc(words(a) * (size_t)window + 1, sizeof(*a->ring));
    return a;
}

void train_click_auc_destroy(struct train_click_auc *a)
{
    if (!a)
        return;
    mem_free(a->all);
    mem_free(a->last);
    mem_free(a->ring);
    mem_free(a);
}

void train_click_auc_reset(struct train_click_auc *a)
{
    memset(a->all, 0, words(a) * sizeof(*a->all));
    memset(a->last, 0, words(a) * sizeof(*a->last));
    memset(a->ring, 0, words(a) * (size_t)a->window * sizeof(*a->ring));
    a->at = 0;
}

/* The oldest batch gives its place to the one that comes. */
static int64_t *make_place(struct train_click_auc *a)
{
    int64_t *here = a->ring + (size_t)a->at * words(a);
    if (a->window == 0)
        return NULL;
    for (size_t i = 0; i < words(a); i++) {
        a->last[i] -= here[i];
        here[i] = 0;
    }
    a->at = (a->at + 1) % a->window;
    return here;
}

enum rc train_click_auc_add(struct train_click_auc *a, const float *probs, int64_t stride,
                            const float *labels, int64_t n, struct err *err)
{
    for (int64_t i = 0; i < n; i++)
        if (!(probs[i * stride] >= 0 && probs[i * stride] <= 1))
            return err_coded(err, RC_INVAL, E1404,
                             "row %jd of the batch: %g is not a probability", (intmax_t)i,
                             (double)probs[i * stride]);
    int64_t *here = make_place(a);
    for (int64_t i = 0; i < n; i++) {
        int64_t bucket = (int64_t)((double)probs[i * stride] * (double)(a->buckets - 1));
        int64_t k = bucket + (labels[i] > 0 ? 0 : a->buckets);
        a->all[k]++;
        a->last[k]++;
        if (here)
            here[k]++;
    }
    return RC_OK;
}

static double area_of(const int64_t *counts, int64_t buckets)
{
    double area = 0, pos = 0, neg = 0;
    for (int64_t i = buckets - 1; i >= 0; i--) {
        double p = (double)counts[i], n = (double)counts[buckets + i];
        area += n * (pos + pos + p) / 2;
        pos += p;
        neg += n;
    }
    return pos > 0 && neg > 0 ? area / pos / neg : 0;
}

double train_click_auc_all(const struct train_click_auc *a)
{
    return area_of(a->all, a->buckets);
}

double train_click_auc_last(const struct train_click_auc *a)
{
    return area_of(a->window ? a->last : a->all, a->buckets);
}
