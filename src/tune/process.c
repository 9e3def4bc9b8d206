/* SPDX-License-Identifier: Apache-2.0 */
/* Settings are found by ascending the likelihood times a weak prior: lengths near the
 * typical distance in so many coordinates, a noise that is small unless the targets say
 * otherwise. Predictions take BLOCK points at a time, so that the triangular solve runs over
 * them in its inner loop.
 */
#include "tune/process.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "tune/descend.h"

#define BLOCK 32
#define ROOT5 2.23606797749978969641
#define NOISE_LEAST 1e-7
#define FIT_STEPS 40

struct tune_process {
    int64_t n, d;
    bool apart[TUNE_PROCESS_DIMS];
    double w[TUNE_PROCESS_DIMS]; /* squared inverse lengths */
    double signal;
    double *v;     /* [n][d] */
    double *y;     /* [n] */
    double *chol;  /* [n][n], lower */
    double *alpha; /* [n] */
    double *work;  /* [n][BLOCK], twice */
};

/* k / signal, and its derivative by the squared distance. */
static inline double matern(double square, double *slope)
{
    double r = ROOT5 * sqrt(square), e = exp(-r);
    *slope = -5.0 / 6 * (1 + r) * e;
    return (1 + r + r * r / 3) * e;
}

static inline double gap2(const bool *apart, int64_t k, double a, double b)
{
    double gap = a - b;
    return apart[k] ? (gap != 0) : gap * gap;
}

/* a: [n][n], its lower half is read and becomes its factor. */
static bool factor(double *a, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        double *row = a + i * n;
        for (int64_t j = 0; j <= i; j++) {
            const double *other = a + j * n;
            double s[4] = {0};
            int64_t k = 0;
            for (; k + 4 <= j; k += 4)
                for (int64_t q = 0; q < 4; q++)
                    s[q] += row[k + q] * other[k + q];
            for (; k < j; k++)
                s[0] += row[k] * other[k];
            double left = row[j] - (s[0] + s[1] + s[2] + s[3]);
            if (j < i)
                row[j] = left / other[j];
            else if (!(left > 0))
                return false;
            else
                row[j] = sqrt(left);
        }
    }
    return true;
}

static void solve(const double *chol, int64_t n, const double *b, double *x)
{
    for (int64_t i = 0; i < n; i++) {
        double s = b[i];
        for (int64_t k = 0; k < i; k++)
            s -= chol[i * n + k] * x[k];
        x[i] = s / chol[i * n + i];
    }
    for (int64_t i = n - 1; i >= 0; i--) {
        x[i] /= chol[i * n + i];
        for (int64_t k = 0; k < i; k++)
            x[k] -= chol[i * n + k] * x[i];
    }
}

/* The inverse of what `chol` is the factor of, into the lower half of `inverse`; `t` is
 * room for [n][n].
 */
static void invert(const double *chol, int64_t n, double *t, double *inverse)
{
    memset(t, 0, (size_t)(n * n) * sizeof(*t));
    for (int64_t i = 0; i < n; i++) { /* t = chol^-1, row by row */
        double *row = t + i * n;
        row[i] = 1;
        for (int64_t k = 0; k < i; k++) {
            double c = chol[i * n + k];
            const double *other = t + k * n;
            for (int64_t j = 0; j <= k; j++)
                row[j] -= c * other[j];
        }
        for (int64_t j = 0; j <= i; j++)
            row[j] /= chol[i * n + i];
    }
    memset(inverse, 0, (size_t)(n * n) * sizeof(*inverse));
    for (int64_t k = 0; k < n; k++) /* inverse = t' t */
        for (int64_t i = 0; i <= k; i++) {
            double c = t[k * n + i];
            double *row = inverse + i * n;
            const double *other = t + k * n;
            for (int64_t j = 0; j <= i; j++)
                row[j] += c * other[j];
        }
}

struct fitting {
    const double *v, *y;
    const bool *apart;
    int64_t n, d;
    double typical; /* ln of the squared inverse length that is expected */
    double *gaps;   /* [d][n (n - 1) / 2] */
    double *k, *slope, *room, *room2, *inverse, *alpha;
};

static double prior(double at, double mean, double deviation, double *slope)
{
    double z = (at - mean) / deviation;
    *slope = z / deviation;
    return z * z / 2;
}

/* Minus the log likelihood, of theta = scales, signal, noise. */
static double unlikely(void *self, const double *theta, double *gradient)
{
    struct fitting *f = self;
    int64_t n = f->n, d = f->d, at = 0;
    double signal = exp(theta[d]), noise = exp(theta[d + 1]) + NOISE_LEAST;
    double w[TUNE_PROCESS_DIMS];
    for (int64_t k = 0; k < d; k++)
        w[k] = exp(theta[k]);
    int64_t pairs = n * (n - 1) / 2;
    double *square = f->slope; /* of each pair, then its slope */
    memset(square, 0, (size_t)pairs * sizeof(*square));
    for (int64_t k = 0; k < d; k++)
        for (int64_t p = 0; p < pairs; p++)
            square[p] += w[k] * f->gaps[k * pairs + p];
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < i; j++, at++)
            f->k[i * n + j] = signal * matern(square[at], &f->slope[at]);
        f->k[i * n + i] = signal + noise;
    }
    memcpy(f->room, f->k, (size_t)(n * n) * sizeof(double));
    if (!factor(f->room, n))
        return INFINITY;
    solve(f->room, n, f->y, f->alpha);
    double value = 0;
    for (int64_t i = 0; i < n; i++)
        value += 0.5 * f->y[i] * f->alpha[i] + log(f->room[i * n + i]);
    invert(f->room, n, f->room2, f->inverse);
    /* dL/dK = (K^-1 - alpha alpha') / 2 */
    double by_signal = 0, by_noise = 0;
    at = 0;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < i; j++, at++) {
            double g = f->inverse[i * n + j] - f->alpha[i] * f->alpha[j];
            by_signal += g * f->k[i * n + j];
            f->slope[at] *= signal * g;
        }
        double g = (f->inverse[i * n + i] - f->alpha[i] * f->alpha[i]) / 2;
        by_signal += g * signal;
        by_noise += g;
    }
    for (int64_t k = 0; k < d; k++) {
        double s[4] = {0};
        const double *gap = f->gaps + k * pairs;
        int64_t p = 0;
        for (; p + 4 <= pairs; p += 4)
            for (int64_t q = 0; q < 4; q++)
                s[q] += f->slope[p + q] * gap[p + q];
        for (; p < pairs; p++)
            s[0] += f->slope[p] * gap[p];
        gradient[k] = w[k] * (s[0] + s[1] + s[2] + s[3]);
    }
    gradient[d] = by_signal;
    gradient[d + 1] = by_noise * exp(theta[d + 1]);
    double slope;
    for (int64_t k = 0; k < d; k++) {
        value += prior(theta[k], f->typical, 2.2, &slope);
        gradient[k] += slope;
    }
    value += prior(theta[d], 0, 1.5, &slope);
    gradient[d] += slope;
    value += prior(theta[d + 1], log(1e-4), 3.5, &slope);
    gradient[d + 1] += slope;
    return value;
}

static void fill_gaps(struct fitting *f)
{
    int64_t pairs = f->n * (f->n - 1) / 2;
    for (int64_t k = 0; k < f->d; k++) {
        int64_t at = k * pairs;
        for (int64_t i = 0; i < f->n; i++)
            for (int64_t j = 0; j < i; j++)
                f->gaps[at++] = gap2(f->apart, k, f->v[i * f->d + k], f->v[j * f->d + k]);
    }
}

void tune_process_fit(const double *v, const double *y, int64_t n, int64_t d,
                      const bool *apart, int starts, struct tune_process_fit *out)
{
    static const double first[3][2] = {{0, -9}, {-2.5, -5}, {2.5, -2}};
    size_t size = (size_t)(n * n + 1) * sizeof(double);
    struct fitting f = {.v = v, .y = y, .apart = apart, .n = n, .d = d};
    f.typical = -log(0.2 * (double)(d < 4 ? 2 : d) / 2);
    f.gaps = mem_alloc((size_t)d * size);
    f.k = mem_alloc(size);
    f.slope = mem_alloc(size);
    f.room = mem_alloc(size);
    f.room2 = mem_alloc(size);
    f.inverse = mem_alloc(size);
    f.alpha = mem_alloc((size_t)n * sizeof(double));
    fill_gaps(&f);
    double low[TUNE_PROCESS_DIMS + 2], high[TUNE_PROCESS_DIMS + 2];
    for (int64_t k = 0; k < d; k++) {
        low[k] = log(1e-4);
        high[k] = log(2e4);
    }
    low[d] = log(0.02);
    high[d] = log(400);
    low[d + 1] = log(1e-7);
    high[d + 1] = log(4);
    *out = (struct tune_process_fit){.likely = -INFINITY};
    for (int s = 0; s < starts && s < 3; s++) {
        double theta[TUNE_PROCESS_DIMS + 2];
        for (int64_t k = 0; k < d; k++)
            theta[k] = f.typical + first[s][0];
        theta[d] = 0;
        theta[d + 1] = first[s][1];
        double value = tune_descend(unlikely, &f, d + 2, low, high, FIT_STEPS, theta);
        if (!(-value > out->likely) && s > 0)
            continue;
        out->likely = -value;
        memcpy(out->scale, theta, (size_t)d * sizeof(double));
        out->signal = theta[d];
        out->noise = theta[d + 1];
    }
    mem_free(f.gaps);
    mem_free(f.k);
    mem_free(f.slope);
    mem_free(f.room);
    mem_free(f.room2);
    mem_free(f.inverse);
    mem_free(f.alpha);
}

struct tune_process *tune_process_create(const double *v, const double *y, int64_t n,
                                         int64_t d, const bool *apart,
                                         const struct tune_process_fit *fit)
{
    struct tune_process *p = mem_calloc(1, sizeof(*p));
    p->n = n;
    p->d = d;
    p->signal = exp(fit->signal);
    for (int64_t k = 0; k < d; k++) {
        p->apart[k] = apart[k];
        p->w[k] = exp(fit->scale[k]);
    }
    p->v = mem_alloc((size_t)(n * d + 1) * sizeof(double));
    p->y = mem_alloc((size_t)n * sizeof(double));
    p->alpha = mem_alloc((size_t)n * sizeof(double));
    p->chol = mem_alloc((size_t)(n * n) * sizeof(double));
    p->work = mem_alloc((size_t)(2 * n * BLOCK) * sizeof(double));
    memcpy(p->v, v, (size_t)(n * d) * sizeof(double));
    memcpy(p->y, y, (size_t)n * sizeof(double));
    double noise = exp(fit->noise) + NOISE_LEAST, slope;
    do {
        for (int64_t i = 0; i < n; i++) {
            for (int64_t j = 0; j < i; j++) {
                double square = 0;
                for (int64_t k = 0; k < d; k++)
                    square += p->w[k] * gap2(apart, k, v[i * d + k], v[j * d + k]);
                p->chol[i * n + j] = p->signal * matern(square, &slope);
            }
            p->chol[i * n + i] = p->signal + noise;
        }
        noise *= 10;
    } while (!factor(p->chol, n));
    solve(p->chol, n, p->y, p->alpha);
    return p;
}

void tune_process_destroy(struct tune_process *p)
{
    if (!p)
        return;
    mem_free(p->v);
    mem_free(p->y);
    mem_free(p->alpha);
    mem_free(p->chol);
    mem_free(p->work);
    mem_free(p);
}

static void predict_block(const struct tune_process *p, const double *v, int64_t m,
                          double *mean, double *deviation)
{
    double sums[BLOCK] = {0}, left[BLOCK], slope, *work = p->work;
    for (int64_t c = 0; c < BLOCK; c++)
        left[c] = p->signal;
    for (int64_t i = 0; i < p->n; i++) {
        double *row = work + i * BLOCK;
        for (int64_t c = 0; c < BLOCK; c++) {
            const double *at = v + (c < m ? c : 0) * p->d;
            double square = 0;
            for (int64_t k = 0; k < p->d; k++)
                square += p->w[k] * gap2(p->apart, k, at[k], p->v[i * p->d + k]);
            row[c] = p->signal * matern(square, &slope);
            sums[c] += row[c] * p->alpha[i];
        }
        const double *chol = p->chol + i * p->n;
        for (int64_t j = 0; j < i; j++) {
            const double *other = work + j * BLOCK;
            for (int64_t c = 0; c < BLOCK; c++)
                row[c] -= chol[j] * other[c];
        }
        for (int64_t c = 0; c < BLOCK; c++) {
            row[c] /= chol[i];
            left[c] -= row[c] * row[c];
        }
    }
    for (int64_t c = 0; c < m; c++) {
        mean[c] = sums[c];
        deviation[c] = sqrt(fmax(left[c], 1e-14));
    }
}

void tune_process_predict(const struct tune_process *p, const double *v, int64_t m,
                          double *mean, double *deviation)
{
    for (int64_t c = 0; c < m; c += BLOCK)
        predict_block(p, v + c * p->d, m - c < BLOCK ? m - c : BLOCK, mean + c,
                      deviation + c);
}

void tune_process_slope(const struct tune_process *p, const double *v, double *mean,
                        double *deviation, double *d_mean, double *d_deviation)
{
    int64_t n = p->n, d = p->d;
    double *k_of = p->work, *slope = k_of + n, *z = slope + n;
    double left = p->signal, sum = 0;
    for (int64_t i = 0; i < n; i++) {
        double square = 0;
        for (int64_t k = 0; k < d; k++)
            square += p->w[k] * gap2(p->apart, k, v[k], p->v[i * d + k]);
        k_of[i] = p->signal * matern(square, &slope[i]);
        slope[i] *= p->signal;
        sum += k_of[i] * p->alpha[i];
    }
    solve(p->chol, n, k_of, z); /* K^-1 k */
    for (int64_t i = 0; i < n; i++)
        left -= k_of[i] * z[i];
    *mean = sum;
    *deviation = sqrt(fmax(left, 1e-14));
    for (int64_t k = 0; k < d; k++) {
        d_mean[k] = d_deviation[k] = 0;
        for (int64_t i = 0; i < n && !p->apart[k]; i++) {
            double by = 2 * p->w[k] * (v[k] - p->v[i * d + k]) * slope[i];
            d_mean[k] += by * p->alpha[i];
            d_deviation[k] -= by * z[i] / *deviation;
        }
    }
}
