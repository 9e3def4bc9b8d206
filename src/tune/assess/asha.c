/* SPDX-License-Identifier: Apache-2.0 */
/* Li et al., "A system for massively parallel hyperparameter tuning", MLSys 2020: at each
 * rung a trial goes on when it is among the best 1/eta of those that came there before.
 * HyperbandPruner deals the trials to brackets that begin to stop at different rungs.
 */
#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "base/str.h"
#include "text/nni/nni.h"
#include "tune/assessor_private.h"

struct rung {
    VEC(double) values;
};

struct bracket {
    VEC(struct rung) rungs;
    int64_t rate; /* rungs that are skipped */
};

struct asha {
    double least; /* first step that is judged; 0: not known yet */
    double eta;
    int64_t bootstrap;
    struct bracket *brackets;
    int64_t n_brackets;
    double *shares; /* [n_brackets], sum 1 */
    double most;    /* HyperbandPruner: last step of a trial; 0: not known yet */
    size_t longest; /* steps of the longest completed trial */
};

static void asha_free(void *self_)
{
    struct asha *self = self_;
    for (int64_t i = 0; i < self->n_brackets; i++) {
        for (size_t k = 0; k < self->brackets[i].rungs.n; k++)
            VEC_RELEASE(&self->brackets[i].rungs.at[k].values);
        VEC_RELEASE(&self->brackets[i].rungs);
    }
    mem_free(self->brackets);
    mem_free(self->shares);
    mem_free(self);
}

static double count_or_auto(const char *text)
{
    double v = 0;
    return text && str_to_f64(str_c(text), &v) ? v : 0;
}

/* Brackets 0 .. n-1; bracket b skips b rungs more than `rate`. */
static void set_brackets(struct asha *self, int64_t n, int64_t rate)
{
    double sum = 0;
    self->n_brackets = n;
    self->brackets = mem_calloc((size_t)n, sizeof(*self->brackets));
    self->shares = mem_calloc((size_t)n, sizeof(*self->shares));
    for (int64_t b = 0; b < n; b++) {
        int64_t s = n - 1 - b;
        self->brackets[b].rate = rate + b;
        self->shares[b] = ceil((double)n * pow(self->eta, (double)s) / (double)(s + 1));
        sum += self->shares[b];
    }
    for (int64_t b = 0; b < n; b++)
        self->shares[b] /= sum;
}

static void *asha_create(struct assessor *a)
{
    const struct nni_AshaArgs *args = a->args;
    struct asha *self = mem_calloc(1, sizeof(*self));
    self->least = count_or_auto(args->min_resource);
    self->eta = (double)args->reduction_factor;
    self->bootstrap = args->bootstrap_count;
    set_brackets(self, 1, args->min_early_stopping_rate);
    return self;
}

static void set_most(struct asha *self, double most)
{
    self->most = most;
    double rungs = floor(log(fmax(most / self->least, 1)) / log(self->eta) + 1e-9);
    set_brackets(self, (int64_t)rungs + 1, 0);
}

static void *hyperband_create(struct assessor *a)
{
    const struct nni_HyperbandPrunerArgs *args = a->args;
    struct asha *self = mem_calloc(1, sizeof(*self));
    self->least = (double)args->min_resource;
    self->eta = (double)args->reduction_factor;
    double most = count_or_auto(args->max_resource);
    if (most > 0)
        set_most(self, most);
    return self;
}

static struct bracket *bracket_of(struct assessor *a, int64_t trial)
{
    struct asha *self = a->self;
    if (self->n_brackets == 1)
        return &self->brackets[0];
    uint64_t h = hash_xxh3_seeded(a->experiment, strlen(a->experiment), (uint64_t)trial);
    double u = (double)(h >> 11) * 0x1p-53;
    int64_t b = 0;
    while (b + 1 < self->n_brackets && u >= self->shares[b])
        u -= self->shares[b++];
    return &self->brackets[b];
}

/* Among the best 1/eta of the rung, itself included. */
static bool promoted(const struct asha *self, const struct rung *r, double v)
{
    size_t better = 0, n = r->values.n;
    for (size_t i = 0; i < n; i++)
        better += r->values.at[i] > v;
    size_t places = n / (size_t)self->eta;
    return better < (places > 0 ? places : 1);
}

static bool asha_judge(struct assessor *a, struct assessor_course *c, int64_t trial)
{
    struct asha *self = a->self;
    if (self->least <= 0 || self->n_brackets == 0)
        return true;
    struct bracket *b = bracket_of(a, trial);
    double step = (double)c->judged, v = c->values.at[c->judged - 1];
    while (step >= self->least * pow(self->eta, (double)(b->rate + c->rung))) {
        if (v == -INFINITY)
            return false;
        while ((int64_t)b->rungs.n <= c->rung)
            VEC_PUSH(&b->rungs, ((struct rung){0}));
        struct rung *r = &b->rungs.at[c->rung];
        VEC_PUSH(&r->values, v);
        if ((int64_t)r->values.n <= self->bootstrap || !promoted(self, r, v))
            return false;
        c->rung++;
    }
    return true;
}

/* What was left to find out follows from the first trials that ran to their end. */
static void asha_ended(struct assessor *a, struct assessor_course *c, bool ok)
{
    struct asha *self = a->self;
    if (!ok || c->judged <= self->longest)
        return;
    self->longest = c->judged;
    if (self->least <= 0)
        self->least = fmax(floor((double)c->judged / 100), 1);
    if (self->n_brackets == 0)
        set_most(self, (double)c->judged);
}

const struct assessor_ops assessor_asha = {
    .create = asha_create,
    .destroy = asha_free,
    .judge = asha_judge,
    .ended = asha_ended,
};

const struct assessor_ops assessor_hyperband_pruner = {
    .create = hyperband_create,
    .destroy = asha_free,
    .judge = asha_judge,
    .ended = asha_ended,
};
