/* SPDX-License-Identifier: Apache-2.0 */
/* The formulas are those of TorchEasyRec, computed in double. Its warm restarts find the
 * period by a logarithm whose rounding now and then delays a restart by one step (periods
 * that triple, the fifth of them); here the period is counted out in whole numbers.
 */
#include "nn/schedule.h"

#include <math.h>

#include "text/pipeline/pipeline.h"

static const double pi = 3.14159265358979323846;

static enum rc check_rates(const struct nn_schedule *s, const char *name, struct err *err)
{
    if (!(s->base >= 0) || isinf(s->base))
        return err_coded(err, RC_INVAL, E0306, "lr: %g is not a learning rate", s->base);
    if (!isfinite(s->warmup_lr) || !isfinite(s->min_lr))
        return err_coded(err, RC_INVAL, E0306,
                         "%s: warmup_learning_rate %g and min_learning_rate %g must be "
                         "finite",
                         name, s->warmup_lr, s->min_lr);
    return RC_OK;
}

static enum rc check_size(const char *name, const char *field, uint64_t size,
                          struct err *err)
{
    if (size == 0)
        return err_coded(err, RC_INVAL, E0306, "%s: %s must be above 0", name, field);
    return RC_OK;
}

static enum rc from_manual(const struct pc_ManualStepLR *m, struct nn_schedule *s,
                           const char *name, struct err *err)
{
    s->kind = SCHEDULE_MANUAL;
    s->by_epoch = m->by_epoch;
    s->manual_warmup = m->warmup;
    s->sizes = m->schedule_sizes;
    s->rates = m->learning_rates;
    s->n = m->n_schedule_sizes;
    if (m->n_learning_rates != s->n || s->n == 0)
        return err_coded(err, RC_INVAL, E0307,
                         "%s: %jd schedule_sizes and %jd learning_rates", name,
                         (intmax_t)s->n, (intmax_t)m->n_learning_rates);
    for (int64_t i = 0; i < s->n; i++) {
        if (i > 0 && s->sizes[i] <= s->sizes[i - 1])
            return err_coded(err, RC_INVAL, E0307, "%s: schedule_sizes: %u follows %u",
                             name, s->sizes[i], s->sizes[i - 1]);
        if (!(s->rates[i] >= 0) || isinf(s->rates[i]))
            return err_coded(err, RC_INVAL, E0307,
                             "%s: learning_rates: %g is not a learning rate", name,
                             s->rates[i]);
    }
    return RC_OK;
}

static enum rc from_exponential(const struct pc_ExponentialDecayLR *m,
                                struct nn_schedule *s, const char *name, struct err *err)
{
    s->kind = SCHEDULE_EXPONENTIAL;
    s->by_epoch = m->by_epoch;
    s->size = m->decay_size;
    s->factor = m->decay_factor;
    s->staircase = m->staircase;
    s->min_lr = m->min_learning_rate;
    s->warmup = m->warmup_size;
    s->warmup_lr = m->warmup_learning_rate;
    if (!(s->factor >= 0) || isinf(s->factor))
        return err_coded(err, RC_INVAL, E0306, "%s: decay_factor: %g is not a factor",
                         name, s->factor);
    return check_size(name, "decay_size", s->size, err);
}

static enum rc from_cosine(const struct pc_CosineAnnealingLR *m, struct nn_schedule *s,
                           const char *name, struct err *err)
{
    s->kind = SCHEDULE_COSINE;
    s->by_epoch = m->by_epoch;
    s->size = m->T_max;
    s->min_lr = m->min_learning_rate;
    s->warmup = m->warmup_size;
    s->warmup_lr = m->warmup_learning_rate;
    return check_size(name, "T_max", s->size, err);
}

static enum rc from_restarts(const struct pc_CosineAnnealingWarmRestartsLR *m,
                             struct nn_schedule *s, const char *name, struct err *err)
{
    s->kind = SCHEDULE_RESTARTS;
    s->by_epoch = m->by_epoch;
    s->size = m->T_0;
    s->mult = m->T_mult;
    s->min_lr = m->min_learning_rate;
    s->warmup = m->warmup_size;
    s->warmup_lr = m->warmup_learning_rate;
    enum rc rc = check_size(name, "T_0", s->size, err);
    return rc ? rc : check_size(name, "T_mult", s->mult, err);
}

enum rc nn_schedule_from(const struct msg *optimizer, const struct msg *fallback,
                         double base, struct nn_schedule *out, struct err *err)
{
    const struct msg *m = NULL;
    struct nn_schedule s = {.base = base, .by_epoch = true};
    const struct field_def *f = schema_oneof(optimizer, "learning_rate", &m);
    if (!f && fallback)
        f = schema_oneof(fallback, "learning_rate", &m);
    if (!f)
        return err_coded(err, RC_INVAL, E0305, "no learning-rate schedule is named");

    enum rc rc = RC_OK;
    if (m->def == &pc_ManualStepLR_def)
        rc = from_manual((const void *)m, &s, f->name, err);
    else if (m->def == &pc_ExponentialDecayLR_def)
        rc = from_exponential((const void *)m, &s, f->name, err);
    else if (m->def == &pc_CosineAnnealingLR_def)
        rc = from_cosine((const void *)m, &s, f->name, err);
    else if (m->def == &pc_CosineAnnealingWarmRestartsLR_def)
        rc = from_restarts((const void *)m, &s, f->name, err);
    if (rc == RC_OK)
        rc = check_rates(&s, f->name, err);
    if (rc == RC_OK)
        *out = s;
    return rc;
}

static double exponential(const struct nn_schedule *s, uint64_t k)
{
    double p = (double)k / (double)s->size;
    if (s->staircase)
        p = floor(p);
    return fmax(s->base * pow(s->factor, p), s->min_lr);
}

static double manual(const struct nn_schedule *s, uint64_t k)
{
    int64_t i = 0;
    while (i < s->n && s->sizes[i] < k)
        i++;
    if (i > 0)
        return s->rates[i - 1];
    if (!s->manual_warmup || s->sizes[0] == 0)
        return s->base;
    return s->base + (s->rates[0] - s->base) * (double)k / (double)s->sizes[0];
}

static double cosine(const struct nn_schedule *s, uint64_t k, uint64_t period)
{
    double turn = cos(pi * (double)k / (double)period);
    return s->min_lr + (s->base - s->min_lr) * 0.5 * (1 + turn);
}

static double restarts(const struct nn_schedule *s, uint64_t k)
{
    uint64_t period = s->size;
    if (s->mult == 1)
        return cosine(s, k % period, period);
    while (k >= period) {
        k -= period;
        if (period > UINT64_MAX / s->mult)
            break; /* longer than any training */
        period *= s->mult;
    }
    return cosine(s, k, period);
}

double nn_schedule_lr(const struct nn_schedule *s, uint64_t k)
{
    if (s->base == 0 || s->kind == SCHEDULE_CONSTANT)
        return s->base;
    if (s->kind == SCHEDULE_MANUAL)
        return manual(s, k);
    if (k < s->warmup)
        return (s->base - s->warmup_lr) * (double)k / (double)s->warmup + s->warmup_lr;
    k -= s->warmup;
    switch (s->kind) {
    case SCHEDULE_EXPONENTIAL:
        return exponential(s, k);
    case SCHEDULE_COSINE:
        return cosine(s, k < s->size ? k : s->size, s->size);
    case SCHEDULE_RESTARTS:
        return restarts(s, k);
    case SCHEDULE_CONSTANT:
    case SCHEDULE_MANUAL:
        break;
    }
    return s->base;
}
