/* SPDX-License-Identifier: Apache-2.0 */
/* The joint estimator. Parameters that are active under the same option form a block;
 * each block is modelled from the trials that had it. A density is a mixture with one
 * component per trial, a product of one kernel per parameter: a normal within the bounds
 * for numbers (its mass over the step where there are steps), a bump on the option for
 * choices; one more component is the prior.
 *
 * Two things differ from the estimators of Optuna and hyperopt, and make the search end
 * closer to the minimum (bench/tune): kernels narrow with the square of the number of
 * good results rather than with the number, down to WIDTH_LEAST; and a good result weighs
 * as much as it is better than the best of the others, as in Watanabe, "Tree-structured
 * Parzen estimator", 2023. A kernel narrower than a step would never leave it, hence
 * STEPS_LEAST.
 *
 * Nested choices decide which blocks get results at all, and a good first draw in one
 * branch would starve the others. So each branch gets a few trials first, and a share of
 * the trials goes to a branch drawn evenly.
 */
#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "tune/algo/tpe.h"
#include "tune/normal.h"
#include "tune/parzen.h"
#include "tune/sorted.h"

/* Of every option of a nested choice, so many trials before they are compared. */
#define BRANCH_TRIALS 5
#define BRANCH_SHARE 0.1  /* trials whose nested choice is drawn evenly */
#define WIDTH_LEAST 0.035 /* of the range, for kernels of numbers */
#define STEPS_LEAST 0.5   /* of a step, for kernels of numbers that have one */
#define OPTION_PRIOR 2.0  /* of choices: how much the options not seen weigh */

struct dim {
    int64_t param;
    bool option;      /* a choice */
    double low, high; /* of the kernels; infinite for the normal family */
    double mean, range;
    double step; /* in the scale of the model, 0: none, or it is not even there */
    struct tune_sorted values;
};

struct block {
    int64_t parent, option; /* it is active when that option is chosen; -1: always */
    VEC(struct dim) dims;
};

struct tpe_joint {
    const struct nni_space *space;
    VEC(struct block) blocks; /* in the order of their first parameter */
};

static struct dim dim_of(const struct nni_param *p, int64_t i)
{
    struct dim d = {.param = i, .option = p->type == NNI_CHOICE};
    if (p->type == NNI_RANDINT) {
        d.low = -0.5;
        d.high = (double)p->size - 0.5;
        d.step = 1;
    } else if (p->sigma > 0) {
        d.low = -INFINITY;
        d.high = INFINITY;
        d.mean = p->mu;
        d.range = p->sigma;
        d.step = p->log ? 0 : p->q;
        return d;
    } else if (p->q > 0 && p->clip) {
        double low = p->clip_low - p->q / 2, high = p->clip_high + p->q / 2;
        d.low = p->log ? log(fmax(low, p->q / 4)) : low;
        d.high = p->log ? log(high) : high;
        d.step = p->log ? 0 : p->q;
    } else {
        d.low = p->low;
        d.high = p->high;
    }
    d.mean = (d.low + d.high) / 2;
    d.range = d.high - d.low;
    return d;
}

struct tpe_joint *tpe_joint_create(const struct nni_space *space)
{
    struct tpe_joint *j = mem_calloc(1, sizeof(*j));
    j->space = space;
    for (int64_t i = 0; i < space->n; i++) {
        const struct nni_param *p = &space->at[i];
        struct block *b = NULL;
        for (size_t k = 0; k < j->blocks.n && !b; k++)
            if (j->blocks.at[k].parent == p->parent &&
                (p->parent < 0 || j->blocks.at[k].option == p->option))
                b = &j->blocks.at[k];
        if (!b) {
            VEC_PUSH(&j->blocks,
                     ((struct block){.parent = p->parent, .option = p->option}));
            b = &j->blocks.at[j->blocks.n - 1];
        }
        VEC_PUSH(&b->dims, dim_of(p, i));
    }
    return j;
}

void tpe_joint_destroy(struct tpe_joint *j)
{
    if (!j)
        return;
    for (size_t i = 0; i < j->blocks.n; i++) {
        struct block *b = &j->blocks.at[i];
        for (size_t k = 0; k < b->dims.n; k++)
            tune_sorted_release(&b->dims.at[k].values);
        VEC_RELEASE(&b->dims);
    }
    VEC_RELEASE(&j->blocks);
    mem_free(j);
}

static bool block_active(const struct block *b, const double *x)
{
    return b->parent < 0 || x[b->parent] == (double)b->option;
}

static double model_value(const struct nni_space *s, const struct dim *d, const double *x)
{
    return tune_point_settle(&s->at[d->param], x[d->param]);
}

void tpe_joint_add(struct tpe_joint *j, const struct tune_history *h, int64_t trial)
{
    const double *x = h->trials.at[trial].x;
    for (size_t i = 0; i < j->blocks.n; i++) {
        struct block *b = &j->blocks.at[i];
        for (size_t k = 0; k < b->dims.n && block_active(b, x); k++)
            if (!b->dims.at[k].option)
                tune_sorted_add(&b->dims.at[k].values,
                                model_value(j->space, &b->dims.at[k], x), trial);
    }
}

/* The different kernels of a parameter with steps, and which one a component has. */
struct kinds {
    int32_t n, *of; /* of: [components] */
    double *mu, *unit, *mass;
};

/* A mixture over one block: arrays of n components, the prior last. */
struct mixture {
    const struct block *block;
    int64_t n;
    int64_t *trial;      /* [n - 1], oldest first */
    double *weight;      /* [n], sum 1 */
    double *height;      /* [n], logarithm of what does not depend on x */
    double **mu, **unit; /* [dims][n]; unit: 1 / sigma */
    double *work;        /* [n] */
    struct kinds *kinds; /* [dims], of those with steps */
    struct arena arena;
};

enum side { SIDE_NONE, SIDE_GOOD, SIDE_BAD };

/* Kernel widths of one parameter: the larger gap to the neighbours on the same side. */
static void set_widths(struct mixture *m, const struct dim *d, const unsigned char *side,
                       unsigned char mine, const int64_t *place, double *sigma)
{
    int64_t before = -1;
    double gap_before = 0, v_before = 0;
    double share = 1 / ((double)m->n + 1);
    double least =
        fmax(d->range * fmax(share * share, WIDTH_LEAST), d->step * STEPS_LEAST);
    for (size_t i = 0; i < d->values.items.n; i++) {
        const struct tune_sorted_item *it = &d->values.items.at[i];
        if (side[it->trial] != mine)
            continue;
        double gap = before >= 0 ? it->v - v_before : 0;
        if (before >= 0)
            sigma[before] = fmax(gap_before, gap);
        before = place[it->trial];
        v_before = it->v;
        gap_before = gap;
    }
    if (before >= 0)
        sigma[before] = m->n == 2 ? d->range : gap_before;
    for (int64_t c = 0; c + 1 < m->n; c++)
        sigma[c] = fmin(fmax(sigma[c], least), d->range);
    sigma[m->n - 1] = d->range;
}

/* What makes each kernel's mass 1: its width, and what lies outside the bounds. */
static void set_heights(struct mixture *m, const struct dim *d, const double *mu,
                        const double *unit)
{
    double last = 0, log_last = 0;
    for (int64_t c = 0; c < m->n; c++) {
        if (unit[c] != last) {
            last = unit[c];
            log_last = log(last);
        }
        m->height[c] += log_last;
        if (isfinite(d->low))
            m->height[c] -= tune_normal_log_mass(mu[c], 1 / unit[c], d->low, d->high);
    }
}

static size_t kind_slot(double mu, double unit, size_t slots)
{
    double pair[2] = {mu, unit};
    return (size_t)hash_xxh3(pair, sizeof(pair)) & (slots - 1);
}

static void set_kinds(struct mixture *m, const struct dim *d, size_t at)
{
    struct kinds *k = &m->kinds[at];
    const double *mu = m->mu[at], *unit = m->unit[at];
    size_t slots = 16, size = (size_t)m->n * sizeof(double);
    while (slots < (size_t)m->n * 2)
        slots *= 2;
    int32_t *slot = mem_calloc(slots, sizeof(*slot)); /* 1 + kind; 0: free */
    *k = (struct kinds){.of = arena_alloc(&m->arena, (size_t)m->n * sizeof(*k->of)),
                        .mu = arena_alloc(&m->arena, size),
                        .unit = arena_alloc(&m->arena, size),
                        .mass = arena_alloc(&m->arena, size)};
    for (int64_t c = 0; c < m->n; c++) {
        size_t i = kind_slot(mu[c], unit[c], slots);
        while (slot[i] &&
               (k->mu[slot[i] - 1] != mu[c] || k->unit[slot[i] - 1] != unit[c]))
            i = (i + 1) & (slots - 1);
        if (!slot[i]) {
            k->mu[k->n] = mu[c];
            k->unit[k->n] = unit[c];
            k->mass[k->n] = isfinite(d->low) ? tune_normal_log_mass(mu[c], 1 / unit[c],
                                                                    d->low, d->high)
                                             : 0;
            slot[i] = ++k->n;
        }
        k->of[c] = slot[i] - 1;
        m->height[c] -= k->mass[k->of[c]];
    }
    mem_free(slot);
}

static void set_number(struct mixture *m, const struct nni_space *s,
                       const struct tune_history *h, size_t k, const unsigned char *side,
                       unsigned char mine, const int64_t *place)
{
    const struct dim *d = &m->block->dims.at[k];
    size_t size = (size_t)m->n * sizeof(double);
    double *mu = m->mu[k] = arena_alloc(&m->arena, size);
    double *unit = m->unit[k] = arena_alloc(&m->arena, size);
    for (int64_t c = 0; c + 1 < m->n; c++)
        mu[c] = model_value(s, d, h->trials.at[m->trial[c]].x);
    mu[m->n - 1] = d->mean;
    set_widths(m, d, side, mine, place, unit);
    for (int64_t c = 0; c < m->n; c++)
        unit[c] = 1 / fmax(unit[c], 1e-12);
    if (d->step > 0)
        set_kinds(m, d, k);
    else
        set_heights(m, d, mu, unit);
}

static void set_option(struct mixture *m, const struct tune_history *h, size_t k)
{
    double *mu = m->mu[k] = arena_alloc(&m->arena, (size_t)m->n * sizeof(double));
    for (int64_t c = 0; c + 1 < m->n; c++)
        mu[c] = h->trials.at[m->trial[c]].x[m->block->dims.at[k].param];
    mu[m->n - 1] = -1;
}

/* What each good result gains over the best of the others, scaled to a sum of n. Without
 * a difference all weigh the same.
 */
static void weigh_gains(const struct tune_history *h, const struct mixture *m,
                        double best_bad)
{
    int64_t n = m->n - 1;
    double sum = 0;
    for (int64_t c = 0; c < n; c++) {
        double gain = best_bad - h->trials.at[m->trial[c]].loss;
        m->weight[c] = isfinite(gain) && gain > 0 ? gain : 0;
        sum += m->weight[c];
    }
    for (int64_t c = 0; c < n; c++)
        m->weight[c] = sum > 0 ? 0.999 * m->weight[c] / sum * (double)n + 0.001 : 1;
}

static double best_bad(const struct tune_history *h, const unsigned char *side)
{
    for (size_t i = 0; i < h->by_loss.n; i++)
        if (side[h->by_loss.at[i]] == SIDE_BAD)
            return h->trials.at[h->by_loss.at[i]].loss;
    return INFINITY;
}

static void mixture_init(struct mixture *m, const struct block *b,
                         const struct nni_space *s, const struct tune_history *h,
                         const struct tpe_settings *set, const unsigned char *side,
                         unsigned char mine, int64_t *place)
{
    *m = (struct mixture){.block = b, .n = 1};
    for (size_t i = 0; i < h->trials.n; i++)
        m->n += side[i] == mine;
    size_t size = (size_t)m->n * sizeof(double);
    m->trial = arena_alloc(&m->arena, (size_t)m->n * sizeof(*m->trial));
    m->weight = arena_alloc(&m->arena, size);
    m->height = arena_alloc(&m->arena, size);
    m->work = arena_alloc(&m->arena, size);
    m->mu = arena_alloc(&m->arena, b->dims.n * sizeof(*m->mu));
    m->unit = arena_alloc(&m->arena, b->dims.n * sizeof(*m->unit));
    m->kinds = arena_alloc(&m->arena, b->dims.n * sizeof(*m->kinds));
    int64_t c = 0;
    for (size_t i = 0; i < h->trials.n; i++)
        if (side[i] == mine) {
            place[i] = c;
            m->trial[c++] = (int64_t)i;
        }
    if (mine == SIDE_GOOD)
        weigh_gains(h, m, best_bad(h, side));
    else
        parzen_weights(c, set->forget, m->weight);
    m->weight[c] = set->prior_weight;
    double sum = 0;
    for (int64_t i = 0; i < m->n; i++)
        sum += m->weight[i];
    double last = 0, log_last = 0;
    for (int64_t i = 0; i < m->n; i++) {
        m->weight[i] /= sum;
        if (m->weight[i] != last) {
            last = m->weight[i];
            log_last = log(fmax(last, 1e-300));
        }
        m->height[i] = log_last;
    }
    for (size_t k = 0; k < b->dims.n; k++)
        if (b->dims.at[k].option)
            set_option(m, h, k);
        else
            set_number(m, s, h, k, side, mine, place);
}

static double option_weight(const struct mixture *m, const struct tpe_settings *set,
                            int64_t size, bool same)
{
    double prior = OPTION_PRIOR * set->prior_weight / (double)m->n;
    return (prior + same) / (prior * (double)size + 1);
}

/* ln of the kernel's mass on [v - step/2, v + step/2], its bounds apart. */
static double step_log_mass(double mu, double unit, double v, double step)
{
    double z = (v - mu) * unit, half = step * unit / 2;
    if (half < 0.1)
        return -0.5 * z * z + log(2 * half) - 0.91893853320467274178;
    if (fabs(z) - half > 12)
        return -0.5 * (fabs(z) - half) * (fabs(z) - half) - 4;
    return tune_normal_log_mass(z, 1, -half, half);
}

/* Adds what the kernels of a parameter with steps say of x. Values and widths repeat from
 * component to component, so each kind is worked out once.
 */
static void add_steps(const struct mixture *m, const struct kinds *k, const struct dim *d,
                      double x, double *acc)
{
    for (int32_t i = 0; i < k->n; i++)
        k->mass[i] = step_log_mass(k->mu[i], k->unit[i], x, d->step);
    for (int64_t c = 0; c < m->n; c++)
        acc[c] += k->mass[k->of[c]];
}

/* e^x for -700 < x <= 0, to twelve digits, without branches so that a loop over it is
 * done several at a time: 2^k times a polynomial of what is left.
 */
static inline double exp_of(double x)
{
    const double shift =
        0x1.8p52; /* adding it leaves the nearest integer in the low bits */
    double t = x * 1.4426950408889634074, k = t + shift;
    double r = (t - (k - shift)) * 0.69314718055994530942;
    uint64_t bits;
    memcpy(&bits, &k, sizeof(bits));
    bits = (bits + 1023) << 52;
    double scale;
    memcpy(&scale, &bits, sizeof(scale));
    double p = 1.0 / 3628800;
    p = p * r + 1.0 / 362880;
    p = p * r + 1.0 / 40320;
    p = p * r + 1.0 / 5040;
    p = p * r + 1.0 / 720;
    p = p * r + 1.0 / 120;
    p = p * r + 1.0 / 24;
    p = p * r + 1.0 / 6;
    p = p * r + 0.5;
    return scale * ((p * r + 1) * r + 1);
}

/* ln of the sum of e^a. */
static double log_sum(double *a, int64_t n)
{
    double top = a[0], sums[4] = {0};
    for (int64_t c = 1; c < n; c++)
        top = a[c] > top ? a[c] : top;
    if (!isfinite(top))
        return top;
    for (int64_t c = 0; c < n; c++) {
        double x = a[c] - top;
        a[c] = exp_of(x > -600 ? x : -600);
    }
    for (int64_t c = 0; c < n; c++)
        sums[c & 3] += a[c];
    return top + log(sums[0] + sums[1] + sums[2] + sums[3]);
}

static double mixture_log_pdf(struct mixture *m, const struct nni_space *s,
                              const struct tpe_settings *set, const double *v)
{
    double *acc = m->work;
    memcpy(acc, m->height, (size_t)m->n * sizeof(*acc));
    for (size_t k = 0; k < m->block->dims.n; k++) {
        const struct dim *d = &m->block->dims.at[k];
        const double *mu = m->mu[k], *unit = m->unit[k], x = v[k];
        if (d->option) {
            int64_t size = s->at[d->param].size;
            double hit = log(option_weight(m, set, size, true));
            double miss = log(option_weight(m, set, size, false));
            for (int64_t c = 0; c + 1 < m->n; c++)
                acc[c] += mu[c] == x ? hit : miss;
            acc[m->n - 1] -= log((double)size);
        } else if (d->step > 0) {
            add_steps(m, &m->kinds[k], d, x, acc);
        } else {
            for (int64_t c = 0; c < m->n; c++) {
                double z = (x - mu[c]) * unit[c];
                acc[c] -= 0.5 * z * z;
            }
        }
    }
    return log_sum(acc, m->n);
}

static double draw_option(const struct mixture *m, const struct tpe_settings *set,
                          int64_t size, double own, struct rng *r)
{
    if (own < 0)
        return (double)rng_below(r, (uint64_t)size);
    double other = option_weight(m, set, size, false);
    if (rng_f64(r) < other * (double)size)
        return (double)rng_below(r, (uint64_t)size);
    return own;
}

/* One draw from the mixture, a value per parameter of the block. */
static void mixture_draw(const struct mixture *m, const struct nni_space *s,
                         const struct tpe_settings *set, struct rng *r, double *v)
{
    double u = rng_f64(r);
    int64_t c = 0;
    while (c + 1 < m->n && u >= m->weight[c])
        u -= m->weight[c++];
    for (size_t k = 0; k < m->block->dims.n; k++) {
        const struct dim *d = &m->block->dims.at[k];
        const struct nni_param *p = &s->at[d->param];
        if (d->option) {
            v[k] = draw_option(m, set, p->size, m->mu[k][c], r);
            continue;
        }
        double x =
            tune_normal_draw_within(r, m->mu[k][c], 1 / m->unit[k][c], d->low, d->high);
        if (p->type == NNI_RANDINT)
            x = fmin(fmax(rint(x), 0), (double)p->size - 1);
        v[k] = tune_point_settle(p, x);
    }
}

static int64_t ask_branch(const struct tune_history *h, int64_t param, struct rng *r);

static void draw_block(const struct tpe_joint *j, const struct block *b,
                       const struct tune_history *h, struct rng *r, double *x)
{
    for (size_t k = 0; k < b->dims.n; k++) {
        int64_t i = b->dims.at[k].param;
        x[i] = tune_point_prior(&j->space->at[i], r);
        int64_t branch = j->space->at[i].nested ? ask_branch(h, i, r) : -1;
        if (branch >= 0)
            x[i] = (double)branch;
    }
}

/* The branch of a nested choice that is to be tried whatever the model says, or -1. */
static int64_t ask_branch(const struct tune_history *h, int64_t param, struct rng *r)
{
    int64_t size = h->space->at[param].size, least = INT64_MAX, best = -1, ties = 0;
    int64_t *n = mem_calloc((size_t)size, sizeof(*n));
    for (size_t i = 0; i < h->trials.n; i++)
        if (h->trials.at[i].state != TRIAL_FAILED && !isnan(h->trials.at[i].x[param]))
            n[(int64_t)h->trials.at[i].x[param]]++;
    for (int64_t k = 0; k < size; k++) {
        if (n[k] < least)
            ties = 0;
        if (n[k] > least)
            continue;
        least = n[k];
        if (rng_below(r, (uint64_t)++ties) == 0)
            best = k;
    }
    mem_free(n);
    if (least < BRANCH_TRIALS)
        return best;
    return rng_f64(r) < BRANCH_SHARE ? (int64_t)rng_below(r, (uint64_t)size) : -1;
}

/* Marks the trials of the block as good or bad; returns how many are finished. */
static int64_t take_sides(const struct block *b, const struct tune_history *h,
                          const struct tpe_settings *set, unsigned char *side)
{
    int64_t n = 0;
    for (size_t i = 0; i < h->by_loss.n; i++)
        n += block_active(b, h->trials.at[h->by_loss.at[i]].x);
    int64_t good = tpe_good(set, n), seen = 0;
    for (size_t i = 0; i < h->by_loss.n; i++) {
        int64_t trial = h->by_loss.at[i];
        if (block_active(b, h->trials.at[trial].x))
            side[trial] = seen++ < good ? SIDE_GOOD : SIDE_BAD;
    }
    for (size_t i = 0; i < h->running.n && set->liar != LIAR_NONE; i++)
        if (block_active(b, h->trials.at[h->running.at[i]].x))
            side[h->running.at[i]] = SIDE_BAD;
    return n;
}

static void model_block(const struct tpe_joint *j, const struct block *b,
                        const struct tune_history *h, const struct tpe_settings *set,
                        const unsigned char *side, struct rng *r, double *x)
{
    struct mixture good, bad;
    int64_t *place = mem_alloc((h->trials.n + 1) * sizeof(*place));
    mixture_init(&good, b, j->space, h, set, side, SIDE_GOOD, place);
    mixture_init(&bad, b, j->space, h, set, side, SIDE_BAD, place);
    double *v = mem_calloc(b->dims.n * 2, sizeof(*v)), *best = v + b->dims.n;
    double top = -INFINITY;
    for (int64_t c = 0; c < set->n_candidates; c++) {
        mixture_draw(&good, j->space, set, r, v);
        double score = mixture_log_pdf(&good, j->space, set, v) -
                       mixture_log_pdf(&bad, j->space, set, v);
        if (score > top || c == 0) {
            top = score;
            memcpy(best, v, b->dims.n * sizeof(*v));
        }
    }
    for (size_t k = 0; k < b->dims.n; k++) {
        int64_t i = b->dims.at[k].param;
        int64_t branch = j->space->at[i].nested ? ask_branch(h, i, r) : -1;
        x[i] = branch >= 0 ? (double)branch : best[k];
    }
    mem_free(v);
    mem_free(place);
    arena_release(&good.arena);
    arena_release(&bad.arena);
}

void tpe_joint_ask(struct tpe_joint *j, const struct tune_history *h,
                   const struct tpe_settings *set, struct rng *r, double *x)
{
    for (int64_t i = 0; i < j->space->n; i++)
        x[i] = NAN;
    unsigned char *side = mem_alloc(h->trials.n + 1);
    for (size_t i = 0; i < j->blocks.n; i++) {
        const struct block *b = &j->blocks.at[i];
        if (!block_active(b, x))
            continue;
        memset(side, SIDE_NONE, h->trials.n + 1);
        int64_t n = take_sides(b, h, set, side);
        if (n < set->n_startup || n == 0)
            draw_block(j, b, h, r, x);
        else
            model_block(j, b, h, set, side, r, x);
    }
    mem_free(side);
}
