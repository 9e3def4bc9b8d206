/* SPDX-License-Identifier: Apache-2.0 */
#include "tune/unit.h"

#include <math.h>

#include "base/mem.h"
#include "text/node.h"
#include "tune/normal.h"
#include "tune/point.h"

#define HOT 0.70710678118654752440 /* two different options are 1 apart */

static bool numbers(const struct nni_param *p, double *low, double *high)
{
    *low = INFINITY;
    *high = -INFINITY;
    for (int64_t k = 0; k < p->size; k++) {
        double v;
        if (!node_number(p->options[k], &v) || !isfinite(v))
            return false;
        *low = fmin(*low, v);
        *high = fmax(*high, v);
    }
    return true;
}

static void init_choice(struct tune_unit_axis *a, const struct nni_param *p)
{
    double low, high, v = 0;
    if (!numbers(p, &low, &high)) {
        a->one_hot = true;
        a->n = p->size;
        return;
    }
    a->places = mem_calloc((size_t)p->size, sizeof(*a->places));
    for (int64_t k = 0; k < p->size; k++)
        if (node_number(p->options[k], &v))
            a->places[k] = high > low ? (v - low) / (high - low) : 0;
}

void tune_unit_init(struct tune_unit *u, const struct nni_space *s)
{
    *u = (struct tune_unit){.space = s,
                            .axes = mem_calloc((size_t)s->n + 1, sizeof(*u->axes))};
    for (int64_t i = 0; i < s->n; i++) {
        u->axes[i] = (struct tune_unit_axis){.param = i, .at = u->n, .n = 1};
        if (s->at[i].type == NNI_CHOICE)
            init_choice(&u->axes[i], &s->at[i]);
        u->n += u->axes[i].n;
    }
}

void tune_unit_release(struct tune_unit *u)
{
    for (int64_t i = 0; u->space && i < u->space->n; i++)
        mem_free(u->axes[i].places);
    mem_free(u->axes);
    *u = (struct tune_unit){0};
}

double tune_unit_scale(const struct nni_param *p, double v)
{
    v = tune_point_settle(p, v);
    if (p->type == NNI_RANDINT)
        return p->size > 1 ? v / (double)(p->size - 1) : 0;
    if (p->sigma > 0)
        return tune_normal_cdf((v - p->mu) / p->sigma);
    return p->high > p->low ? fmin(fmax((v - p->low) / (p->high - p->low), 0), 1) : 0;
}

double tune_unit_unscale(const struct nni_param *p, double c)
{
    c = fmin(fmax(c, 0), 1);
    if (p->type == NNI_RANDINT)
        return rint(c * (double)(p->size - 1));
    if (p->sigma > 0)
        return p->mu + p->sigma * tune_normal_quantile(fmin(fmax(c, 1e-9), 1 - 1e-9));
    return p->low + (p->high - p->low) * c;
}

void tune_unit_of(const struct tune_unit *u, const double *x, double *v)
{
    for (int64_t i = 0; i < u->space->n; i++) {
        const struct tune_unit_axis *a = &u->axes[i];
        const struct nni_param *p = &u->space->at[i];
        if (a->places)
            v[a->at] = a->places[(int64_t)x[i]];
        else if (!a->one_hot)
            v[a->at] = tune_unit_scale(p, x[i]);
        for (int64_t k = 0; a->one_hot && k < a->n; k++)
            v[a->at + k] = x[i] == (double)k ? HOT : 0;
    }
}

static double nearest_option(const struct tune_unit_axis *a, int64_t size,
                             const double *v)
{
    int64_t best = 0;
    for (int64_t k = 1; k < size; k++)
        if (a->one_hot ? v[k] > v[best]
                       : fabs(a->places[k] - v[0]) < fabs(a->places[best] - v[0]))
            best = k;
    return (double)best;
}

void tune_unit_point(const struct tune_unit *u, const double *v, double *x)
{
    for (int64_t i = 0; i < u->space->n; i++) {
        const struct tune_unit_axis *a = &u->axes[i];
        const struct nni_param *p = &u->space->at[i];
        x[i] = p->type == NNI_CHOICE ? nearest_option(a, p->size, v + a->at)
                                     : tune_unit_unscale(p, v[a->at]);
    }
}
