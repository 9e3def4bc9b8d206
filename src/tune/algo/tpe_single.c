/* SPDX-License-Identifier: Apache-2.0 */
/* NNI's TPE: every parameter by itself. The results are split by loss into good ones and
 * the rest; running trials are put among them with an assumed loss (the constant liar,
 * unless it is off), so that trials asked for at once differ. For each active parameter
 * both parts give a density, shares of options or a Parzen estimate of numbers;
 * candidates are drawn from the good one, and the one with the largest ratio of good to
 * rest is taken. Until there are enough results, the prior is drawn from.
 */
#include <math.h>
#include <stdlib.h>

#include "tune/algo/tpe.h"
#include "tune/parzen.h"

/* The values of one parameter, good results before the others, each kind in the order in
 * which it is weighted. */
struct split {
    double *v, *w;
    int64_t *trial;
    int64_t n, good;
};

static double tpe_single_lie(const struct tune_history *h, enum tpe_liar liar)
{
    double sum = 0, best = INFINITY, worst = -INFINITY;
    int64_t n = 0;
    for (size_t i = 0; i < h->done.n; i++) {
        double loss = h->trials.at[h->done.at[i]].loss;
        if (!isfinite(loss))
            continue;
        best = fmin(best, loss);
        worst = fmax(worst, loss);
        sum += loss;
        n++;
    }
    if (n == 0)
        return 0;
    return liar == LIAR_BEST ? best : liar == LIAR_WORST ? worst : sum / (double)n;
}

static void tpe_single_push(struct split *s, const struct tune_history *h, int64_t trial,
                            int64_t i)
{
    double v = h->trials.at[trial].x[i];
    if (isnan(v))
        return;
    s->v[s->n] = v;
    s->trial[s->n++] = trial;
}

static int by_trial(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

static void order_by_time(struct split *s, const struct tune_history *h, int64_t i)
{
    qsort(s->trial, (size_t)s->good, sizeof(*s->trial), by_trial);
    qsort(s->trial + s->good, (size_t)(s->n - s->good), sizeof(*s->trial), by_trial);
    for (int64_t k = 0; k < s->n; k++)
        s->v[k] = h->trials.at[s->trial[k]].x[i];
}

static void split_init(struct split *s, const struct tune_history *h,
                       const struct tpe_settings *set, int64_t i, double assumed)
{
    size_t room = h->by_loss.n + h->running.n + 1;
    *s = (struct split){.v = mem_alloc(room * sizeof(*s->v)),
                        .w = mem_alloc(room * sizeof(*s->w)),
                        .trial = mem_alloc(room * sizeof(*s->trial))};
    size_t lies = set->liar == LIAR_NONE ? h->running.n : 0;
    for (size_t k = 0; k < h->by_loss.n; k++) {
        const struct tuner_trial *t = &h->trials.at[h->by_loss.at[k]];
        while (lies < h->running.n && (t->loss > assumed || t->violation > 0))
            tpe_single_push(s, h, h->running.at[lies++], i);
        tpe_single_push(s, h, h->by_loss.at[k], i);
    }
    while (lies < h->running.n)
        tpe_single_push(s, h, h->running.at[lies++], i);
    s->good = tpe_good(set, s->n);
    if (set->by_time)
        order_by_time(s, h, i);
    parzen_weights(s->good, set->forget, s->w);
    parzen_weights(s->n - s->good, set->forget, s->w + s->good);
}

static void split_release(struct split *s)
{
    mem_free(s->v);
    mem_free(s->w);
    mem_free(s->trial);
}

/* p[k] of the options, from the entries [from, to). */
static void shares(const struct split *s, int64_t from, int64_t to, double prior_weight,
                   int64_t size, double *p)
{
    double sum = prior_weight * (double)size;
    for (int64_t k = 0; k < size; k++)
        p[k] = prior_weight;
    for (int64_t j = from; j < to; j++) {
        p[(int64_t)s->v[j]] += s->w[j];
        sum += s->w[j];
    }
    for (int64_t k = 0; k < size; k++)
        p[k] /= sum;
}

static double ask_option(const struct split *s, const struct tpe_settings *set,
                         int64_t size, struct rng *r)
{
    double *good = mem_alloc((size_t)size * 2 * sizeof(*good)), *bad = good + size;
    shares(s, 0, s->good, set->prior_weight, size, good);
    shares(s, s->good, s->n, set->prior_weight, size, bad);
    int64_t best = 0;
    double top = -INFINITY;
    for (int64_t c = 0; c < set->n_candidates; c++) {
        double u = rng_f64(r);
        int64_t k = 0;
        while (k + 1 < size && u >= good[k])
            u -= good[k++];
        double score = log(good[k]) - log(bad[k]);
        if (score > top) {
            top = score;
            best = k;
        }
    }
    mem_free(good);
    return (double)best;
}

static double ask_number(const struct split *s, const struct tpe_settings *set,
                         const struct nni_param *p, struct rng *r)
{
    bool normal = p->sigma > 0;
    double mean = normal ? p->mu : (p->low + p->high) / 2;
    double deviation = normal ? p->sigma : p->high - p->low;
    double low = normal ? -INFINITY : p->low, high = normal ? INFINITY : p->high;
    if (!(deviation > 0))
        return p->low;
    struct parzen good, bad;
    parzen_fit(&good, s->v, s->w, s->good, set->prior_weight, mean, deviation, low, high);
    parzen_fit(&bad, s->v + s->good, s->w + s->good, s->n - s->good, set->prior_weight,
               mean, deviation, low, high);
    double best = mean, top = -INFINITY;
    for (int64_t c = 0; c < set->n_candidates; c++) {
        double v = parzen_draw(&good, r);
        double score = parzen_log_pdf(&good, v) - parzen_log_pdf(&bad, v);
        if (score > top) {
            top = score;
            best = v;
        }
    }
    parzen_release(&good);
    parzen_release(&bad);
    return best;
}

void tpe_single(const struct tune_history *h, const struct tpe_settings *set,
                struct rng *r, double *x)
{
    double assumed = tpe_single_lie(h, set->liar);
    for (int64_t i = 0; i < h->space->n; i++) {
        const struct nni_param *p = &h->space->at[i];
        if (!tune_point_active(h->space, x, i)) {
            x[i] = NAN;
            continue;
        }
        struct split s;
        split_init(&s, h, set, i, assumed);
        if (s.n < set->n_startup || s.n == 0)
            x[i] = tune_point_prior(p, r);
        else if (p->categorical)
            x[i] = ask_option(&s, set, p->size, r);
        else
            x[i] = ask_number(&s, set, p, r);
        split_release(&s);
    }
}
