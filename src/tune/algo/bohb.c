/* SPDX-License-Identifier: Apache-2.0 */
/* Falkner et al., "BOHB", ICML 2018: Hyperband whose new configurations come from a
 * kernel density model of the good results at the largest budget that has enough of them.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "text/nni/nni.h"
#include "tune/algo/halving.h"
#include "tune/normal.h"
#include "tune/unit.h"

struct bohb {
    struct halving *halving; /* first, for the operations of halving.h */
    const struct nni_space *space;
    int64_t least_points;
};

/* Points of one kind, with one kernel width per parameter. */
struct cloud {
    double *v; /* [n][params]: coordinate in [0, 1], or the index of a choice */
    int64_t n;
    double *width;
};

static void *bohb_create(struct tuner *t)
{
    const struct nni_BohbArgs *args = t->args;
    struct bohb *self = mem_calloc(1, sizeof(*self));
    double eta = (double)args->eta, most = (double)args->max_budget;
    double least = fmin((double)args->min_budget, most);
    self->halving = halving_create(&(struct halving_conf){
        .most = most,
        .eta = eta,
        .s_max = (int64_t)floor(log(most / least) / log(eta) + 1e-6),
        .one_by_one = true,
        .plain_ids = true,
    });
    self->space = t->history.space;
    self->least_points = t->history.space->n + 1;
    if (args->has_min_points_in_model && args->min_points_in_model > self->least_points)
        self->least_points = args->min_points_in_model;
    return self;
}

static void bohb_destroy(void *self_)
{
    struct bohb *self = self_;
    halving_destroy(self->halving);
    mem_free(self);
}

static double coordinate(const struct nni_param *p, double v)
{
    return p->type == NNI_CHOICE ? v : tune_unit_scale(p, v);
}

/* The largest budget with more than enough results; 0: none. */
static int64_t model_budget(const struct tuner *t, const struct bohb *self)
{
    int64_t best = 0;
    for (size_t i = 0; i < t->history.done.n; i++) {
        int64_t b = halving_budget(self->halving, t->history.done.at[i]), n = 0;
        if (b <= best)
            continue;
        for (size_t k = 0; k < t->history.done.n; k++)
            n += halving_budget(self->halving, t->history.done.at[k]) == b;
        if (n >= 2 * self->least_points)
            best = b;
    }
    return best;
}

static void set_widths(struct cloud *c, const struct bohb *self, double least)
{
    int64_t d = self->space->n;
    c->width = mem_calloc((size_t)d + 1, sizeof(*c->width));
    for (int64_t i = 0; i < d; i++) {
        double mean = 0, square = 0;
        for (int64_t k = 0; k < c->n; k++)
            mean += c->v[k * d + i] / (double)c->n;
        for (int64_t k = 0; k < c->n; k++)
            square += pow(c->v[k * d + i] - mean, 2) / (double)c->n;
        double w = 1.06 * sqrt(square) * pow((double)c->n, -1.0 / (4 + (double)d));
        const struct nni_param *p = &self->space->at[i];
        if (p->type == NNI_CHOICE)
            w = fmin(w, (double)(p->size - 1) / (double)p->size);
        c->width[i] = fmax(w, least);
    }
}

static double density(const struct cloud *c, const struct bohb *self, const double *v)
{
    int64_t d = self->space->n;
    double sum = 0;
    for (int64_t k = 0; k < c->n; k++) {
        double product = 1;
        for (int64_t i = 0; i < d; i++) {
            const struct nni_param *p = &self->space->at[i];
            double w = c->width[i], at = c->v[k * d + i];
            if (p->type != NNI_CHOICE)
                product *= tune_normal_pdf((v[i] - at) / w) / w;
            else if (p->size > 1)
                product *= v[i] == at ? 1 - w : w / (double)(p->size - 1);
        }
        sum += product;
    }
    return fmax(sum / (double)c->n, 1e-32);
}

static void draw_near(const struct cloud *good, const struct bohb *self, double factor,
                      struct rng *r, double *v)
{
    int64_t d = self->space->n;
    const double *at = good->v + (int64_t)rng_below(r, (uint64_t)good->n) * d;
    for (int64_t i = 0; i < d; i++) {
        const struct nni_param *p = &self->space->at[i];
        if (p->type != NNI_CHOICE)
            v[i] = tune_normal_draw_within(r, at[i], good->width[i] * factor, 0, 1);
        else
            v[i] = rng_f64(r) < 1 - good->width[i]
                       ? at[i]
                       : (double)rng_below(r, (uint64_t)p->size);
    }
}

static void cloud_fill(struct cloud *c, const struct tuner *t, const struct bohb *self,
                       const int64_t *trials, int64_t n)
{
    int64_t d = self->space->n;
    c->n = n;
    c->v = mem_alloc((size_t)(n * d + 1) * sizeof(*c->v));
    for (int64_t k = 0; k < n; k++)
        for (int64_t i = 0; i < d; i++)
            c->v[k * d + i] =
                coordinate(&self->space->at[i], t->history.trials.at[trials[k]].x[i]);
}

/* The best of the candidates into x. */
static void from_model(struct tuner *t, struct bohb *self, int64_t budget, struct rng *r,
                       double *x)
{
    const struct nni_BohbArgs *args = t->args;
    const struct tune_history *h = &t->history;
    int64_t *at = mem_alloc((h->by_loss.n + 1) * sizeof(*at)), n = 0;
    for (size_t i = 0; i < h->by_loss.n; i++)
        if (halving_budget(self->halving, h->by_loss.at[i]) == budget)
            at[n++] = h->by_loss.at[i];
    int64_t n_good = args->top_n_percent * n / 100,
            n_bad = (100 - args->top_n_percent) * n / 100;
    n_good = n_good > self->least_points ? n_good : self->least_points;
    n_bad = n_bad > self->least_points ? n_bad : self->least_points;
    n_bad = n_bad < n - n_good ? n_bad : n - n_good;
    struct cloud good, bad;
    cloud_fill(&good, t, self, at, n_good);
    cloud_fill(&bad, t, self, at + n_good, n_bad);
    set_widths(&good, self, args->min_bandwidth);
    set_widths(&bad, self, args->min_bandwidth);

    int64_t d = self->space->n;
    double *v = mem_calloc((size_t)(2 * d + 1), sizeof(*v)), least = INFINITY;
    for (int64_t c = 0; c < args->num_samples; c++) {
        draw_near(&good, self, args->bandwidth_factor, r, v);
        double ratio = density(&bad, self, v) / density(&good, self, v);
        if (ratio < least) {
            least = ratio;
            memcpy(v + d, v, (size_t)d * sizeof(*v));
        }
    }
    for (int64_t i = 0; i < d; i++)
        x[i] = self->space->at[i].type == NNI_CHOICE
                   ? v[d + i]
                   : tune_unit_unscale(&self->space->at[i], v[d + i]);
    mem_free(v);
    mem_free(at);
    mem_free(good.v);
    mem_free(good.width);
    mem_free(bad.v);
    mem_free(bad.width);
}

static enum tuner_answer bohb_ask(struct tuner *t, struct rng *r, double *x)
{
    const struct nni_BohbArgs *args = t->args;
    struct bohb *self = t->self;
    bool fresh = false;
    enum tuner_answer a = halving_next(self->halving, t->history.space->n, x, &fresh);
    if (a != TUNER_GIVES || !fresh)
        return a;
    int64_t budget = model_budget(t, self);
    if (rng_f64(r) < args->random_fraction || budget == 0)
        tune_point_draw(t->history.space, r, x);
    else
        from_model(t, self, budget, r, x);
    return a;
}

const struct tuner_ops tuner_bohb = {
    .create = bohb_create,
    .destroy = bohb_destroy,
    .ask = bohb_ask,
    .issued = halving_op_issued,
    .report = halving_op_report,
    .told = halving_op_told,
    .ended = halving_op_ended,
    .extra = halving_op_extra,
    .param_id = halving_op_id,
};
