/* SPDX-License-Identifier: Apache-2.0 */
/* Domhan et al., "Speeding up automatic hyperparameter optimization of deep neural
 * networks by extrapolation of learning curves", IJCAI 2015, as NNI does it: twelve
 * families of curves are fitted to the results so far; when their mean at the last epoch
 * stays below a share of the best result known, the trial is stopped. NNI weighs the
 * curves by a chain of twenty small random steps, which leaves the weights where they
 * were; here they are equal.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "text/nni/nni.h"
#include "tune/assessor_private.h"

#define PARAMS_MAX 4
#define FIT_STEPS 200
#define CURVES_LEAST 4 /* that must agree before anything is stopped */

struct curvefitting {
    double best;
    bool has_best;
};

typedef double curve_fn(double x, const double *p);

static double vap(double x, const double *p)
{
    return exp(p[0] + p[1] / x + p[2] * log(x));
}
static double pow3(double x, const double *p) /* c, a, alpha */
{
    return p[0] - p[1] * pow(x, -p[2]);
}
static double linear(double x, const double *p)
{
    return p[0] * x + p[1];
}
static double logx_linear(double x, const double *p)
{
    return p[0] * log(x) + p[1];
}
static double dr_hill(double x, const double *p) /* theta, eta, kappa */
{
    return p[0] * pow(x, p[1]) / (pow(p[2], p[1]) + pow(x, p[1]));
}
static double log_power(double x, const double *p)
{
    return p[0] / (1 + pow(x / exp(p[1]), p[2]));
}
static double pow4(double x, const double *p) /* alpha, a, b, c */
{
    return p[3] - pow(p[1] * x + p[2], -p[0]);
}
static double mmf(double x, const double *p) /* alpha, beta, kappa, delta */
{
    return p[0] - (p[0] - p[1]) / (1 + pow(p[2] * x, p[3]));
}
static double exp4(double x, const double *p) /* c, a, b, alpha */
{
    return p[0] - exp(-p[1] * pow(x, p[3]) + p[2]);
}
static double ilog2(double x, const double *p) /* c, a */
{
    return p[0] - p[1] / log(x);
}
static double weibull(double x, const double *p) /* alpha, beta, kappa, delta */
{
    return p[0] - (p[0] - p[1]) * exp(-pow(p[2] * x, p[3]));
}
static double janoschek(double x, const double *p) /* a, beta, k, delta */
{
    return p[0] - (p[0] - p[1]) * exp(-p[2] * pow(x, p[3]));
}

/* What a fit that fails falls back to. */
static const struct curve {
    curve_fn *f;
    int n;
    double otherwise[PARAMS_MAX];
} curves[] = {
    {vap, 3, {-.622028, -.470050, .042322}},
    {pow3, 3, {.84, .52, .01}},
    {linear, 2, {1, 0}},
    {logx_linear, 2, {.378106, .046506}},
    {dr_hill, 3, {.772320, .586449, 2.460843}},
    {log_power, 3, {.77, 2.98, -.51}},
    {pow4, 4, {.1, 200, 0, .8}},
    {mmf, 4, {.7, .1, .01, 5}},
    {exp4, 4, {.7, .8, -.8, .3}},
    {ilog2, 2, {.78, .43}},
    {weibull, 4, {.7, .1, .01, 1}},
    {janoschek, 4, {.73, .07, .355, .46}},
};

static double squares(const struct curve *c, const double *p, const double *y, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        double d = c->f((double)(i + 1), p) - y[i];
        sum += d * d;
    }
    return isfinite(sum) ? sum : INFINITY;
}

/* A x = b in place, for the few unknowns of a curve; false when A has no inverse. */
static bool curvefitting_solve(int n, double a[PARAMS_MAX][PARAMS_MAX], double *b)
{
    for (int i = 0; i < n; i++) {
        int pivot = i;
        for (int k = i + 1; k < n; k++)
            if (fabs(a[k][i]) > fabs(a[pivot][i]))
                pivot = k;
        if (!(fabs(a[pivot][i]) > 1e-300))
            return false;
        for (int k = 0; k < n; k++) {
            double t = a[i][k];
            a[i][k] = a[pivot][k];
            a[pivot][k] = t;
        }
        double t = b[i];
        b[i] = b[pivot];
        b[pivot] = t;
        for (int k = i + 1; k < n; k++) {
            double f = a[k][i] / a[i][i];
            for (int j = i; j < n; j++)
                a[k][j] -= f * a[i][j];
            b[k] -= f * b[i];
        }
    }
    for (int i = n - 1; i >= 0; i--) {
        for (int k = i + 1; k < n; k++)
            b[i] -= a[i][k] * b[k];
        b[i] /= a[i][i];
    }
    return true;
}

/* The normal equations at p: a = J'J, g = J'(y - f). */
static bool normal_equations(const struct curve *c, const double *p, const double *y,
                             size_t n, double a[PARAMS_MAX][PARAMS_MAX], double *g)
{
    memset(a, 0, sizeof(double) * PARAMS_MAX * PARAMS_MAX);
    memset(g, 0, sizeof(double) * PARAMS_MAX);
    for (size_t i = 0; i < n; i++) {
        double x = (double)(i + 1), at = c->f(x, p), j[PARAMS_MAX];
        if (!isfinite(at))
            return false;
        for (int k = 0; k < c->n; k++) {
            double q[PARAMS_MAX], h = 1e-7 * fmax(fabs(p[k]), 1e-2);
            memcpy(q, p, sizeof(q));
            q[k] += h;
            j[k] = (c->f(x, q) - at) / h;
            if (!isfinite(j[k]))
                return false;
        }
        for (int k = 0; k < c->n; k++) {
            g[k] += j[k] * (y[i] - at);
            for (int l = 0; l < c->n; l++)
                a[k][l] += j[k] * j[l];
        }
    }
    return true;
}

/* Levenberg and Marquardt's way down from all ones; false when it leads nowhere. */
static bool curvefitting_fit(const struct curve *c, const double *y, size_t n, double *p)
{
    double damp = 1e-3;
    for (int i = 0; i < PARAMS_MAX; i++)
        p[i] = 1;
    double best = squares(c, p, y, n);
    if (!isfinite(best))
        return false;
    for (int step = 0; step < FIT_STEPS && damp < 1e12; step++) {
        double a[PARAMS_MAX][PARAMS_MAX], g[PARAMS_MAX], q[PARAMS_MAX];
        if (!normal_equations(c, p, y, n, a, g))
            return false;
        for (int k = 0; k < c->n; k++)
            a[k][k] += damp * fmax(a[k][k], 1e-12);
        if (!curvefitting_solve(c->n, a, g))
            return false;
        for (int k = 0; k < PARAMS_MAX; k++)
            q[k] = p[k] + (k < c->n ? g[k] : 0);
        double now = squares(c, q, y, n);
        if (!(now < best)) {
            damp *= 4;
            continue;
        }
        bool settled = best - now < 1e-12 * best;
        memcpy(p, q, sizeof(q));
        best = now;
        damp = fmax(damp / 4, 1e-12);
        if (settled)
            break;
    }
    return true;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Mean of the curves that fit and agree, at epoch `last`; NAN: too few do. */
static double curvefitting_predict(const double *y, size_t n, double last)
{
    double at_end[ARRAY_LEN(curves)], now[ARRAY_LEN(curves)], sorted[ARRAY_LEN(curves)];
    size_t kept = 0;
    double mean = 0;
    for (size_t i = 0; i < n; i++)
        mean += y[i] / (double)n;
    for (size_t k = 0; k < ARRAY_LEN(curves); k++) {
        double p[PARAMS_MAX];
        if (!curvefitting_fit(&curves[k], y, n, p))
            memcpy(p, curves[k].otherwise, sizeof(p));
        if (!(squares(&curves[k], p, y, n) < (double)n * mean * mean))
            continue;
        at_end[kept] = curves[k].f(last, p);
        now[kept] = curves[k].f((double)n, p);
        if (isfinite(at_end[kept]) && isfinite(now[kept]))
            kept++;
    }
    if (kept < CURVES_LEAST)
        return NAN;
    memcpy(sorted, now, kept * sizeof(*sorted));
    qsort(sorted, kept, sizeof(*sorted), ascending);
    double median =
        kept % 2 ? sorted[kept / 2] : (sorted[kept / 2 - 1] + sorted[kept / 2]) / 2;
    double average = 0, square = 0, sum = 0;
    for (size_t k = 0; k < kept; k++)
        average += now[k] / (double)kept;
    for (size_t k = 0; k < kept; k++)
        square += (now[k] - average) * (now[k] - average) / (double)kept;
    double reach = (double)n / 10 * sqrt(square);
    size_t agree = 0;
    for (size_t k = 0; k < kept; k++)
        if (fabs(at_end[k] - median) < reach) {
            sum += at_end[k];
            agree++;
        }
    return agree < CURVES_LEAST ? NAN : sum / (double)agree;
}

static void *curvefitting_create(struct assessor *a)
{
    return mem_calloc(1, sizeof(struct curvefitting));
}

static bool curvefitting_judge(struct assessor *a, struct assessor_course *c,
                               int64_t trial)
{
    const struct nni_CurvefittingArgs *args = a->args;
    const struct curvefitting *self = a->self;
    int64_t n = (int64_t)c->judged;
    if (!self->has_best || n < args->start_step ||
        (n - args->start_step) % args->gap != 0)
        return true;
    double there = curvefitting_predict(c->values.at, c->judged, (double)args->epoch_num);
    return isnan(there) || !(there <= self->best * args->threshold);
}

static void curvefitting_ended(struct assessor *a, struct assessor_course *c, bool ok)
{
    struct curvefitting *self = a->self;
    if (!ok || c->judged == 0)
        return;
    double last = c->values.at[c->judged - 1];
    if (!self->has_best || last > self->best)
        self->best = last;
    self->has_best = true;
}

const struct assessor_ops assessor_curvefitting = {
    .create = curvefitting_create,
    .destroy = mem_free,
    .judge = curvefitting_judge,
    .ended = curvefitting_ended,
};
