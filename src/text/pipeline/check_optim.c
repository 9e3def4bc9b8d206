/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges of what optimizers, schedules, averages, loss scaling and clipping are set to, so
 * that all of them are reported, each with its place. A setting has the same range
 * wherever it occurs, so one table by name does for all messages; the program that uses
 * them (nn/optim, nn/schedule.c) has the same limits and trusts nobody.
 */
#include <math.h>
#include <string.h>

#include "text/pipeline/pipeline_private.h"

struct range {
    const char *field;
    double low, high;
    bool open_low, open_high; /* the limit itself is outside */
};

static const struct range ranges[] = {
    {"alpha", 0, 1, .open_high = true},
    {"backoff_factor", 0, 1, .open_low = true, .open_high = true},
    {"beta1", 0, 1, .open_high = true},
    {"beta2", 0, 1, .open_high = true},
    {"dampening", -INFINITY, INFINITY, .open_low = true, .open_high = true},
    {"decay", 0, 1, .open_low = false},
    {"decay_factor", 0, INFINITY, .open_high = true},
    {"eps", 0, INFINITY, .open_high = true},
    {"growth_factor", 1, INFINITY, .open_low = true, .open_high = true},
    {"init_scale", 0, INFINITY, .open_low = true, .open_high = true},
    {"initial_accumulator_value", 0, INFINITY, .open_high = true},
    {"lr", 0, INFINITY, .open_high = true},
    {"max_gradient", 0, INFINITY, .open_low = true},
    {"min_learning_rate", -INFINITY, INFINITY, .open_low = true, .open_high = true},
    {"momentum", 0, INFINITY, .open_high = true},
    {"norm_type", 0, INFINITY, .open_low = true},
    {"rho", 0, 1, .open_high = true},
    {"warmup_learning_rate", -INFINITY, INFINITY, .open_low = true, .open_high = true},
    {"weight_decay", 0, INFINITY, .open_high = true},
};

static const struct range *range_of(const char *field)
{
    for (size_t i = 0; i < ARRAY_LEN(ranges); i++)
        if (strcmp(ranges[i].field, field) == 0)
            return &ranges[i];
    return NULL;
}

/* In the precision that it is used in. */
static bool lies_in(const struct range *r, double value)
{
    double v = (double)(float)value;
    return (r->open_low ? v > r->low : v >= r->low) &&
           (r->open_high ? v < r->high : v <= r->high);
}

/* max_gradient and norm_type mean nothing while nothing is clipped. */
static bool is_used(const struct msg *m, const char *field)
{
    bool limit = strcmp(field, "max_gradient") == 0,
         norm = strcmp(field, "norm_type") == 0;
    if (!limit && !norm)
        return true;
    if (m->def == &pc_GradClipping_def) {
        const struct pc_GradClipping *c = (const void *)m;
        return norm ? strcasecmp(c->clipping_type, "norm") == 0
                    : strcasecmp(c->clipping_type, "none") != 0;
    }
    for (const struct field_def *f = m->def->fields(); f->name; f++)
        if (strcmp(f->name, "gradient_clipping") == 0)
            return *(const bool *)((const char *)m + f->at);
    return true;
}

void check_ranges(struct pc_check *x, const struct msg *m)
{
    for (const struct field_def *f = m ? m->def->fields() : NULL; f && f->name; f++) {
        const struct range *r = range_of(f->name);
        if (!r || (f->type != FIELD_FLOAT && f->type != FIELD_DOUBLE) ||
            f->label == LABEL_REP || !is_used(m, f->name))
            continue;
        double v = *(const double *)(const void *)((const char *)m + f->at);
        if (!lies_in(r, v))
            schema_report(x->diags, DIAG_ERROR, E0300, m, f->name,
                          "%s: %s: %g is outside %c%g, %g%c", m->field, f->name, v,
                          r->open_low ? '(' : '[', r->low, r->high,
                          r->open_high ? ')' : ']');
    }
}

void check_nesterov(struct pc_check *x, const struct msg *m)
{
    const struct pc_SGDOptimizer *s = (const void *)m;
    if (m->def == &pc_SGDOptimizer_def && s->nesterov &&
        (s->momentum == 0 || s->dampening != 0))
        schema_report(x->diags, DIAG_ERROR, E0300, m, "nesterov",
                      "%s: nesterov needs a momentum above 0 and no dampening", m->field);
}

void check_scaling(struct pc_check *x)
{
    const struct pc_TrainConfig *t = x->conf->train_config;
    if (t->grad_clipping)
        check_ranges(x, &t->grad_clipping->base);
    if (!t->grad_scaler)
        return;
    check_ranges(x, &t->grad_scaler->base);
    if (t->grad_scaler->growth_interval == 0)
        schema_report(x->diags, DIAG_ERROR, E0300, &t->grad_scaler->base,
                      "growth_interval", "grad_scaler: growth_interval must be above 0");
}
