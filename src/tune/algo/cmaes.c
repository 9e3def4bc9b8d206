/* SPDX-License-Identifier: Apache-2.0 */
/* Hansen, "The CMA evolution strategy: a tutorial", 2016: numbers follow one normal
 * distribution that moves, turns and shrinks towards the better half of each generation;
 * choices are drawn at random. A generation is complete when enough of its trials have
 * results; asks beyond it draw from the same distribution.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "text/nni/nni.h"
#include "tune/tuner_private.h"
#include "tune/unit.h"

struct told {
    double *v; /* [d], where it lies */
    double loss;
};

struct cmaes {
    struct tune_unit unit;
    int64_t *axis; /* [d]: coordinates of numbers */
    int64_t d, lambda, mu, generation;
    double *weight; /* [mu] */
    double mu_eff, c_sigma, d_sigma, c_c, c_1, c_mu, expected;
    double sigma;
    double *mean, *p_sigma, *p_c; /* [d] */
    double *c, *b;                /* [d][d]: covariance, its axes as columns */
    double *length;               /* [d]: roots of its eigenvalues */
    VEC(struct told) told;        /* of the current generation */
    VEC(int64_t) born;            /* by trial: its generation, -1: from elsewhere */
};

static void set_constants(struct cmaes *s)
{
    double d = (double)s->d, sum = 0, squares = 0;
    for (int64_t i = 0; i < s->mu; i++) {
        s->weight[i] = log((double)(s->lambda + 1) / 2) - log((double)i + 1);
        sum += s->weight[i];
    }
    for (int64_t i = 0; i < s->mu; i++) {
        s->weight[i] /= sum;
        squares += s->weight[i] * s->weight[i];
    }
    double m = s->mu_eff = 1 / squares;
    s->c_sigma = (m + 2) / (d + m + 5);
    s->d_sigma = 1 + 2 * fmax(0, sqrt((m - 1) / (d + 1)) - 1) + s->c_sigma;
    s->c_c = (4 + m / d) / (d + 4 + 2 * m / d);
    s->c_1 = 2 / ((d + 1.3) * (d + 1.3) + m);
    s->c_mu = fmin(1 - s->c_1, 2 * (m - 2 + 1 / m) / ((d + 2) * (d + 2) + m));
    s->expected = sqrt(d) * (1 - 1 / (4 * d) + 1 / (21 * d * d));
}

static void *cmaes_create(struct tuner *t)
{
    const struct nni_CmaesArgs *args = t->args;
    struct cmaes *s = mem_calloc(1, sizeof(*s));
    tune_unit_init(&s->unit, t->history.space);
    s->axis = mem_calloc((size_t)s->unit.n + 1, sizeof(*s->axis));
    for (int64_t i = 0; i < t->history.space->n; i++)
        if (t->history.space->at[i].type != NNI_CHOICE)
            s->axis[s->d++] = s->unit.axes[i].at;
    int64_t d = s->d ? s->d : 1;
    s->lambda = args->has_population_size ? args->population_size
                                          : 4 + (int64_t)floor(3 * log((double)d));
    s->mu = s->lambda / 2 > 0 ? s->lambda / 2 : 1;
    s->sigma = args->sigma0;
    s->weight = arena_alloc(&t->arena, (size_t)s->mu * sizeof(double));
    s->mean = arena_alloc(&t->arena, (size_t)d * sizeof(double));
    s->p_sigma = arena_alloc(&t->arena, (size_t)d * sizeof(double));
    s->p_c = arena_alloc(&t->arena, (size_t)d * sizeof(double));
    s->length = arena_alloc(&t->arena, (size_t)d * sizeof(double));
    s->c = arena_alloc(&t->arena, (size_t)(d * d) * sizeof(double));
    s->b = arena_alloc(&t->arena, (size_t)(d * d) * sizeof(double));
    for (int64_t i = 0; i < d; i++) {
        s->mean[i] = 0.5;
        s->length[i] = s->c[i * d + i] = s->b[i * d + i] = 1;
    }
    if (s->d)
        set_constants(s);
    return s;
}

static void cmaes_destroy(void *self)
{
    struct cmaes *s = self;
    for (size_t i = 0; i < s->told.n; i++)
        mem_free(s->told.at[i].v);
    VEC_RELEASE(&s->told);
    VEC_RELEASE(&s->born);
    tune_unit_release(&s->unit);
    mem_free(s->axis);
    mem_free(s);
}

static bool cmaes_draw(const struct cmaes *s, struct rng *r, double *y, double *v)
{
    bool inside = true;
    for (int64_t k = 0; k < s->d; k++)
        y[k] = s->length[k] * rng_normal(r);
    for (int64_t i = 0; i < s->d; i++) {
        double sum = s->mean[i];
        for (int64_t k = 0; k < s->d; k++)
            sum += s->sigma * s->b[i * s->d + k] * y[k];
        v[i] = sum;
        inside &= sum >= 0 && sum <= 1;
    }
    return inside;
}

static enum tuner_answer cmaes_ask(struct tuner *t, struct rng *r, double *x)
{
    const struct nni_CmaesArgs *args = t->args;
    const struct cmaes *s = t->self;
    tune_point_draw(t->history.space, r, x);
    if (t->n_asks < args->n_startup_trials || s->d == 0)
        return TUNER_GIVES;
    double *y = mem_calloc((size_t)(2 * s->d + s->unit.n + 1), sizeof(*y));
    double *v = y + s->d, *full = v + s->d;
    for (int64_t tries = 0; tries < 10 * s->d && !cmaes_draw(s, r, y, v); tries++)
        ;
    tune_unit_of(&s->unit, x, full);
    for (int64_t i = 0; i < s->d; i++)
        full[s->axis[i]] = fmin(fmax(v[i], 0), 1);
    tune_unit_point(&s->unit, full, x);
    mem_free(y);
    return TUNER_GIVES;
}

static void cmaes_issued(struct tuner *t, int64_t trial)
{
    struct cmaes *s = t->self;
    while ((int64_t)s->born.n <= trial)
        VEC_PUSH(&s->born, -1);
    s->born.at[trial] = s->generation;
}

/* Eigenvectors of the covariance by Jacobi's rotations, into b and length. */
static void decompose(struct cmaes *s)
{
    int64_t d = s->d;
    double *a = mem_alloc((size_t)(d * d) * sizeof(*a));
    memcpy(a, s->c, (size_t)(d * d) * sizeof(*a));
    memset(s->b, 0, (size_t)(d * d) * sizeof(*s->b));
    for (int64_t i = 0; i < d; i++)
        s->b[i * d + i] = 1;
    for (int sweep = 0; sweep < 60; sweep++) {
        double off = 0;
        for (int64_t p = 0; p < d; p++)
            for (int64_t q = p + 1; q < d; q++) {
                double apq = a[p * d + q];
                off += apq * apq;
                if (fabs(apq) < 1e-300)
                    continue;
                double theta = (a[q * d + q] - a[p * d + p]) / (2 * apq);
                double tan =
                    (theta < 0 ? -1 : 1) / (fabs(theta) + sqrt(theta * theta + 1));
                double cos = 1 / sqrt(tan * tan + 1), sin = tan * cos;
                for (int64_t k = 0; k < d; k++) {
                    double x = a[k * d + p], y = a[k * d + q];
                    a[k * d + p] = cos * x - sin * y;
                    a[k * d + q] = sin * x + cos * y;
                }
                for (int64_t k = 0; k < d; k++) {
                    double x = a[p * d + k], y = a[q * d + k];
                    a[p * d + k] = cos * x - sin * y;
                    a[q * d + k] = sin * x + cos * y;
                    x = s->b[k * d + p];
                    y = s->b[k * d + q];
                    s->b[k * d + p] = cos * x - sin * y;
                    s->b[k * d + q] = sin * x + cos * y;
                }
            }
        if (off < 1e-28)
            break;
    }
    for (int64_t i = 0; i < d; i++)
        s->length[i] = sqrt(fmax(a[i * d + i], 1e-20));
    mem_free(a);
}

static int by_loss(const void *a, const void *b)
{
    const struct told *x = a, *y = b;
    return x->loss < y->loss ? -1 : x->loss > y->loss;
}

/* step: how far the mean moves, in units of sigma. */
static void move_paths(struct cmaes *s, const double *step)
{
    int64_t d = s->d;
    double grow = sqrt(s->c_sigma * (2 - s->c_sigma) * s->mu_eff), norm = 0;
    for (int64_t i = 0; i < d; i++) {
        double white = 0; /* C^-1/2 step */
        for (int64_t k = 0; k < d; k++) {
            double along = 0;
            for (int64_t j = 0; j < d; j++)
                along += s->b[j * d + k] * step[j];
            white += s->b[i * d + k] * along / s->length[k];
        }
        s->p_sigma[i] = (1 - s->c_sigma) * s->p_sigma[i] + grow * white;
        norm += s->p_sigma[i] * s->p_sigma[i];
    }
    norm = sqrt(norm);
    double settled = 1 - pow(1 - s->c_sigma, 2 * ((double)s->generation + 1));
    bool moving = norm / sqrt(settled) < (1.4 + 2 / ((double)d + 1)) * s->expected;
    double turn = moving ? sqrt(s->c_c * (2 - s->c_c) * s->mu_eff) : 0;
    for (int64_t i = 0; i < d; i++)
        s->p_c[i] = (1 - s->c_c) * s->p_c[i] + turn * step[i];
    s->sigma *= exp(fmin(1, s->c_sigma / s->d_sigma * (norm / s->expected - 1)));
    s->sigma = fmin(s->sigma, 10);
}

static void next_generation(struct cmaes *s)
{
    int64_t d = s->d;
    double *step = mem_calloc((size_t)d, sizeof(*step)), sigma = s->sigma;
    qsort(s->told.at, s->told.n, sizeof(*s->told.at), by_loss);
    for (int64_t k = 0; k < s->mu; k++)
        for (int64_t i = 0; i < d; i++)
            step[i] += s->weight[k] * (s->told.at[k].v[i] - s->mean[i]) / sigma;
    move_paths(s, step);
    for (int64_t i = 0; i < d; i++)
        for (int64_t j = 0; j < d; j++) {
            double rank = 0;
            for (int64_t k = 0; k < s->mu; k++)
                rank += s->weight[k] * (s->told.at[k].v[i] - s->mean[i]) / sigma *
                        (s->told.at[k].v[j] - s->mean[j]) / sigma;
            double *c = &s->c[i * d + j];
            *c = (1 - s->c_1 - s->c_mu) * *c + s->c_1 * s->p_c[i] * s->p_c[j] +
                 s->c_mu * rank;
        }
    for (int64_t i = 0; i < d; i++)
        s->mean[i] += sigma * step[i];
    for (size_t k = 0; k < s->told.n; k++)
        mem_free(s->told.at[k].v);
    s->told.n = 0;
    s->generation++;
    decompose(s);
    mem_free(step);
}

static void cmaes_told(struct tuner *t, int64_t trial)
{
    struct cmaes *s = t->self;
    if (s->d == 0 || trial >= (int64_t)s->born.n || s->born.at[trial] != s->generation)
        return;
    double *full = mem_calloc((size_t)s->unit.n + 1, sizeof(*full));
    struct told one = {.v = mem_calloc((size_t)s->d, sizeof(double)),
                       .loss = t->history.trials.at[trial].loss};
    tune_unit_of(&s->unit, t->history.trials.at[trial].x, full);
    for (int64_t i = 0; i < s->d; i++)
        one.v[i] = full[s->axis[i]];
    mem_free(full);
    VEC_PUSH(&s->told, one);
    if ((int64_t)s->told.n == s->lambda)
        next_generation(s);
}

const struct tuner_ops tuner_cmaes = {
    .create = cmaes_create,
    .destroy = cmaes_destroy,
    .ask = cmaes_ask,
    .issued = cmaes_issued,
    .told = cmaes_told,
    .pure = true,
    .no_repeats = true,
};
