/* SPDX-License-Identifier: Apache-2.0 */
/* What dense optimizers ask of the card: updates of many parameters in a launch, anything else with a
 * kernel per parameter. Norms are joined from one number per parameter, in double and in their
 * order; a norm with an unusual power is taken on the host.
 */
#include "nn/optim/params.h"

#include <cuda_runtime_api.h>
#include <math.h>

#include "base/mem.h"
#include "cuda/cuda_private.h"

static enum cuda_rule_kind rule_of(const struct optim_rule *r)
{
    switch (r->kind) {
    case OPTIM_RULE_SGD:
        return r->momentum == 0 ? CUDA_SGD
               : r->nesterov    ? CUDA_SGD_NESTEROV
                                : CUDA_SGD_MOMENTUM;
    case OPTIM_RULE_ADAGRAD:
        return CUDA_ADAGRAD;
    case OPTIM_RULE_ADADELTA:
        return CUDA_ADADELTA;
    case OPTIM_RULE_RMSPROP:
        return CUDA_RMSPROP;
    case OPTIM_RULE_ADAM:
    case OPTIM_RULE_ADAMW:
        break;
    }
    return r->amsgrad ? CUDA_ADAM_MAX : CUDA_ADAM;
}

static struct cuda_update_args args_of(const struct param_update *u,
                                       const struct param *p)
{
    const struct optim_rule_step *s = &u->step;
    bool apart = u->rule->kind == OPTIM_RULE_ADAMW; /* decays by itself */
    struct cuda_update_args a = {
        .rule = rule_of(u->rule),
        .lr = s->lr,
        .mix1 = s->mix1,
        .take1 = s->take1,
        .mix2 = s->mix2,
        .take2 = s->take2,
        .root = s->root,
        .keep = apart && u->rule->weight_decay != 0 ? s->keep : 1,
        .eps = s->eps,
        .weight_decay = apart ? 0 : s->weight_decay,
        .w = p->value,
        .g = p->grad,
        .n = p->n,
    };
    for (int i = 0; i < OPTIM_RULE_STATES_MAX; i++)
        a.state[i] = u->state[i];
    return a;
}

static void update(const struct optim_param_set *s, const struct param_update *u)
{
    struct cuda_updates some;
    for (size_t from = 0; from < s->n; from += CUDA_UPDATES_MAX) {
        size_t left = s->n - from;
        int n = (int)(left < CUDA_UPDATES_MAX ? left : CUDA_UPDATES_MAX);
        for (int i = 0; i < n; i++)
            some.of[i] = args_of(&u[from + (size_t)i], s->at[from + (size_t)i]);
        cuda_update(cuda_of(s->device)->stream, &some, n);
    }
}

static struct cuda_rows grad_of(const struct param *p)
{
    return (struct cuda_rows){p->grad, 1, p->n, p->n};
}

/* One number per parameter, joined in their order. */
static double join_grads(const struct optim_param_set *s, enum cuda_total_kind what)
{
    struct cuda *c = cuda_of(s->device);
    double *parts = mem_calloc(s->n + 1, sizeof(*parts)), all = 0;
    pthread_mutex_lock(&c->lock);
    double *totals = cuda_totals(c, (int64_t)s->n);
    for (size_t i = 0; totals && i < s->n; i++)
        cuda_total(c->stream, what, grad_of(s->at[i]), totals,
                   totals + CUDA_TOTAL_PARTS + i);
    cuda_read_totals(c, parts, (int64_t)s->n);
    pthread_mutex_unlock(&c->lock);
    for (size_t i = 0; i < s->n; i++)
        all = what != CUDA_LARGEST            ? all + parts[i]
              : isnan(all) || all >= parts[i] ? all
                                              : parts[i];
    mem_free(parts);
    return all;
}

/* Of any other p: rare, on the host. */
static double power_norm(const struct optim_param_set *s, double p)
{
    double all = 0;
    for (size_t i = 0; i < s->n; i++) {
        const float *g = param_read_grad(s->at[i]);
        for (int64_t k = 0; k < s->at[i]->n; k++)
            all += pow(fabs((double)g[k]), p);
    }
    return pow(all, 1 / p);
}

static double norm(const struct optim_param_set *s, double p)
{
    if (isinf(p))
        return join_grads(s, CUDA_LARGEST);
    if (p == 2)
        return sqrt(join_grads(s, CUDA_SUM_SQUARES));
    return p == 1 ? join_grads(s, CUDA_SUM_MAGNITUDES) : power_norm(s, p);
}

static void clamp(const struct optim_param_set *s, float max)
{
    for (size_t i = 0; i < s->n; i++)
        cuda_clamp(cuda_of(s->device)->stream, s->at[i]->grad, s->at[i]->n, max);
}

static void multiply(const struct optim_param_set *s, float by)
{
    for (size_t i = 0; i < s->n; i++)
        cuda_times(cuda_of(s->device)->stream, s->at[i]->grad, s->at[i]->n, by);
}

static bool multiply_finite(const struct optim_param_set *s, float by)
{
    multiply(s, by);
    return isfinite(join_grads(s, CUDA_LARGEST));
}

static void average(const struct optim_param_set *s, float *avg, float keep, float take,
                    bool first)
{
    cuda_stream stream = cuda_of(s->device)->stream;
    for (size_t i = 0; i < s->n; i++) {
        const struct param *p = s->at[i];
        float *to = avg + s->begin[i];
        if (first)
            cuda_put(stream, (struct cuda_rows){p->value, 1, p->n, p->n},
                     (struct cuda_rows){to, 1, p->n, p->n}, false);
        else
            cuda_average(stream, to, p->value, p->n, keep, take);
    }
}

static void exchange(const struct optim_param_set *s, float *avg)
{
    for (size_t i = 0; i < s->n; i++)
        cuda_exchange(cuda_of(s->device)->stream, avg + s->begin[i], s->at[i]->value,
                      s->at[i]->n);
}

const struct param_ops cuda_params = {
    .update = update,
    .norm = norm,
    .clamp = clamp,
    .multiply = multiply,
    .multiply_finite = multiply_finite,
    .average = average,
    .exchange = exchange,
};
