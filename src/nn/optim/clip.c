/* SPDX-License-Identifier: Apache-2.0 */
/* Sums run in eight columns of double that are added at the end, in one order on every
 * machine.
 */
#include "nn/optim/clip.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/compiler.h"
#include "text/pipeline/pipeline.h"

#define COLUMNS 8

enum rc clip_from(const struct pc_GradClipping *conf, struct clip *out, struct err *err)
{
    struct clip c = {.kind = CLIP_NONE, .p = 2};
    if (conf) {
        c.max = conf->max_gradient;
        c.p = conf->norm_type;
        if (strcasecmp(conf->clipping_type, "norm") == 0)
            c.kind = CLIP_NORM;
        else if (strcasecmp(conf->clipping_type, "value") == 0)
            c.kind = CLIP_VALUE;
        else if (strcasecmp(conf->clipping_type, "none") != 0)
            return err_set(err, RC_INVAL,
                           "grad_clipping: clipping_type '%s' is none of norm, value, "
                           "none",
                           conf->clipping_type);
    }
    if (c.kind != CLIP_NONE && !(c.max > 0))
        return err_set(err, RC_INVAL, "grad_clipping: max_gradient: %g must be above 0",
                       c.max);
    if (c.kind == CLIP_NORM && !(c.p > 0))
        return err_set(err, RC_INVAL, "grad_clipping: norm_type: %g must be above 0",
                       c.p);
    *out = c;
    return RC_OK;
}

struct norm {
    const struct param_set *set;
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

double grads_norm(const struct param_set *s, double p)
{
    struct norm norm = {.set = s, .p = p};
    if (isinf(p))
        return param_set_join(s, PARAM_MAX, largest, &norm);
    if (p == 2)
        return sqrt(param_set_join(s, PARAM_SUM, sum_squares, &norm));
    double sum = param_set_join(s, PARAM_SUM, sum_powers, &norm);
    return p == 1 ? sum : pow(sum, 1 / p);
}

struct change {
    const struct param_set *set;
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

double clip_grads(const struct clip *c, const struct param_set *s)
{
    struct change change = {.set = s, .by = (float)c->max};
    if (c->kind == CLIP_VALUE)
        param_set_for(s, clamp, &change);
    if (c->kind != CLIP_NORM)
        return (double)NAN;
    double norm = grads_norm(s, c->p);
    change.by = (float)(c->max / (norm + 1e-6));
    if (isfinite(norm) && change.by < 1)
        param_set_for(s, multiply, &change);
    return norm;
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

bool scale_grads(const struct param_set *s, double by)
{
    struct change change = {.set = s, .by = (float)by};
    return param_set_join(s, PARAM_MAX, scale_part, &change) == 0;
}
