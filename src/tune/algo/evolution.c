/* SPDX-License-Identifier: Apache-2.0 */
/* Tournaments of two: the loser leaves, the winner's child differs in one parameter. */
#include <math.h>
#include <string.h>

#include "text/nni/nni.h"
#include "tune/tuner_private.h"

struct individual {
    double *x;
    double loss;
    bool judged;
};

struct evolution {
    VEC(struct individual) members;
    int64_t born; /* random individuals made so far */
};

static void add_random(struct tuner *t, struct evolution *self)
{
    const struct nni_space *s = t->history.space;
    struct individual one = {
        .x = arena_alloc(&t->arena, (size_t)(s->n + 1) * sizeof(double))};
    struct rng r;
    tuner_rng(t, 0, (uint64_t)self->born++, &r);
    tune_point_draw(s, &r, one.x);
    VEC_PUSH(&self->members, one);
}

static void *evolution_create(struct tuner *t)
{
    const struct nni_EvolutionArgs *args = t->args;
    struct evolution *self = mem_calloc(1, sizeof(*self));
    for (int64_t i = 0; i < args->population_size; i++)
        add_random(t, self);
    return self;
}

static void evolution_destroy(void *self_)
{
    struct evolution *self = self_;
    VEC_RELEASE(&self->members);
    mem_free(self);
}

static void take_out(struct evolution *self, size_t i)
{
    self->members.n--;
    memmove(self->members.at + i, self->members.at + i + 1,
            (self->members.n - i) * sizeof(*self->members.at));
}

/* One of the active parameters anew, with everything below it. */
static void mutate(const struct nni_space *s, struct rng *r, double *x)
{
    int64_t active = 0, i = 0;
    for (int64_t k = 0; k < s->n; k++)
        active += !isnan(x[k]);
    if (active == 0)
        return;
    uint64_t pick = rng_below(r, (uint64_t)active);
    for (; isnan(x[i]) || pick > 0; i++)
        pick -= isnan(x[i]) ? 0 : 1;
    for (int64_t k = i + 1; k < s->n; k++) {
        int64_t above = s->at[k].parent;
        while (above > i)
            above = s->at[above].parent;
        if (above == i)
            x[k] = NAN;
    }
    tune_point_change(s, i, tune_point_prior(&s->at[i], r), r, x);
}

static enum tuner_answer evolution_ask(struct tuner *t, struct rng *r, double *x)
{
    const struct nni_EvolutionArgs *args = t->args;
    struct evolution *self = t->self;
    size_t size = (size_t)t->history.space->n * sizeof(*x);
    if ((int64_t)t->history.running.n >= args->population_size || self->members.n == 0)
        return TUNER_WAITS;
    for (size_t i = 0; i < self->members.n; i++)
        if (!self->members.at[i].judged) {
            memcpy(x, self->members.at[i].x, size);
            take_out(self, i);
            return TUNER_GIVES;
        }
    size_t a = rng_below(r, self->members.n), b = a;
    if (self->members.n > 1) {
        b = rng_below(r, self->members.n - 1);
        b += b >= a;
    }
    size_t loser = self->members.at[a].loss > self->members.at[b].loss ? a : b;
    size_t winner = a + b - loser;
    memcpy(x, self->members.at[winner].x, size);
    if (loser != winner)
        take_out(self, loser);
    mutate(t->history.space, r, x);
    return TUNER_GIVES;
}

static void evolution_told(struct tuner *t, int64_t trial)
{
    struct evolution *self = t->self;
    const struct tuner_trial *done = &t->history.trials.at[trial];
    VEC_PUSH(&self->members, ((struct individual){done->x, done->loss, true}));
}

static void evolution_ended(struct tuner *t, int64_t trial, bool ok)
{
    if (!ok)
        add_random(t, t->self);
}

const struct tuner_ops tuner_evolution = {
    .create = evolution_create,
    .destroy = evolution_destroy,
    .ask = evolution_ask,
    .told = evolution_told,
    .ended = evolution_ended,
};
