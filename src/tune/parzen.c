/* SPDX-License-Identifier: Apache-2.0 */
#include "tune/parzen.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "tune/normal.h"

#define SIGMA_LEAST 1e-12

void parzen_weights(int64_t n, int64_t forget, double *w)
{
    int64_t ramp = n >= forget ? n - forget : 0;
    for (int64_t i = 0; i < ramp; i++) {
        double first = 1.0 / (double)n;
        w[i] = ramp == 1 ? first : first + (1 - first) * (double)i / (double)(ramp - 1);
    }
    for (int64_t i = ramp; i < n; i++)
        w[i] = 1;
}

struct item {
    double v, w;
    int64_t order;
};

static int compare(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    if (x->v != y->v)
        return x->v < y->v ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

static double width(const struct parzen *p, int64_t i, double deviation)
{
    if (p->n == 1)
        return deviation;
    if (p->n == 2)
        return deviation / 2;
    double left = i > 0 ? p->mu[i] - p->mu[i - 1] : 0;
    double right = i + 1 < p->n ? p->mu[i + 1] - p->mu[i] : 0;
    return fmax(left, right);
}

static void set_widths(struct parzen *p, int64_t prior, double deviation)
{
    double least = deviation / fmin(100, (double)p->n + 1);
    for (int64_t i = 0; i < p->n; i++) {
        double s = i == prior ? deviation : width(p, i, deviation);
        p->sigma[i] = fmax(fmin(fmax(s, least), deviation), SIGMA_LEAST);
    }
}

static void set_mass(struct parzen *p)
{
    double mass = 0;
    for (int64_t i = 0; i < p->n; i++)
        mass += p->weight[i] * (tune_normal_cdf((p->high - p->mu[i]) / p->sigma[i]) -
                                tune_normal_cdf((p->low - p->mu[i]) / p->sigma[i]));
    p->log_mass = log(fmax(mass, 1e-300));
}

void parzen_fit(struct parzen *p, const double *values, const double *weights, int64_t n,
                double prior_weight, double mean, double deviation, double low,
                double high)
{
    struct item *items = mem_alloc((size_t)(n + 1) * sizeof(*items));
    for (int64_t i = 0; i < n; i++)
        items[i] = (struct item){.v = values[i], .w = weights[i], .order = i};
    items[n] = (struct item){.v = mean, .w = prior_weight, .order = n};
    qsort(items, (size_t)n + 1, sizeof(*items), compare);

    double *room = mem_alloc((size_t)(n + 1) * 4 * sizeof(*room));
    *p = (struct parzen){.n = n + 1,
                         .mu = room,
                         .sigma = room + n + 1,
                         .weight = room + 2 * (n + 1),
                         .log_height = room + 3 * (n + 1),
                         .low = low,
                         .high = high};
    double sum = 0;
    int64_t prior = -1;
    for (int64_t i = 0; i <= n; i++) {
        p->mu[i] = items[i].v;
        sum += items[i].w;
        if (prior < 0 && items[i].v >= mean)
            prior = i;
    }
    for (int64_t i = 0; i <= n; i++)
        p->weight[i] = items[i].w / sum;
    set_widths(p, prior, deviation);
    for (int64_t i = 0; i <= n; i++)
        p->log_height[i] = log(fmax(p->weight[i], 1e-300) / p->sigma[i]);
    if (isfinite(low))
        set_mass(p);
    mem_free(items);
}

void parzen_release(struct parzen *p)
{
    mem_free(p->mu);
    *p = (struct parzen){0};
}

double parzen_draw(const struct parzen *p, struct rng *r)
{
    if (p->low >= p->high)
        return p->low;
    for (;;) {
        double u = rng_f64(r);
        int64_t i = 0;
        while (i + 1 < p->n && u >= p->weight[i])
            u -= p->weight[i++];
        double v = p->mu[i] + p->sigma[i] * rng_normal(r);
        if (v >= p->low && v <= p->high)
            return v;
    }
}

double parzen_log_pdf(const struct parzen *p, double x)
{
    const double log_root = 0.91893853320467274178; /* ln sqrt(2 pi) */
    double top = -INFINITY, sum = 0;
    for (int64_t i = 0; i < p->n; i++) {
        double z = (x - p->mu[i]) / p->sigma[i];
        double l = p->log_height[i] - 0.5 * z * z;
        if (l > top) {
            sum = sum * exp(top - l) + 1;
            top = l;
        } else {
            sum += exp(l - top);
        }
    }
    return top + log(sum) - log_root - p->log_mass;
}
