/* SPDX-License-Identifier: Apache-2.0 */
/* Bergstra et al., "Algorithms for hyper-parameter optimization", NIPS 2011; the joint
 * form follows Falkner et al., "BOHB", ICML 2018, and Optuna's sampler.
 */
#include "tune/algo/tpe.h"

#include <math.h>
#include <string.h>

#include "text/nni/nni.h"

struct tpe {
    struct tpe_settings set;
    struct tpe_joint *joint; /* or NULL */
};

int64_t tpe_good(const struct tpe_settings *s, int64_t n)
{
    double share = s->by_share ? ceil(0.1 * (double)n) : ceil(s->gamma * sqrt((double)n));
    int64_t most = s->by_share ? s->good_most : s->forget;
    return share < (double)most ? (int64_t)share : most;
}

static enum tpe_liar liar_of(const char *word, enum tpe_liar unset)
{
    static const char *const words[] = {"none", "best", "worst", "mean"};
    for (size_t i = 0; word && i < ARRAY_LEN(words); i++)
        if (strcmp(word, words[i]) == 0)
            return (enum tpe_liar)i;
    return unset;
}

static void *create_with(struct tuner *t, const struct tpe_settings *set)
{
    struct tpe *self = mem_calloc(1, sizeof(*self));
    self->set = *set;
    if (set->joint)
        self->joint = tpe_joint_create(t->history.space);
    return self;
}

static void *tpe_create(struct tuner *t)
{
    const struct nni_TpeArgs *args = t->args;
    const struct nni_TpeInnerArgs *in = args->tpe_args;
    struct tpe_settings set = {
        .joint = !in || in->multivariate,
        .n_candidates = in ? in->n_ei_candidates : 24,
        .forget = in ? in->linear_forgetting : 25,
        .prior_weight = in ? in->prior_weight : 1,
        .gamma = in ? in->gamma : 0.25,
    };
    const char *rule = in && in->gamma_rule ? in->gamma_rule : "";
    set.by_share = *rule ? strcmp(rule, "optuna") == 0 : set.joint;
    set.by_time = set.by_share;
    set.good_most = t->history.n_objectives > 1 ? INT64_MAX : 25;
    set.liar = liar_of(in ? in->constant_liar_type : NULL, LIAR_WORST);
    set.n_startup = in && in->has_n_startup_jobs ? in->n_startup_jobs
                    : set.joint                  ? 10
                                                 : 20;
    return create_with(t, &set);
}

static void *legacy_create(struct tuner *t)
{
    const struct nni_HyperoptArgs *args = t->args;
    struct tpe_settings set = {
        .by_time = true,
        .liar = LIAR_NONE,
        .n_startup = 20,
        .n_candidates = 24,
        .forget = 25,
        .prior_weight = 1,
        .gamma = 0.25,
    };
    if (args->parallel_optimize)
        set.liar = strcmp(args->constant_liar_type, "min") == 0   ? LIAR_BEST
                   : strcmp(args->constant_liar_type, "max") == 0 ? LIAR_WORST
                                                                  : LIAR_MEAN;
    return create_with(t, &set);
}

static void tpe_destroy(void *self_)
{
    struct tpe *self = self_;
    tpe_joint_destroy(self->joint);
    mem_free(self);
}

static enum tuner_answer tpe_ask(struct tuner *t, struct rng *r, double *x)
{
    struct tpe *self = t->self;
    if (self->joint)
        tpe_joint_ask(self->joint, &t->history, &self->set, r, x);
    else
        tpe_single(&t->history, &self->set, r, x);
    return TUNER_GIVES;
}

static void tpe_added(struct tuner *t, int64_t trial)
{
    struct tpe *self = t->self;
    if (self->joint)
        tpe_joint_add(self->joint, &t->history, trial);
}

const struct tuner_ops tuner_tpe = {
    .create = tpe_create,
    .destroy = tpe_destroy,
    .ask = tpe_ask,
    .issued = tpe_added,
    .imported = tpe_added,
    .pure = true,
    .no_repeats = true,
};

const struct tuner_ops tuner_tpe_legacy = {
    .create = legacy_create,
    .destroy = tpe_destroy,
    .ask = tpe_ask,
    .pure = true,
    .no_repeats = true,
};
