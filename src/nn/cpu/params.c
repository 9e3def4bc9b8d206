/* SPDX-License-Identifier: Apache-2.0 */
/* The loops of dense optimizers on the CPU. Each is cut into the fixed chunks of
 * optim_param_set_for(), so that threads change nothing. Sums run in eight columns of double
 * that are added at the end, in one order on every machine.
 */
#include "nn/optim/params.h"

#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "nn/cpu/cpu.h"

#define COLUMNS 8

struct updates {
    const struct optim_param_set *set;
    const struct param_update *at;
};

static void update_part(void *arg, size_t which, int64_t begin, int64_t end)
{
    const struct updates *all = arg;
    const struct param_update *u = &all->at[which];
    const struct param *p = all->set->at[which];
    float *state[OPTIM_RULE_STATES_MAX];
    for (int k = 0; k < OPTIM_RULE_STATES_MAX; k++)
        state[k] = u->state[k] ? u->state[k] + begin : NULL;
    optim_rule_apply(u->rule, &u->step, p->value + begin, p->grad + begin, state,
                     end - begin);
}

static void update_all(const struct optim_param_set *s, const struct param_update *u)
{
    struct updates all = {s, u};
    optim_param_set_for(s, update_part, &all);
}

struct norm {
    const struct optim_param_set *set;
    double p;
};

CLONED static void add_squares(const float *g, int64_t n, double *sum)
{
    for (int64_t i = 0; i + COLUMNS <= n; i += COLUMNS)
        for (int64_t k = 0; k < COLUMNS; k++)
            sum[k] += (double)g[i + k] * (double)g[i + k];
    for (int64_t i = n / COLUMNS * COLUMNS; i < n; i++)
        sum[i % COLUMNS] += (double)g[i] * (double)g[i];
}

static double sum_squares(void *arg, size_t which, int64_t begin, int64_t end)
{
    const struct norm *norm = arg;
    double sum[COLUMNS] = {0}, all = 0;
    add_squares(norm->set->at[which]->grad + begin, end - begin, sum);
    for (int64_t k = 0; k < COLUMNS; k++)
        all += sum[k];
    return all;
}

static double sum_powers(void *arg, size_t which, int64_t begin, int64_t end)
{
    const struct norm *norm = arg;
    const float *g = norm->set->at[which]->grad;
    double all = 0;
    for (int64_t i = begin; i < end; i++) {
        double v = fabs((double)g[i]);
        all += norm->p == 1 ? v : pow(v, norm->p);
    }
    return all;
}

static double largest(void *arg, size_t which, int64_t begin, int64_t end)
{
    const struct norm *norm = arg;
    const float *g = norm->set->at[which]->grad;
    double top = 0;
    for (int64_t i = begin; i < end; i++) {
        double v = fabs((double)g[i]);
        if (!(v <= top)) /* NaN as well */
            top = v;
        if (isnan(top))
            break;
    }
    return top;
}

static double norm_of(const struct optim_param_set *s, double p)
{
    struct norm norm = {.set = s, .p = p};
    if (isinf(p))
        return optim_param_set_join(s, PARAM_MAX, largest, &norm);
    if (p == 2)
        return sqrt(optim_param_set_join(s, PARAM_SUM, sum_squares, &norm));
    double sum = optim_param_set_join(s, PARAM_SUM, sum_powers, &norm);
    return p == 1 ? sum : pow(sum, 1 / p);
}

struct change {
    const struct optim_param_set *set;
    float by; /* factor or bound */
};

static void clamp(void *arg, size_t which, int64_t begin, int64_t end)
{
    const struct change *c = arg;
    float *g = c->set->at[which]->grad;
    for (int64_t i = begin; i < end; i++)
        g[i] = g[i] > c->by ? c->by : g[i] < -c->by ? -c->by : g[i];
}

static void multiply(void *arg, size_t which, int64_t begin, int64_t end)
{
    const struct change *c = arg;
    float *g = c->set->at[which]->grad;
    for (int64_t i = begin; i < end; i++)
        g[i] *= c->by;
}

static void clamp_all(const struct optim_param_set *s, float max)
{
    struct change change = {.set = s, .by = max};
    optim_param_set_for(s, clamp, &change);
}

static void multiply_all(const struct optim_param_set *s, float by)
{
    struct change change = {.set = s, .by = by};
    optim_param_set_for(s, multiply, &change);
}

/* 1 when an element is infinite or NaN: 0 * x is not 0 then. */
static double scale_part(void *arg, size_t which, int64_t begin, int64_t end)
{
    const struct change *c = arg;
    float *g = c->set->at[which]->grad;
    int bad = 0;
    for (int64_t i = begin; i < end; i++) {
        g[i] *= c->by;
        bad |= !(g[i] * 0.0f == 0.0f);
    }
    return bad;
}

static bool multiply_finite(const struct optim_param_set *s, float by)
{
    struct change change = {.set = s, .by = by};
    return optim_param_set_join(s, PARAM_MAX, scale_part, &change) == 0;
}

struct average {
    const struct optim_param_set *set;
    float *avg; /* [total], in the order of the parameters */
    float keep, take;
    bool first;
};

static void average_part(void *arg, size_t which, int64_t begin, int64_t end)
{
    const struct average *a = arg;
    float *avg = a->avg + a->set->begin[which];
    const float *p = a->set->at[which]->value;
    if (a->first) {
        memcpy(avg + begin, p + begin, (size_t)(end - begin) * sizeof(float));
        return;
    }
    for (int64_t i = begin; i < end; i++)
        avg[i] = a->keep * avg[i] + a->take * p[i];
}

static void average_all(const struct optim_param_set *s, float *avg, float keep,
                        float take, bool first)
{
    struct average a = {s, avg, keep, take, first};
    optim_param_set_for(s, average_part, &a);
}

static void exchange_part(void *arg, size_t which, int64_t begin, int64_t end)
{
    const struct average *a = arg;
    float *avg = a->avg + a->set->begin[which], *p = a->set->at[which]->value;
    for (int64_t i = begin; i < end; i++) {
        float t = avg[i];
        avg[i] = p[i];
        p[i] = t;
    }
}

static void exchange_all(const struct optim_param_set *s, float *avg)
{
    struct average a = {.set = s, .avg = avg};
    optim_param_set_for(s, exchange_part, &a);
}

const struct param_ops nn_cpu_params = {
    .update = update_all,
    .norm = norm_of,
    .clamp = clamp_all,
    .multiply = multiply_all,
    .multiply_finite = multiply_finite,
    .average = average_all,
    .exchange = exchange_all,
};
