/* SPDX-License-Identifier: Apache-2.0 */
/* hyperopt's annealing: draws around one of the better results, closer the more trials
 * have used the parameter.
 */
#include <math.h>
#include <string.h>

#include "text/nni/nni.h"
#include "tune/tuner_private.h"

#define SHRINK 0.1
#define MANY_TRIALS 20 /* before running trials get a result by assumption */

/* The finished trials, best first, running ones among them where a result is assumed. */
struct ranked {
    int64_t *at;
    size_t n;
};

static double assumed(const struct tuner *t)
{
    const struct nni_HyperoptArgs *args = t->args;
    const struct tune_history *h = &t->history;
    double sum = 0, least = INFINITY, most = -INFINITY;
    for (size_t i = 0; i < h->done.n; i++) {
        double v = h->trials.at[h->done.at[i]].loss;
        v = t->maximize[0] ? -v : v;
        sum += v;
        least = fmin(least, v);
        most = fmax(most, v);
    }
    double v = sum / (double)h->done.n;
    if (strcmp(args->constant_liar_type, "mean") != 0)
        v = strcmp(args->constant_liar_type, "min") == 0 ? least : most;
    return t->maximize[0] ? -v : v;
}

static struct ranked anneal_rank(const struct tuner *t)
{
    const struct nni_HyperoptArgs *args = t->args;
    const struct tune_history *h = &t->history;
    struct ranked k = {.at =
                           mem_alloc((h->by_loss.n + h->running.n + 1) * sizeof(*k.at))};
    size_t lies = h->running.n;
    if (args->parallel_optimize && t->n_asks > MANY_TRIALS && h->done.n > 0)
        lies = 0;
    double lie = lies < h->running.n ? assumed(t) : 0;
    for (size_t i = 0; i < h->by_loss.n; i++) {
        const struct tuner_trial *trial = &h->trials.at[h->by_loss.at[i]];
        while (lies < h->running.n && (trial->loss > lie || trial->violation > 0))
            k.at[k.n++] = h->running.at[lies++];
        k.at[k.n++] = h->by_loss.at[i];
    }
    while (lies < h->running.n)
        k.at[k.n++] = h->running.at[lies++];
    return k;
}

static int64_t geometric(struct rng *r)
{
    int64_t n = 0;
    while (n < 60 && rng_f64(r) >= 0.5)
        n++;
    return n;
}

/* The trial to start from for parameter i: one chosen before if it used it. */
static int64_t base_of(const struct tuner *t, const struct ranked *k, int64_t i,
                       const int64_t *chosen, int64_t n_chosen, struct rng *r,
                       int64_t *n_used)
{
    const struct tune_history *h = &t->history;
    int64_t used = 0;
    for (size_t j = 0; j < k->n; j++)
        used += !isnan(h->trials.at[k->at[j]].x[i]);
    *n_used = used;
    if (used == 0)
        return -1;
    for (int64_t j = 0; j < n_chosen; j++)
        if (!isnan(h->trials.at[chosen[j]].x[i]))
            return chosen[j];
    int64_t place = geometric(r);
    place = place < used ? place : used - 1;
    for (size_t j = 0; j < k->n; j++)
        if (!isnan(h->trials.at[k->at[j]].x[i]) && place-- == 0)
            return k->at[j];
    return -1;
}

static double anneal_near(const struct nni_param *p, double v, double shrink,
                          struct rng *r)
{
    if (p->categorical)
        return rng_f64(r) < shrink ? (double)rng_below(r, (uint64_t)p->size) : v;
    if (p->sigma > 0)
        return v + p->sigma * shrink * rng_normal(r);
    double width = (p->high - p->low) * shrink;
    double centre = fmin(fmax(v, p->low + width / 2), p->high - width / 2);
    return centre - width / 2 + width * rng_f64(r);
}

static enum tuner_answer anneal_ask(struct tuner *t, struct rng *r, double *x)
{
    const struct nni_space *s = t->history.space;
    struct ranked k = anneal_rank(t);
    int64_t *chosen = mem_alloc((size_t)(s->n + 1) * sizeof(*chosen)), n_chosen = 0;
    for (int64_t i = 0; i < s->n; i++) {
        const struct nni_param *p = &s->at[i];
        x[i] = NAN;
        if (!tune_point_active(s, x, i))
            continue;
        int64_t used, base = base_of(t, &k, i, chosen, n_chosen, r, &used);
        if (base < 0) {
            x[i] = tune_point_prior(p, r);
            continue;
        }
        chosen[n_chosen++] = base;
        double v = tune_point_settle(p, t->history.trials.at[base].x[i]);
        x[i] = anneal_near(p, v, 1 / (1 + SHRINK * (double)used), r);
    }
    if (tune_seen_has(&t->seen, x))
        tune_point_draw(s, r, x);
    mem_free(chosen);
    mem_free(k.at);
    return TUNER_GIVES;
}

const struct tuner_ops tuner_anneal = {.ask = anneal_ask, .pure = true};
