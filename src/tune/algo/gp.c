/* SPDX-License-Identifier: Apache-2.0 */
/* Bayesian optimisation with a Gaussian process: Matern kernel with one length for all
 * coordinates of the unit cube, results standardised. The length is the one of a fixed
 * ladder under which the results are most likely, judged on at most FIT_MOST of them.
 * Trials that run count as if they had the value that the model expects, so that parallel
 * asks spread.
 *
 * Metis, DNGO and SMAC are answered by the same model: see docs/tuning.md.
 */
#include <math.h>
#include <string.h>

#include "text/nni/nni.h"
#include "tune/normal.h"
#include "tune/tuner_private.h"
#include "tune/unit.h"

#define POINTS_MOST 400 /* results that the model holds: half best, half latest */
#define FIT_MOST 120
#define WARM_MOST 2000 /* random points that are scored */
#define CLIMBS_MOST 20 /* of them that are improved */
#define CLIMB_STEPS 40

enum utility { UTILITY_EI, UTILITY_UCB, UTILITY_POI };

struct gp {
    struct tune_unit unit;
    enum utility utility;
    double kappa, xi, nu, noise;
    int64_t cold, warm, climbs;
};

/* A process conditioned on n points. */
struct model {
    const struct gp *gp;
    int64_t n, d;
    double *v;     /* [n][d] */
    double *y;     /* [n], standardised, to be made large */
    double *chol;  /* [n][n], lower */
    double *alpha; /* [n] */
    double *row;   /* [n] */
    double length;
    double best;
};

static double kernel(const struct model *m, const double *a, const double *b)
{
    double square = 0;
    for (int64_t i = 0; i < m->d; i++)
        square += (a[i] - b[i]) * (a[i] - b[i]);
    double r = sqrt(square) / m->length, nu = m->gp->nu;
    if (nu <= 0.5)
        return exp(-r);
    if (nu <= 1.5)
        return (1 + 1.7320508075688772 * r) * exp(-1.7320508075688772 * r);
    if (nu <= 2.5)
        return (1 + 2.23606797749979 * r + 5 * r * r / 3) * exp(-2.23606797749979 * r);
    return exp(-0.5 * r * r);
}

/* chol chol' = K + noise; false when that is not positive in floating point. */
static bool factor(struct model *m, double noise)
{
    int64_t n = m->n;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j <= i; j++) {
            double s = kernel(m, m->v + i * m->d, m->v + j * m->d) + (i == j ? noise : 0);
            const double *a = m->chol + i * n, *b = m->chol + j * n;
            for (int64_t k = 0; k < j; k++)
                s -= a[k] * b[k];
            if (i == j && !(s > 0))
                return false;
            m->chol[i * n + j] = i == j ? sqrt(s) : s / b[j];
        }
    return true;
}

static void solve_lower(const struct model *m, const double *b, double *x)
{
    for (int64_t i = 0; i < m->n; i++) {
        double s = b[i];
        for (int64_t k = 0; k < i; k++)
            s -= m->chol[i * m->n + k] * x[k];
        x[i] = s / m->chol[i * m->n + i];
    }
}

/* Factors and weights for the present length; returns the log likelihood. */
static double condition(struct model *m)
{
    double noise = m->gp->noise;
    while (!factor(m, noise))
        noise = fmax(noise * 10, 1e-10);
    solve_lower(m, m->y, m->row);
    double fit = 0, det = 0;
    for (int64_t i = 0; i < m->n; i++) {
        fit += m->row[i] * m->row[i];
        det += log(m->chol[i * m->n + i]);
    }
    for (int64_t i = m->n - 1; i >= 0; i--) {
        double s = m->row[i];
        for (int64_t k = i + 1; k < m->n; k++)
            s -= m->chol[k * m->n + i] * m->alpha[k];
        m->alpha[i] = s / m->chol[i * m->n + i];
    }
    return -0.5 * fit - det;
}

static void fit_length(struct model *m)
{
    int64_t all = m->n;
    double top = -INFINITY, best = 1;
    m->n = all < FIT_MOST ? all : FIT_MOST;
    for (double l = 0.03; l < 6; l *= 1.35) {
        m->length = l;
        double likely = condition(m);
        if (likely > top) {
            top = likely;
            best = l;
        }
    }
    m->n = all;
    m->length = best;
}

static void gp_predict(const struct model *m, const double *v, double *mean,
                       double *deviation)
{
    double mu = 0, left = 1 + m->gp->noise;
    double *z = m->row;
    for (int64_t i = 0; i < m->n; i++) {
        double k = kernel(m, v, m->v + i * m->d), s = k;
        mu += k * m->alpha[i];
        const double *c = m->chol + i * m->n;
        for (int64_t j = 0; j < i; j++)
            s -= c[j] * z[j];
        z[i] = s / c[i];
        left -= z[i] * z[i];
    }
    *mean = mu;
    *deviation = sqrt(fmax(left, 1e-12));
}

static double utility(const struct model *m, const double *v)
{
    double mean, dev;
    gp_predict(m, v, &mean, &dev);
    double gain = mean - m->best - m->gp->xi, z = gain / dev;
    switch (m->gp->utility) {
    case UTILITY_UCB:
        return mean + m->gp->kappa * dev;
    case UTILITY_POI:
        return tune_normal_cdf(z);
    default:
        return gain * tune_normal_cdf(z) + dev * tune_normal_pdf(z);
    }
}

/* The trials that the model is made of: the best half and the latest half of the room. */
static int64_t gp_choose(const struct tune_history *h, int64_t *at)
{
    int64_t n = 0, all = (int64_t)h->done.n, most = POINTS_MOST;
    if (all <= most) {
        for (int64_t i = 0; i < all; i++)
            at[n++] = h->by_loss.at[i];
        return n;
    }
    for (int64_t i = 0; i < most / 2; i++)
        at[n++] = h->by_loss.at[i];
    for (int64_t i = all - 1; i >= 0 && n < most; i--) {
        bool there = false;
        for (int64_t k = 0; k < most / 2 && !there; k++)
            there = at[k] == h->done.at[i];
        if (!there)
            at[n++] = h->done.at[i];
    }
    return n;
}

static void standardise(struct model *m)
{
    double mean = 0, square = 0, worst = INFINITY;
    for (int64_t i = 0; i < m->n; i++)
        if (isfinite(m->y[i]))
            worst = fmin(worst, m->y[i]);
    for (int64_t i = 0; i < m->n; i++) {
        if (!isfinite(m->y[i]))
            m->y[i] = isfinite(worst) ? worst : 0;
        mean += m->y[i] / (double)m->n;
    }
    for (int64_t i = 0; i < m->n; i++)
        square += (m->y[i] - mean) * (m->y[i] - mean) / (double)m->n;
    double unit = square > 0 ? 1 / sqrt(square) : 1;
    m->best = -INFINITY;
    for (int64_t i = 0; i < m->n; i++) {
        m->y[i] = (m->y[i] - mean) * unit;
        m->best = fmax(m->best, m->y[i]);
    }
}

static void model_init(struct model *m, const struct gp *gp, const struct tune_history *h)
{
    int64_t room = POINTS_MOST + (int64_t)h->running.n, d = gp->unit.n;
    int64_t *at = mem_alloc((size_t)room * sizeof(*at));
    *m = (struct model){.gp = gp, .d = d, .n = gp_choose(h, at)};
    size_t n = (size_t)m->n + h->running.n;
    m->v = mem_alloc((n * (size_t)d + 1) * sizeof(double));
    m->y = mem_alloc(n * sizeof(double));
    m->chol = mem_alloc(n * n * sizeof(double));
    m->alpha = mem_alloc(n * sizeof(double));
    m->row = mem_alloc(n * sizeof(double));
    for (int64_t i = 0; i < m->n; i++) {
        tune_unit_of(&gp->unit, h->trials.at[at[i]].x, m->v + i * d);
        m->y[i] = -h->trials.at[at[i]].loss;
    }
    standardise(m);
    fit_length(m);
    condition(m);
    for (size_t i = 0; i < h->running.n; i++) {
        double *v = m->v + (m->n + (int64_t)i) * d, ignored;
        tune_unit_of(&gp->unit, h->trials.at[h->running.at[i]].x, v);
        gp_predict(m, v, &m->y[m->n + (int64_t)i], &ignored);
    }
    if (h->running.n) {
        m->n += (int64_t)h->running.n;
        condition(m);
    }
    mem_free(at);
}

static void model_release(struct model *m)
{
    mem_free(m->v);
    mem_free(m->y);
    mem_free(m->chol);
    mem_free(m->alpha);
    mem_free(m->row);
}

/* Better and better neighbours of x, in smaller and smaller steps. */
static double climb(const struct model *m, struct rng *r, double *x, double *v,
                    double score)
{
    const struct tune_unit *u = &m->gp->unit;
    double *try_x = mem_alloc((size_t)(u->space->n + 1) * sizeof(double));
    double *try_v = mem_alloc((size_t)(u->n + 1) * sizeof(double));
    double size = 0.2;
    for (int step = 0; step < CLIMB_STEPS; step++) {
        for (int64_t i = 0; i < u->n; i++)
            try_v[i] = v[i] + (rng_f64(r) < 0.5 ? size * rng_normal(r) : 0);
        tune_unit_point(u, try_v, try_x);
        tune_unit_of(u, try_x, try_v);
        double s = utility(m, try_v);
        if (s > score) {
            score = s;
            memcpy(v, try_v, (size_t)u->n * sizeof(*v));
            memcpy(x, try_x, (size_t)u->space->n * sizeof(*x));
        } else {
            size *= 0.88;
        }
    }
    mem_free(try_x);
    mem_free(try_v);
    return score;
}

struct candidate {
    double score, *x, *v;
};

/* The few best of `warm` random points, best first. */
static void warm_up(const struct model *m, struct rng *r, int64_t warm,
                    struct candidate *top, int64_t n_top)
{
    const struct tune_unit *u = &m->gp->unit;
    size_t nx = (size_t)u->space->n, nv = (size_t)u->n;
    double *x = mem_alloc((nx + 1) * sizeof(double)),
           *v = mem_alloc((nv + 1) * sizeof(double));
    for (int64_t c = 0; c < warm; c++) {
        tune_point_draw(u->space, r, x);
        tune_unit_of(u, x, v);
        double score = utility(m, v);
        if (score <= top[n_top - 1].score)
            continue;
        struct candidate last = top[n_top - 1];
        int64_t i = n_top - 1;
        for (; i > 0 && top[i - 1].score < score; i--)
            top[i] = top[i - 1];
        memcpy(last.x, x, nx * sizeof(*x));
        memcpy(last.v, v, nv * sizeof(*v));
        last.score = score;
        top[i] = last;
    }
    mem_free(x);
    mem_free(v);
}

static enum tuner_answer gp_ask(struct tuner *t, struct rng *r, double *x)
{
    struct gp *self = t->self;
    const struct tune_unit *u = &self->unit;
    if ((int64_t)t->history.done.n < self->cold || t->history.done.n == 0) {
        tune_point_draw(t->history.space, r, x);
        return TUNER_GIVES;
    }
    struct model m;
    model_init(&m, self, &t->history);
    struct candidate top[CLIMBS_MOST];
    for (int64_t i = 0; i < self->climbs; i++)
        top[i] = (struct candidate){-INFINITY,
                                    mem_calloc((size_t)u->space->n + 1, sizeof(double)),
                                    mem_calloc((size_t)u->n + 1, sizeof(double))};
    warm_up(&m, r, self->warm, top, self->climbs);
    int64_t best = 0;
    for (int64_t i = 0; i < self->climbs; i++) {
        if (isfinite(top[i].score))
            top[i].score = climb(&m, r, top[i].x, top[i].v, top[i].score);
        if (top[i].score > top[best].score)
            best = i;
    }
    memcpy(x, top[best].x, (size_t)u->space->n * sizeof(*x));
    for (int64_t i = 0; i < self->climbs; i++) {
        mem_free(top[i].x);
        mem_free(top[i].v);
    }
    model_release(&m);
    return TUNER_GIVES;
}

static int64_t within(int64_t v, int64_t low, int64_t high)
{
    return v < low ? low : v > high ? high : v;
}

static struct gp *gp_make(struct tuner *t, double nu, int64_t cold, int64_t warm,
                          int64_t climbs)
{
    struct gp *self = mem_calloc(1, sizeof(*self));
    tune_unit_init(&self->unit, t->history.space);
    self->noise = 1e-6;
    self->nu = nu;
    self->cold = cold;
    self->warm = within(warm, 1, WARM_MOST);
    self->climbs = within(climbs, 1, CLIMBS_MOST);
    return self;
}

static void *gp_create(struct tuner *t)
{
    const struct nni_GpArgs *a = t->args;
    struct gp *self = gp_make(t, a->nu, a->cold_start_num, a->selection_num_warm_up,
                              a->selection_num_starting_points);
    self->utility = strcmp(a->utility, "ucb") == 0   ? UTILITY_UCB
                    : strcmp(a->utility, "poi") == 0 ? UTILITY_POI
                                                     : UTILITY_EI;
    self->kappa = a->kappa;
    self->xi = a->xi;
    self->noise = fmax(a->alpha, 1e-10);
    return self;
}

static void *metis_create(struct tuner *t)
{
    const struct nni_MetisArgs *a = t->args;
    return gp_make(t, 1.5, a->cold_start_num, WARM_MOST,
                   a->selection_num_starting_points);
}

static void *dngo_create(struct tuner *t)
{
    const struct nni_DngoArgs *a = t->args;
    return gp_make(t, 2.5, a->trials_per_update, a->sample_size, CLIMBS_MOST);
}

static void *smac_create(struct tuner *t)
{
    return gp_make(t, 2.5, 2 * t->history.space->n, WARM_MOST, CLIMBS_MOST);
}

static void gp_destroy(void *self_)
{
    struct gp *self = self_;
    tune_unit_release(&self->unit);
    mem_free(self);
}

#define GP_OPS(create_)                                                        \
    {                                                                          \
        .create = create_, .destroy = gp_destroy, .ask = gp_ask, .pure = true, \
        .no_repeats = true                                                     \
    }

const struct tuner_ops tuner_dngo = GP_OPS(dngo_create);
const struct tuner_ops tuner_gp = GP_OPS(gp_create);
const struct tuner_ops tuner_metis = GP_OPS(metis_create);
const struct tuner_ops tuner_smac = GP_OPS(smac_create);
