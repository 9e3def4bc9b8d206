/* SPDX-License-Identifier: Apache-2.0 */
/* The definitions are PyTorch's. Constants are formed in double and rounded once; the
 * loops are exact per element, so that every processor gives the same bytes.
 */
#include "nn/optim/rule.h"

#include <math.h>

#include "base/compiler.h"
#include "nn/optim/range.h"
#include "text/pipeline/pipeline.h"

static const struct {
    const char *name;
    int n;
    const char *states[OPTIM_RULE_STATES_MAX]; /* named as PyTorch does */
} kinds[] = {
    [OPTIM_RULE_SGD] = {"sgd", 1, {"momentum_buffer"}},
    [OPTIM_RULE_ADAGRAD] = {"adagrad", 1, {"sum"}},
    [OPTIM_RULE_ADAM] = {"adam", 2, {"exp_avg", "exp_avg_sq", "max_exp_avg_sq"}},
    [OPTIM_RULE_ADAMW] = {"adamw", 2, {"exp_avg", "exp_avg_sq", "max_exp_avg_sq"}},
    [OPTIM_RULE_ADADELTA] = {"adadelta", 2, {"square_avg", "acc_delta"}},
    [OPTIM_RULE_RMSPROP] = {"rmsprop", 1, {"square_avg"}},
};

const char *optim_rule_name(const struct optim_rule *r)
{
    return kinds[r->kind].name;
}

int optim_rule_states(const struct optim_rule *r)
{
    if (r->kind == OPTIM_RULE_SGD)
        return r->momentum != 0;
    return kinds[r->kind].n + r->amsgrad;
}

const char *optim_rule_state_name(const struct optim_rule *r, int i)
{
    return kinds[r->kind].states[i];
}

float optim_rule_state_init(const struct optim_rule *r)
{
    return r->kind == OPTIM_RULE_ADAGRAD ? (float)r->initial_accumulator : 0.0f;
}

static enum rc check_ranges(const struct optim_rule *r, const char *name, struct err *err)
{
    const struct optim_range ranges[] = {
        {"momentum", r->momentum, false},
        {"beta1", r->beta1, true},
        {"beta2", r->beta2, true},
        {"rho", r->rho, true},
        {"alpha", r->alpha, true},
        {"initial_accumulator_value", r->initial_accumulator, false},
        {"eps", r->eps, false},
        {"weight_decay", r->weight_decay, false},
    };
    enum rc rc = optim_check_ranges(name, ranges, ARRAY_LEN(ranges), err);
    if (rc)
        return rc;
    if (!isfinite(r->dampening))
        return err_set(err, RC_INVAL, "%s: dampening: %g is not a number", name,
                       r->dampening);
    if (r->nesterov && (r->momentum == 0 || r->dampening != 0))
        return err_set(err, RC_INVAL,
                       "%s: nesterov needs a momentum above 0 and no dampening", name);
    return RC_OK;
}

static struct optim_rule from_sgd(const struct pc_SGDOptimizer *m)
{
    return (struct optim_rule){.kind = OPTIM_RULE_SGD,
                               .momentum = m->momentum,
                               .dampening = m->dampening,
                               .nesterov = m->nesterov,
                               .weight_decay = m->weight_decay};
}

static struct optim_rule from_adagrad(const struct pc_AdagradOptimizer *m)
{
    return (struct optim_rule){.kind = OPTIM_RULE_ADAGRAD,
                               .initial_accumulator = m->initial_accumulator_value,
                               .eps = m->eps,
                               .weight_decay = m->weight_decay};
}

/* Adam and AdamW are two messages with the same fields. */
#define FROM_ADAM(kind_, m)                       \
    ((struct optim_rule){.kind = (kind_),         \
                         .beta1 = (m)->beta1,     \
                         .beta2 = (m)->beta2,     \
                         .amsgrad = (m)->amsgrad, \
                         .eps = (m)->eps,         \
                         .weight_decay = (m)->weight_decay})

static struct optim_rule from_adadelta(const struct pc_AdadeltaOptimizer *m)
{
    return (struct optim_rule){.kind = OPTIM_RULE_ADADELTA,
                               .rho = m->rho,
                               .eps = m->eps,
                               .weight_decay = m->weight_decay};
}

static struct optim_rule from_rmsprop(const struct pc_RMSpropOptimizer *m)
{
    return (struct optim_rule){.kind = OPTIM_RULE_RMSPROP,
                               .alpha = m->alpha,
                               .eps = m->eps,
                               .weight_decay = m->weight_decay};
}

enum rc optim_rule_from(const struct msg *optimizer, struct optim_rule *out, double *lr,
                        struct err *err)
{
    const struct msg *m = NULL;
    const struct field_def *f = schema_oneof(optimizer, "optimizer", &m);
    struct optim_rule r = {0};
    double rate = 0;
    if (!f)
        return err_coded(err, RC_INVAL, E0304, "no optimizer is named");
    if (m->def == &pc_SGDOptimizer_def) {
        const struct pc_SGDOptimizer *o = (const void *)m;
        r = from_sgd(o);
        rate = o->lr;
    } else if (m->def == &pc_AdagradOptimizer_def) {
        const struct pc_AdagradOptimizer *o = (const void *)m;
        r = from_adagrad(o);
        rate = o->lr;
    } else if (m->def == &pc_AdamOptimizer_def) {
        const struct pc_AdamOptimizer *o = (const void *)m;
        r = FROM_ADAM(OPTIM_RULE_ADAM, o);
        rate = o->lr;
    } else if (m->def == &pc_AdamWOptimizer_def) {
        const struct pc_AdamWOptimizer *o = (const void *)m;
        r = FROM_ADAM(OPTIM_RULE_ADAMW, o);
        rate = o->lr;
    } else if (m->def == &pc_AdadeltaOptimizer_def) {
        const struct pc_AdadeltaOptimizer *o = (const void *)m;
        r = from_adadelta(o);
        rate = o->lr;
    } else if (m->def == &pc_RMSpropOptimizer_def) {
        const struct pc_RMSpropOptimizer *o = (const void *)m;
        r = from_rmsprop(o);
        rate = o->lr;
    } else {
        return err_set(err, RC_UNSUPPORTED, "%s is not an optimizer for dense parameters",
                       f->name);
    }
    enum rc rc = check_ranges(&r, f->name, err);
    if (rc)
        return rc;
    *out = r;
    *lr = rate;
    return RC_OK;
}

struct optim_rule_step optim_rule_step_of(const struct optim_rule *r, double lr,
                                          int64_t t)
{
    struct optim_rule_step s = {
        .lr = (float)lr, .eps = (float)r->eps, .weight_decay = (float)r->weight_decay};
    switch (r->kind) {
    case OPTIM_RULE_SGD:
        s.mix1 = (float)r->momentum;
        s.take1 = t == 1 ? 1.0f : (float)(1 - r->dampening);
        break;
    case OPTIM_RULE_ADAGRAD:
        break;
    case OPTIM_RULE_ADAM:
    case OPTIM_RULE_ADAMW:
        s.mix1 = (float)r->beta1;
        s.take1 = (float)(1 - r->beta1);
        s.mix2 = (float)r->beta2;
        s.take2 = (float)(1 - r->beta2);
        s.lr = (float)(lr / (1 - pow(r->beta1, (double)t)));
        s.root = (float)(1 / sqrt(1 - pow(r->beta2, (double)t)));
        s.keep = (float)(1 - lr * r->weight_decay);
        break;
    case OPTIM_RULE_ADADELTA:
        s.mix1 = (float)r->rho;
        s.take1 = (float)(1 - r->rho);
        break;
    case OPTIM_RULE_RMSPROP:
        s.mix1 = (float)r->alpha;
        s.take1 = (float)(1 - r->alpha);
        break;
    }
    return s;
}

CLONED static void sgd(struct optim_rule_step s, float *w, const float *g, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        w[i] -= s.lr * (g[i] + s.weight_decay * w[i]);
}

CLONED static void sgd_momentum(struct optim_rule_step s, float *restrict w,
                                const float *restrict g, float *restrict buffer,
                                int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        float d = g[i] + s.weight_decay * w[i];
        buffer[i] = s.mix1 * buffer[i] + s.take1 * d;
        w[i] -= s.lr * buffer[i];
    }
}

CLONED static void sgd_nesterov(struct optim_rule_step s, float *restrict w,
                                const float *restrict g, float *restrict buffer,
                                int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        float d = g[i] + s.weight_decay * w[i];
        buffer[i] = s.mix1 * buffer[i] + s.take1 * d;
        w[i] -= s.lr * (d + s.mix1 * buffer[i]);
    }
}

CLONED static void adagrad(struct optim_rule_step s, float *restrict w,
                           const float *restrict g, float *restrict sum, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        float d = g[i] + s.weight_decay * w[i];
        sum[i] += d * d;
        w[i] -= s.lr * d / (sqrtf(sum[i]) + s.eps);
    }
}

CLONED static void adam(struct optim_rule_step s, float *restrict w,
                        const float *restrict g, float *restrict m, float *restrict v,
                        int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        float d = g[i] + s.weight_decay * w[i];
        m[i] = s.mix1 * m[i] + s.take1 * d;
        v[i] = s.mix2 * v[i] + s.take2 * d * d;
        w[i] -= s.lr * m[i] / (sqrtf(v[i]) * s.root + s.eps);
    }
}

/* Divides by the largest second moment so far. */
CLONED static void adam_max(struct optim_rule_step s, float *restrict w,
                            const float *restrict g, float *restrict m, float *restrict v,
                            float *restrict top, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        float d = g[i] + s.weight_decay * w[i];
        m[i] = s.mix1 * m[i] + s.take1 * d;
        v[i] = s.mix2 * v[i] + s.take2 * d * d;
        top[i] = v[i] <= top[i] ? top[i] : v[i]; /* NaN is kept */
        w[i] -= s.lr * m[i] / (sqrtf(top[i]) * s.root + s.eps);
    }
}

CLONED static void scale(float *w, float by, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        w[i] *= by;
}

CLONED static void adadelta(struct optim_rule_step s, float *restrict w,
                            const float *restrict g, float *restrict square,
                            float *restrict delta, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        float d = g[i] + s.weight_decay * w[i];
        square[i] = s.mix1 * square[i] + s.take1 * d * d;
        float step = sqrtf(delta[i] + s.eps) / sqrtf(square[i] + s.eps) * d;
        delta[i] = s.mix1 * delta[i] + s.take1 * step * step;
        w[i] -= s.lr * step;
    }
}

CLONED static void rmsprop(struct optim_rule_step s, float *restrict w,
                           const float *restrict g, float *restrict square, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        float d = g[i] + s.weight_decay * w[i];
        square[i] = s.mix1 * square[i] + s.take1 * d * d;
        w[i] -= s.lr * d / (sqrtf(square[i]) + s.eps);
    }
}

static void adam_like(const struct optim_rule *r, struct optim_rule_step s, float *w,
                      const float *g, float *const *state, int64_t n)
{
    if (r->kind == OPTIM_RULE_ADAMW) {
        if (r->weight_decay != 0)
            scale(w, s.keep, n);
        s.weight_decay = 0;
    }
    if (r->amsgrad)
        adam_max(s, w, g, state[0], state[1], state[2], n);
    else
        adam(s, w, g, state[0], state[1], n);
}

void optim_rule_apply(const struct optim_rule *r, const struct optim_rule_step *s,
                      float *w, const float *g, float *const *state, int64_t n)
{
    switch (r->kind) {
    case OPTIM_RULE_SGD:
        if (r->momentum == 0)
            sgd(*s, w, g, n);
        else if (r->nesterov)
            sgd_nesterov(*s, w, g, state[0], n);
        else
            sgd_momentum(*s, w, g, state[0], n);
        break;
    case OPTIM_RULE_ADAGRAD:
        adagrad(*s, w, g, state[0], n);
        break;
    case OPTIM_RULE_ADAM:
    case OPTIM_RULE_ADAMW:
        adam_like(r, *s, w, g, state, n);
        break;
    case OPTIM_RULE_ADADELTA:
        adadelta(*s, w, g, state[0], state[1], n);
        break;
    case OPTIM_RULE_RMSPROP:
        rmsprop(*s, w, g, state[0], n);
        break;
    }
}
