/* SPDX-License-Identifier: Apache-2.0 */
/* Jaderberg et al., "Population based training of neural networks", 2017. Every member
 * trains one epoch as one trial; then the worst continue from the checkpoints of the
 * best, with their parameters changed a little.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "text/nni/nni.h"
#include "tune/tuner_private.h"

struct member {
    double *x;
    double loss;
    int64_t load_member, load_epoch; /* whose checkpoint it starts from */
    bool issued, over;
};

struct birth {
    int64_t member, epoch, load_member, load_epoch;
};

struct pbt {
    struct member *members;
    int64_t n, epoch, n_over;
    int64_t next;             /* member of the ask that is about to be issued */
    VEC(struct birth) trials; /* by number; member -1: from elsewhere */
};

static void *pbt_create(struct tuner *t)
{
    const struct nni_PbtArgs *args = t->args;
    struct pbt *self = mem_calloc(1, sizeof(*self));
    size_t size = (size_t)(t->history.space->n + 1) * sizeof(double);
    self->n = args->population_size;
    self->members = mem_calloc((size_t)self->n, sizeof(*self->members));
    for (int64_t i = 0; i < self->n; i++) {
        struct member *m = &self->members[i];
        struct rng r;
        m->x = arena_alloc(&t->arena, size);
        m->load_member = i;
        tuner_rng(t, 0, (uint64_t)i, &r);
        tune_point_draw(t->history.space, &r, m->x);
    }
    return self;
}

static void pbt_destroy(void *self_)
{
    struct pbt *self = self_;
    VEC_RELEASE(&self->trials);
    mem_free(self->members);
    mem_free(self);
}

static enum tuner_answer pbt_ask(struct tuner *t, struct rng *r, double *x)
{
    struct pbt *self = t->self;
    for (int64_t i = 0; i < self->n; i++)
        if (!self->members[i].issued) {
            self->next = i;
            memcpy(x, self->members[i].x, (size_t)t->history.space->n * sizeof(*x));
            return TUNER_GIVES;
        }
    return TUNER_WAITS;
}

static void pbt_issued(struct tuner *t, int64_t trial)
{
    struct pbt *self = t->self;
    struct member *m = &self->members[self->next];
    while ((int64_t)self->trials.n <= trial)
        VEC_PUSH(&self->trials, ((struct birth){.member = -1}));
    self->trials.at[trial] =
        (struct birth){self->next, self->epoch, m->load_member, m->load_epoch};
    m->issued = true;
    m->loss = INFINITY;
}

static double clamp(double v, double low, double high)
{
    return fmin(fmax(v, low), high);
}

/* One step up or down, or a fresh value. */
static double perturb(const struct nni_PbtArgs *args, const struct nni_param *p, double v,
                      struct rng *r)
{
    if (rng_f64(r) < args->resample_probability)
        return tune_point_prior(p, r);
    double sign = rng_f64(r) < 0.5 ? 1 : -1;
    if (p->categorical)
        return clamp(v + sign, 0, (double)p->size - 1);
    if (p->q > 0) {
        double user = tune_point_user(p, v) + sign * p->q;
        if (p->clip)
            user = clamp(user, p->clip_low, p->clip_high);
        return p->log ? log(fmax(user, 1e-10)) : user;
    }
    if (p->sigma > 0)
        return v + sign * args->factor * p->sigma;
    return clamp(v + sign * args->factor * (p->high - p->low), p->low, p->high);
}

struct ranked {
    double loss;
    int64_t member;
};

static int by_loss(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->loss != y->loss)
        return x->loss < y->loss ? -1 : 1;
    return x->member < y->member ? -1 : x->member > y->member;
}

static void next_epoch(struct tuner *t, struct pbt *self)
{
    const struct nni_PbtArgs *args = t->args;
    const struct nni_space *s = t->history.space;
    struct ranked *order = mem_alloc((size_t)self->n * sizeof(*order));
    struct rng r;
    tuner_rng(t, 1, (uint64_t)self->epoch, &r);
    for (int64_t i = 0; i < self->n; i++)
        order[i] = (struct ranked){self->members[i].loss, i};
    qsort(order, (size_t)self->n, sizeof(*order), by_loss);
    int64_t k = (int64_t)ceil(args->fraction * (double)self->n);
    k = k < self->n / 2 ? k : self->n / 2;
    for (int64_t i = 0; i < self->n; i++)
        self->members[i].load_member = i;
    for (int64_t i = 0; i < k; i++) {
        int64_t from = order[rng_below(&r, (uint64_t)k)].member;
        struct member *m = &self->members[order[self->n - 1 - i].member];
        for (int64_t j = 0; j < s->n; j++)
            m->x[j] = perturb(args, &s->at[j], self->members[from].x[j], &r);
        m->load_member = from;
    }
    for (int64_t i = 0; i < self->n; i++) {
        self->members[i].load_epoch = self->epoch;
        self->members[i].issued = self->members[i].over = false;
    }
    self->epoch++;
    self->n_over = 0;
    mem_free(order);
}

static void pbt_ended(struct tuner *t, int64_t trial, bool ok)
{
    struct pbt *self = t->self;
    if (trial >= (int64_t)self->trials.n || self->trials.at[trial].member < 0 ||
        self->trials.at[trial].epoch != self->epoch)
        return;
    struct member *m = &self->members[self->trials.at[trial].member];
    if (m->over)
        return;
    m->over = true;
    m->loss = ok ? t->history.trials.at[trial].loss : INFINITY;
    if (++self->n_over == self->n)
        next_epoch(t, self);
}

static void add_dir(const struct tuner *t, const char *key, int64_t member, int64_t epoch,
                    struct buf *out)
{
    const struct nni_PbtArgs *args = t->args;
    bool given = args->all_checkpoint_dir && *args->all_checkpoint_dir;
    const char *all = given               ? args->all_checkpoint_dir
                      : t->checkpoint_dir ? t->checkpoint_dir
                                          : "checkpoint";
    char *dir = mem_printf("%s/%" PRId64 "/%" PRId64, all, member, epoch);
    buf_printf(out, "\"%s\": ", key);
    buf_json_str(out, dir, strlen(dir));
    mem_free(dir);
}

static void pbt_extra(const struct tuner *t, int64_t trial, bool first, struct buf *out)
{
    const struct pbt *self = t->self;
    const struct birth *b = &self->trials.at[trial];
    buf_puts(out, first ? "" : ", ");
    add_dir(t, "load_checkpoint_dir", b->load_member, b->load_epoch, out);
    buf_puts(out, ", ");
    add_dir(t, "save_checkpoint_dir", b->member, b->epoch, out);
}

const struct tuner_ops tuner_pbt = {
    .create = pbt_create,
    .destroy = pbt_destroy,
    .ask = pbt_ask,
    .issued = pbt_issued,
    .ended = pbt_ended,
    .extra = pbt_extra,
};
