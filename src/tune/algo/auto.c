/* SPDX-License-Identifier: Apache-2.0 */
/* The default: which model proposes is decided by the space and by how the search goes.
 *
 *   - The first trials fill the space evenly (a lattice of irrational steps).
 *   - Then a Gaussian process (tune/process.h) over all parameters, with choices as
 *     coordinates that know equal and different only, and parameters that do not exist in a
 *     branch in the middle of their range: the branch tells them apart. Losses are first
 *     bent by one of LADDER logarithms, the one under which they are likeliest: results
 *     spread over magnitudes are told apart near the best, results with noise are not bent.
 *     The next trial is where the expected improvement over the least mean is largest,
 *     found among draws and neighbours of the best and then by descent.
 *   - Parzen estimators (algo/tpe.h) take every ask in spaces with more than
 *     TUNE_PROCESS_DIMS parameters, with several objectives, and beyond PROCESS_MOST
 *     results, and a share of the asks before, which grows upon a stall.
 *
 * What a process calls noise may be a rough function instead. Where the noise matters, the
 * best point is therefore tried once more: only if its results differ is the best trial the
 * one with the least mean rather than the one with the least result.
 *
 * Settings of the process are fitted to the first k results only, k a function of their
 * number, so an ask depends on the history alone and a log can be replayed without it.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "text/nni/nni.h"
#include "tune/algo/tpe.h"
#include "tune/descend.h"
#include "tune/normal.h"
#include "tune/process.h"
#include "tune/unit.h"

#define STARTUP 10
#define PROCESS_MOST 600 /* results; then the estimators alone */
#define POINTS_MOST 220  /* that the process is conditioned on: half best, half latest */
#define FIT_MOST 110     /* that its settings are fitted to */
#define LADDER 4
#define DRAWS 192      /* candidates from the whole space */
#define NEIGHBOURS 192 /* around the best */
#define CLIMBS 4       /* of them that are improved */
#define CLIMB_STEPS 25
#define STALL 20           /* results without a gain */
#define REPEAT_FROM 25     /* results */
#define NOISE_MATTERS 1e-3 /* of the variance of the losses */

enum axis_kind { AXIS_FREE, AXIS_STEPS, AXIS_APART };

struct axis {
    enum axis_kind kind;
    double step;    /* AXIS_STEPS: between two values, in the unit cube */
    double *places; /* choice between numbers: [size], by rank */
};

struct autos {
    const struct nni_space *space;
    struct tpe_joint *tpe;
    struct tpe_settings tpe_set;
    struct axis *axes; /* [space->n] */
    bool apart[TUNE_PROCESS_DIMS];
    bool modelled; /* the process is used at all */
    /* The fit to the first `fitted` results. */
    int64_t fitted;
    int bend;
    struct tune_process_fit fit;
    bool noisy, exact; /* a point tried twice gave different results; the same */
};

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* The places of a choice between numbers, NULL when an option is something else. */
static double *rank_options(const struct nni_param *p)
{
    double *v = mem_calloc((size_t)p->size * 2, sizeof(*v)), *sorted = v + p->size;
    for (int64_t k = 0; k < p->size; k++) {
        if (!node_number(p->options[k], &v[k]) || !isfinite(v[k])) {
            mem_free(v);
            return NULL;
        }
        sorted[k] = v[k];
    }
    qsort(sorted, (size_t)p->size, sizeof(*sorted), by_value);
    for (int64_t k = 0; k < p->size; k++) {
        int64_t rank = 0;
        while (sorted[rank] < v[k])
            rank++;
        v[k] = p->size > 1 ? (double)rank / (double)(p->size - 1) : 0.5;
    }
    return v;
}

static void axis_init(struct axis *a, const struct nni_param *p)
{
    *a = (struct axis){0};
    if (p->type == NNI_CHOICE) {
        a->places = p->nested || p->size < 3 ? NULL : rank_options(p);
        a->kind = a->places ? AXIS_STEPS : AXIS_APART;
        a->step = 1 / fmax((double)p->size - 1, 1);
    } else if (p->type == NNI_RANDINT) {
        a->kind = AXIS_STEPS;
        a->step = 1 / fmax((double)p->size - 1, 1);
    } else if (p->q > 0 && !p->log && p->sigma <= 0) {
        a->kind = AXIS_STEPS;
        a->step = p->high > p->low ? fmin(p->q / (p->high - p->low), 1) : 1;
    }
}

static void *auto_create(struct tuner *t)
{
    const struct nni_space *s = t->history.space;
    struct autos *self = mem_calloc(1, sizeof(*self));
    self->space = s;
    self->tpe = tpe_joint_create(s);
    self->tpe_set = (struct tpe_settings){
        .joint = true,
        .by_share = true,
        .by_time = true,
        .good_most = t->history.n_objectives > 1 ? INT64_MAX : 25,
        .liar = LIAR_WORST,
        .n_startup = STARTUP,
        .n_candidates = 24,
        .forget = 25,
        .prior_weight = 1,
        .gamma = 0.25,
    };
    self->axes = mem_calloc((size_t)s->n + 1, sizeof(*self->axes));
    self->modelled =
        s->n > 0 && s->n <= TUNE_PROCESS_DIMS && t->history.n_objectives == 1;
    for (int64_t i = 0; i < s->n; i++) {
        axis_init(&self->axes[i], &s->at[i]);
        if (self->modelled)
            self->apart[i] = self->axes[i].kind == AXIS_APART;
    }
    return self;
}

static void auto_destroy(void *self_)
{
    struct autos *self = self_;
    for (int64_t i = 0; i < self->space->n; i++)
        mem_free(self->axes[i].places);
    mem_free(self->axes);
    tpe_joint_destroy(self->tpe);
    mem_free(self);
}

static void to_unit(const struct autos *self, const struct nni_space *s, const double *x,
                    double *v)
{
    for (int64_t i = 0; i < s->n; i++) {
        const struct axis *a = &self->axes[i];
        if (isnan(x[i]))
            v[i] = a->kind == AXIS_APART ? -1 : 0.5;
        else if (a->kind == AXIS_APART)
            v[i] = x[i];
        else if (a->places)
            v[i] = a->places[(int64_t)x[i]];
        else
            v[i] = tune_unit_scale(&s->at[i], x[i]);
    }
}

/* The nearest point that a trial can have; choices that are apart stay those of x. */
static void from_unit(const struct autos *self, const struct nni_space *s,
                      const double *v, double *x)
{
    for (int64_t i = 0; i < s->n; i++) {
        const struct axis *a = &self->axes[i];
        if (isnan(x[i]) || a->kind == AXIS_APART)
            continue;
        if (a->places) {
            int64_t best = 0;
            for (int64_t k = 1; k < s->at[i].size; k++)
                if (fabs(a->places[k] - v[i]) < fabs(a->places[best] - v[i]))
                    best = k;
            x[i] = (double)best;
        } else {
            x[i] = tune_point_settle(&s->at[i], tune_unit_unscale(&s->at[i], v[i]));
        }
    }
}

/* The n-th of evenly spread points: each coordinate goes round by its own irrational. */
static void spread(struct tuner *t, int64_t n, double *x)
{
    const struct nni_space *s = t->history.space;
    struct rng r;
    tuner_rng(t, 1, 0, &r);
    double root = 2; /* the positive root of g^(d+1) = g + 1 */
    for (int k = 0; k < 60; k++)
        root = pow(1 + root, 1 / ((double)s->n + 1));
    double step = 1;
    for (int64_t i = 0; i < s->n; i++) {
        const struct nni_param *p = &s->at[i];
        step /= root;
        double u = rng_f64(&r) + step * (double)n;
        u -= floor(u);
        x[i] = NAN;
        if (!tune_point_active(s, x, i))
            continue;
        x[i] = p->type == NNI_CHOICE
                   ? fmin(floor(u * (double)p->size), (double)p->size - 1)
               : p->type == NNI_RANDINT
                   ? fmin(floor(u * (double)p->size), (double)p->size - 1)
                   : tune_point_settle(p, tune_unit_unscale(p, u));
    }
}

/* Of the first `among` results, at most `most`: half of them the best, half the latest. */
static int64_t choose(const struct tune_history *h, int64_t among, int64_t most,
                      int64_t *at)
{
    unsigned char *first = mem_calloc(h->trials.n + 1, 1); /* 1: counts, 2: taken */
    for (int64_t i = 0; i < among; i++)
        first[h->done.at[i]] = 1;
    int64_t n = 0, best = among <= most ? among : most / 2;
    for (size_t i = 0; i < h->by_loss.n && n < best; i++)
        if (first[h->by_loss.at[i]]) {
            first[h->by_loss.at[i]] = 2;
            at[n++] = h->by_loss.at[i];
        }
    for (int64_t i = among - 1; i >= 0 && n < most && n < among; i--)
        if (first[h->done.at[i]] == 1)
            at[n++] = h->done.at[i];
    mem_free(first);
    return n;
}

/* Losses of the trials `at`, best first, bent and standardised; what that adds to the
 * likelihood. Losses that are no numbers count as the worst there is.
 */
static double bend_losses(const struct tune_history *h, const int64_t *at, int64_t n,
                          int bend, double *y)
{
    double low = INFINITY, worst = -INFINITY, adds = 0, mean = 0, square = 0;
    double *sorted = mem_alloc((size_t)n * sizeof(*sorted));
    int64_t finite = 0;
    for (int64_t i = 0; i < n; i++) {
        double loss = h->trials.at[at[i]].loss;
        if (!isfinite(loss) || h->trials.at[at[i]].violation > 0)
            continue;
        sorted[finite++] = loss;
        low = fmin(low, loss);
        worst = fmax(worst, loss);
    }
    qsort(sorted, (size_t)finite, sizeof(*sorted), by_value);
    double middle = finite ? sorted[finite / 2] : 0;
    mem_free(sorted);
    if (finite == 0)
        low = worst = 0;
    static const double shares[LADDER] = {0, 0.3, 0.02, 0.002};
    double floor_of = fmax((middle - low) * shares[bend], 1e-12 * (1 + fabs(low)));
    for (int64_t i = 0; i < n; i++) {
        double loss = h->trials.at[at[i]].loss;
        if (!isfinite(loss) || h->trials.at[at[i]].violation > 0)
            loss = worst;
        y[i] = bend ? log(loss - low + floor_of) : loss;
        adds -= bend ? y[i] : 0;
        mean += y[i] / (double)n;
    }
    for (int64_t i = 0; i < n; i++)
        square += (y[i] - mean) * (y[i] - mean) / (double)n;
    double unit = square > 0 ? 1 / sqrt(square) : 1;
    for (int64_t i = 0; i < n; i++)
        y[i] = (y[i] - mean) * unit;
    return adds + (double)n * log(unit);
}

/* How many of n results the settings are fitted to. */
static int64_t fit_size(int64_t n)
{
    int64_t every = n < 30 ? 1 : n < 80 ? 5 : 20;
    return n - n % every;
}

static void units_of(const struct autos *self, const struct tune_history *h,
                     const int64_t *at, int64_t n, double *v)
{
    for (int64_t i = 0; i < n; i++)
        to_unit(self, h->space, h->trials.at[at[i]].x, v + i * h->space->n);
}

static void refit(struct autos *self, const struct tune_history *h, int64_t k)
{
    int64_t d = h->space->n, at[FIT_MOST], n = choose(h, k, FIT_MOST, at);
    double *v = mem_alloc((size_t)(n * d) * sizeof(*v)), y[FIT_MOST], top = -INFINITY;
    units_of(self, h, at, n, v);
    for (int bend = 0; bend < LADDER; bend++) {
        struct tune_process_fit fit;
        double adds = bend_losses(h, at, n, bend, y);
        tune_process_fit(v, y, n, d, self->apart, 2, &fit);
        if (fit.likely + adds > top || bend == 0) {
            top = fit.likely + adds;
            self->bend = bend;
            self->fit = fit;
        }
    }
    self->fitted = k;
    mem_free(v);
}

/* The process and what a search over it needs. */
struct search {
    const struct autos *self;
    const struct nni_space *space;
    const struct tune_seen *seen;
    struct tune_process *p;
    double least;  /* mean of a trial */
    double *x, *v; /* while it descends: the point whose choices hold */
};

/* ln of the expected improvement in units of the deviation, and its slope. */
static double log_gain(double z, double *slope)
{
    if (z < -6) {
        double q = 1 / (z * z);
        *slope = -z - 2 / z;
        return -0.5 * z * z - 0.91893853320467274178 + log(q) +
               log1p(-3 * q + 15 * q * q - 105 * q * q * q);
    }
    double cdf = tune_normal_cdf(z), h = tune_normal_pdf(z) + z * cdf;
    *slope = cdf / h;
    return log(h);
}

static double score_of(const struct search *s, double mean, double deviation)
{
    double slope;
    return log_gain((s->least - mean) / deviation, &slope) + log(deviation);
}

static double descent(void *self, const double *v, double *gradient)
{
    const struct search *s = self;
    int64_t d = s->space->n;
    double mean, dev, d_mean[TUNE_PROCESS_DIMS], d_dev[TUNE_PROCESS_DIMS], slope;
    tune_process_slope(s->p, v, &mean, &dev, d_mean, d_dev);
    double z = (s->least - mean) / dev, gain = log_gain(z, &slope);
    for (int64_t k = 0; k < d; k++)
        gradient[k] = isnan(s->x[k]) || s->self->axes[k].kind == AXIS_APART
                          ? 0
                          : -(slope * (-d_mean[k] - z * d_dev[k]) / dev + d_dev[k] / dev);
    return -(gain + log(dev));
}

struct candidate {
    double *x, score;
};

static double score_point(const struct search *s, const double *x)
{
    double v[TUNE_PROCESS_DIMS], mean, deviation;
    if (tune_seen_has(s->seen, x))
        return -INFINITY;
    to_unit(s->self, s->space, x, v);
    tune_process_predict(s->p, v, 1, &mean, &deviation);
    return score_of(s, mean, deviation);
}

static void take_if_better(const struct search *s, const double *x, struct candidate *c)
{
    double score = score_point(s, x);
    if (score > c->score) {
        c->score = score;
        memcpy(c->x, x, (size_t)s->space->n * sizeof(*x));
    }
}

/* One step up or down where there are steps, every other option where there are options. */
static void try_neighbours(const struct search *s, struct rng *r, struct candidate *c)
{
    int64_t d = s->space->n;
    double x[TUNE_PROCESS_DIMS], v[TUNE_PROCESS_DIMS];
    for (int64_t i = 0; i < d; i++) {
        const struct axis *a = &s->self->axes[i];
        if (isnan(c->x[i]) || a->kind == AXIS_FREE)
            continue;
        int64_t n = a->kind == AXIS_APART ? s->space->at[i].size : 2;
        for (int64_t k = 0; k < n && k < 12; k++) {
            memcpy(x, c->x, (size_t)d * sizeof(*x));
            if (a->kind == AXIS_APART) {
                double option = n <= 12 ? (double)k : (double)rng_below(r, (uint64_t)n);
                if (x[i] == option)
                    continue;
                tune_point_change(s->space, i, option, r, x);
            } else {
                to_unit(s->self, s->space, x, v);
                v[i] = fmin(fmax(v[i] + (k ? a->step : -a->step), 0), 1);
                from_unit(s->self, s->space, v, x);
            }
            take_if_better(s, x, c);
        }
    }
}

static void improve(struct search *s, struct rng *r, struct candidate *c)
{
    int64_t d = s->space->n;
    double v[TUNE_PROCESS_DIMS], x[TUNE_PROCESS_DIMS];
    double low[TUNE_PROCESS_DIMS], high[TUNE_PROCESS_DIMS];
    bool free = false, stepped = false;
    for (int64_t i = 0; i < d; i++) {
        bool apart = s->self->axes[i].kind == AXIS_APART;
        low[i] = apart ? -2 : 0;
        high[i] = apart ? (double)s->space->at[i].size : 1;
        free |= !apart && !isnan(c->x[i]);
        stepped |= s->self->axes[i].kind != AXIS_FREE;
    }
    for (int round = 0; round < (stepped ? 2 : 1); round++) {
        double before = c->score;
        if (free) {
            memcpy(x, c->x, (size_t)d * sizeof(*x));
            s->x = x;
            to_unit(s->self, s->space, x, v);
            tune_descend(descent, s, d, low, high, CLIMB_STEPS, v);
            from_unit(s->self, s->space, v, x);
            take_if_better(s, x, c);
        }
        if (stepped)
            try_neighbours(s, r, c);
        if (!(c->score > before))
            break;
    }
}

/* A neighbour of x: some numbers move, now and then a choice changes. */
static void move_some(const struct autos *self, const struct nni_space *s, struct rng *r,
                      double *x)
{
    static const double sizes[4] = {0.25, 0.08, 0.025, 0.008};
    double v[TUNE_PROCESS_DIMS], size = sizes[rng_below(r, 4)];
    double share = fmax(0.3, 1.5 / (double)s->n);
    for (int64_t i = 0; i < s->n; i++)
        if (!isnan(x[i]) && self->axes[i].kind == AXIS_APART && rng_f64(r) < 0.2)
            tune_point_change(s, i, (double)rng_below(r, (uint64_t)s->at[i].size), r, x);
    to_unit(self, s, x, v);
    for (int64_t i = 0; i < s->n; i++)
        if (!isnan(x[i]) && self->axes[i].kind != AXIS_APART && rng_f64(r) < share)
            v[i] =
                fmin(fmax(v[i] + fmax(size, self->axes[i].step) * rng_normal(r), 0), 1);
    from_unit(self, s, v, x);
}

static void keep_top(struct candidate *top, const double *x, double score, int64_t d)
{
    if (!(score > top[CLIMBS - 1].score))
        return;
    struct candidate last = top[CLIMBS - 1];
    int64_t i = CLIMBS - 1;
    for (; i > 0 && top[i - 1].score < score; i--)
        top[i] = top[i - 1];
    memcpy(last.x, x, (size_t)d * sizeof(*x));
    last.score = score;
    top[i] = last;
}

/* The best of draws and neighbours, improved; false when all were tried before. */
static bool search_run(struct search *s, const struct tune_history *h, struct rng *r,
                       double *x)
{
    int64_t d = s->space->n, m = DRAWS + NEIGHBOURS;
    double *all = mem_alloc((size_t)(m * d) * 2 * sizeof(*all)), *v = all + m * d;
    double *mean = mem_alloc((size_t)m * 2 * sizeof(*mean)), *dev = mean + m;
    double room[CLIMBS][TUNE_PROCESS_DIMS];
    struct candidate top[CLIMBS];
    for (int i = 0; i < CLIMBS; i++)
        top[i] = (struct candidate){room[i], -INFINITY};
    for (int64_t c = 0; c < m; c++) {
        double *one = all + c * d;
        if (c < DRAWS) {
            tune_point_draw(s->space, r, one);
        } else {
            uint64_t of = rng_below(r, h->by_loss.n < 6 ? h->by_loss.n : 6);
            memcpy(one, h->trials.at[h->by_loss.at[of]].x, (size_t)d * sizeof(*one));
            move_some(s->self, s->space, r, one);
        }
        to_unit(s->self, s->space, one, v + c * d);
    }
    tune_process_predict(s->p, v, m, mean, dev);
    for (int64_t c = 0; c < m; c++)
        if (!tune_seen_has(s->seen, all + c * d))
            keep_top(top, all + c * d, score_of(s, mean[c], dev[c]), d);
    int best = 0;
    for (int i = 0; i < CLIMBS; i++) {
        if (top[i].score > -INFINITY)
            improve(s, r, &top[i]);
        if (top[i].score > top[best].score)
            best = i;
    }
    bool found = top[best].score > -INFINITY;
    if (found)
        memcpy(x, top[best].x, (size_t)d * sizeof(*x));
    mem_free(all);
    mem_free(mean);
    return found;
}

/* The process over the chosen results and, as if they had the value that it expects, the
 * running trials. *least is the least mean of a finished trial, *best its place in `at`.
 */
static struct tune_process *process_of(const struct autos *self,
                                       const struct tune_history *h, const int64_t *at,
                                       int64_t n, double *least, int64_t *best)
{
    int64_t d = h->space->n, m = n + (int64_t)h->running.n;
    double *v = mem_alloc((size_t)(m * d) * sizeof(*v));
    double *y = mem_alloc((size_t)m * 3 * sizeof(*y)), *mean = y + m, *dev = mean + m;
    units_of(self, h, at, n, v);
    units_of(self, h, h->running.at, m - n, v + n * d);
    bend_losses(h, at, n, self->bend, y);
    struct tune_process *p = tune_process_create(v, y, n, d, self->apart, &self->fit);
    tune_process_predict(p, v, m, mean, dev);
    *least = INFINITY;
    for (int64_t i = 0; i < n; i++)
        if (mean[i] < *least && h->trials.at[at[i]].violation == 0) {
            *least = mean[i];
            *best = i;
        }
    if (m > n) {
        memcpy(y + n, mean + n, (size_t)(m - n) * sizeof(*y));
        tune_process_destroy(p);
        p = tune_process_create(v, y, m, d, self->apart, &self->fit);
    }
    mem_free(v);
    mem_free(y);
    return p;
}

static bool process_ask(struct tuner *t, struct rng *r, double *x)
{
    struct autos *self = t->self;
    const struct tune_history *h = &t->history;
    int64_t at[POINTS_MOST], best = 0;
    int64_t n = choose(h, (int64_t)h->done.n, POINTS_MOST, at);
    struct search s = {.self = self, .space = h->space, .seen = &t->seen};
    s.p = process_of(self, h, at, n, &s.least, &best);
    bool found = search_run(&s, h, r, x);
    tune_process_destroy(s.p);
    return found;
}

static bool same_place(const struct tune_history *h, int64_t a, int64_t b)
{
    const double *x = h->trials.at[a].x, *y = h->trials.at[b].x;
    for (int64_t i = 0; i < h->space->n; i++)
        if (x[i] != y[i] && !(isnan(x[i]) && isnan(y[i])))
            return false;
    return true;
}

/* Whether another trial, finished or not, has the point of this one. */
static bool repeated(const struct tune_history *h, int64_t trial)
{
    for (size_t i = 0; i < h->trials.n; i++)
        if ((int64_t)i != trial && same_place(h, (int64_t)i, trial))
            return true;
    return false;
}

/* Results since the last that was the best so far. */
static int64_t stalled(const struct tune_history *h)
{
    if (h->by_loss.n == 0)
        return 0;
    int64_t n = (int64_t)h->done.n, best = h->by_loss.at[0];
    for (int64_t i = n - 1; i >= 0; i--)
        if (h->done.at[i] == best)
            return n - 1 - i;
    return n;
}

/* Whether the estimators take this ask. */
static bool estimators_turn(const struct autos *self, const struct tuner *t)
{
    int64_t n = (int64_t)t->history.done.n;
    if (!self->modelled || n > PROCESS_MOST)
        return true;
    int64_t every = stalled(&t->history) >= STALL ? 2 : 6;
    return t->n_asks % every == every - 1;
}

/* Whether the best point is to be tried once more, to see whether results have noise. */
static bool repeat_is_due(const struct autos *self, const struct tuner *t)
{
    const struct tune_history *h = &t->history;
    return !self->noisy && !self->exact && t->seen.endless &&
           (int64_t)h->done.n >= REPEAT_FROM && (int64_t)h->done.n <= PROCESS_MOST &&
           exp(self->fit.noise) > NOISE_MATTERS && !repeated(h, h->by_loss.at[0]);
}

static enum tuner_answer auto_ask(struct tuner *t, struct rng *r, double *x)
{
    struct autos *self = t->self;
    const struct tune_history *h = &t->history;
    if (self->modelled && ((int64_t)h->trials.n < STARTUP || h->done.n < 3)) {
        spread(t, t->n_asks, x);
        return TUNER_GIVES;
    }
    bool estimators = estimators_turn(self, t);
    if (!estimators && self->fitted != fit_size((int64_t)h->done.n))
        refit(self, h, fit_size((int64_t)h->done.n));
    if (!estimators && repeat_is_due(self, t))
        memcpy(x, h->trials.at[h->by_loss.at[0]].x, (size_t)h->space->n * sizeof(*x));
    else if (estimators || !process_ask(t, r, x))
        tpe_joint_ask(self->tpe, h, &self->tpe_set, r, x);
    return TUNER_GIVES;
}

static void auto_added(struct tuner *t, int64_t trial)
{
    struct autos *self = t->self;
    tpe_joint_add(self->tpe, &t->history, trial);
}

static void auto_told(struct tuner *t, int64_t trial)
{
    struct autos *self = t->self;
    const struct tune_history *h = &t->history;
    if (h->done.n > PROCESS_MOST || self->noisy || !self->modelled)
        return;
    for (size_t i = 0; i < h->done.n; i++) {
        int64_t other = h->done.at[i];
        if (other == trial || !same_place(h, other, trial))
            continue;
        self->noisy |= h->trials.at[other].loss != h->trials.at[trial].loss;
        self->exact = !self->noisy;
    }
}

static void auto_imported(struct tuner *t, int64_t trial)
{
    auto_added(t, trial);
    auto_told(t, trial);
}

/* Under noise, the trial with the least mean. */
static int64_t auto_best(struct tuner *t)
{
    struct autos *self = t->self;
    const struct tune_history *h = &t->history;
    int64_t at[POINTS_MOST], best = 0, n = (int64_t)h->done.n;
    if (!self->noisy || n < REPEAT_FROM)
        return h->by_loss.at[0];
    int64_t k = n <= PROCESS_MOST ? fit_size(n) : fit_size(PROCESS_MOST);
    if (self->fitted != k)
        refit(self, h, k);
    double least;
    n = choose(h, n, POINTS_MOST, at);
    tune_process_destroy(process_of(self, h, at, n, &least, &best));
    return at[best];
}

const struct tuner_ops tuner_auto = {
    .create = auto_create,
    .destroy = auto_destroy,
    .ask = auto_ask,
    .issued = auto_added,
    .told = auto_told,
    .imported = auto_imported,
    .best = auto_best,
    .pure = true,
    .no_repeats = true,
};
