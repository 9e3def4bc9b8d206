/* SPDX-License-Identifier: Apache-2.0 */
/* The formulas are those of the fused sparse optimisers that TorchEasyRec uses; eps lies
 * outside the root. Loops over elements are exact per element, so that every processor
 * gives the same bytes; norms are summed in double, in order.
 */
#include "embed/row_opt.h"

#include <math.h>

#include "base/compiler.h"

const char *embed_row_opt_name(enum embed_row_opt_kind kind)
{
    static const char *const names[] = {
        [ROW_SGD] = "sgd",
        [ROW_ADAGRAD] = "adagrad",
        [ROW_ROWWISE_ADAGRAD] = "rowwise_adagrad",
        [ROW_ADAM] = "adam",
        [ROW_PARTIAL_ROWWISE_ADAM] = "partial_rowwise_adam",
        [ROW_LAMB] = "lamb",
        [ROW_PARTIAL_ROWWISE_LAMB] = "partial_rowwise_lamb",
        [ROW_LARS_SGD] = "lars_sgd",
        [ROW_ADADELTA] = "adadelta",
        [ROW_RMSPROP] = "rmsprop",
    };
    return names[kind];
}

int64_t embed_row_opt_state(const struct embed_row_opt *o, int64_t dim)
{
    switch (o->kind) {
    case ROW_SGD:
        return 0;
    case ROW_ROWWISE_ADAGRAD:
        return 1;
    case ROW_ADAGRAD:
    case ROW_LARS_SGD:
    case ROW_RMSPROP:
        return dim;
    case ROW_PARTIAL_ROWWISE_ADAM:
    case ROW_PARTIAL_ROWWISE_LAMB:
        return dim + 1;
    case ROW_ADAM:
    case ROW_LAMB:
    case ROW_ADADELTA:
        return 2 * dim;
    case ROW_OPT_KINDS:
        break;
    }
    return 0;
}

void embed_row_opt_init(const struct embed_row_opt *o, float *state, int64_t dim)
{
    float first = o->kind == ROW_ADAGRAD ? (float)o->initial_accumulator : 0.0f;
    for (int64_t i = 0; i < embed_row_opt_state(o, dim); i++)
        state[i] = first;
}

CLONED static void sgd(float *w, const float *g, float lr, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        w[i] -= lr * g[i];
}

CLONED static void adagrad(float *w, float *s, const float *g, float lr, float eps,
                           int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        s[i] += g[i] * g[i];
        w[i] -= lr * g[i] / (sqrtf(s[i]) + eps);
    }
}

static double mean_square(const float *g, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += (double)g[i] * (double)g[i];
    return sum / (double)n;
}

static double norm(const float *v, int64_t n)
{
    return sqrt(mean_square(v, n) * (double)n);
}

static void rowwise_adagrad(const struct embed_row_opt *o, double lr, float *w, float *s,
                            const float *g, int64_t n)
{
    double l2 = o->decay_mode == DECAY_L2 ? o->weight_decay : 0, sum = 0;
    for (int64_t i = 0; i < n; i++) {
        double d = (double)g[i] + l2 * (double)w[i];
        sum += d * d;
    }
    s[0] += (float)(sum / (double)n);
    double step = lr / (sqrt((double)s[0]) + o->eps);
    double keep = 1 - step * l2;
    if (o->decay_mode == DECAY_DECOUPLE)
        keep = 1 - lr * o->weight_decay;
    for (int64_t i = 0; i < n; i++)
        w[i] = (float)keep * w[i] - (float)step * g[i];
}

struct moments {
    float beta1, beta2, correct1, correct2, eps, wd;
};

struct embed_row_rule embed_row_rule_at(const struct embed_row_opt *o,
                                        const struct embed_row_step *s)
{
    double t = (double)s->step;
    struct embed_row_rule r = {.opt = o, .lr = s->lr, .step = s->step};
    if (o->kind == ROW_ADAM || o->kind == ROW_LAMB ||
        o->kind == ROW_PARTIAL_ROWWISE_ADAM || o->kind == ROW_PARTIAL_ROWWISE_LAMB) {
        r.correct1 = (float)(1.0 / (1.0 - pow(o->beta1, t)));
        r.correct2 = (float)(1.0 / (1.0 - pow(o->beta2, t)));
    }
    return r;
}

static struct moments moments_of(const struct embed_row_rule *r)
{
    const struct embed_row_opt *o = r->opt;
    return (struct moments){.beta1 = (float)o->beta1,
                            .beta2 = (float)o->beta2,
                            .correct1 = r->correct1,
                            .correct2 = r->correct2,
                            .eps = (float)o->eps,
                            .wd = (float)o->weight_decay};
}

/* g becomes the direction m1 / (sqrt(m2) + eps) + wd * w, per element. */
CLONED static void adam_direction(struct moments k, const float *w, float *m1, float *m2,
                                  float *g, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        m1[i] = k.beta1 * m1[i] + (1.0f - k.beta1) * g[i];
        m2[i] = k.beta2 * m2[i] + (1.0f - k.beta2) * g[i] * g[i];
        g[i] = m1[i] * k.correct1 / (sqrtf(m2[i] * k.correct2) + k.eps) + k.wd * w[i];
    }
}

/* The same with one second moment per row. */
static void rowwise_direction(struct moments k, const float *w, float *m1, float *m2,
                              float *g, int64_t n)
{
    *m2 = k.beta2 * *m2 + (1.0f - k.beta2) * (float)mean_square(g, n);
    float scale = 1.0f / (sqrtf(*m2 * k.correct2) + k.eps);
    for (int64_t i = 0; i < n; i++) {
        m1[i] = k.beta1 * m1[i] + (1.0f - k.beta1) * g[i];
        g[i] = m1[i] * k.correct1 * scale + k.wd * w[i];
    }
}

/* Steps of the length of the row itself. */
static void lamb_step(float *w, const float *direction, double lr, int64_t n)
{
    double size = norm(w, n), length = norm(direction, n);
    double trust = size > 0 && length > 0 ? size / length : 1;
    sgd(w, direction, (float)(lr * trust), n);
}

static void lars(const struct embed_row_opt *o, double lr, float *w, float *m,
                 const float *g, int64_t n)
{
    double size = norm(w, n), length = norm(g, n), wd = o->weight_decay;
    double base = length + wd * size;
    float local = (float)(base > 0 ? lr * 0.001 * size / base : lr);
    for (int64_t i = 0; i < n; i++) {
        m[i] = (float)o->momentum * m[i] + local * (g[i] + (float)wd * w[i]);
        w[i] -= m[i];
    }
}

static void adadelta(const struct embed_row_opt *o, double lr, float *w, float *s,
                     const float *g, int64_t n)
{
    float rho = (float)o->rho, eps = (float)o->eps, wd = (float)o->weight_decay;
    float *square = s, *delta = s + n;
    for (int64_t i = 0; i < n; i++) {
        float d = g[i] + wd * w[i];
        square[i] = rho * square[i] + (1.0f - rho) * d * d;
        float step = sqrtf(delta[i] + eps) / sqrtf(square[i] + eps) * d;
        delta[i] = rho * delta[i] + (1.0f - rho) * step * step;
        w[i] -= (float)lr * step;
    }
}

static void rmsprop(const struct embed_row_opt *o, double lr, float *w, float *s,
                    const float *g, int64_t n)
{
    float alpha = (float)o->alpha, eps = (float)o->eps, wd = (float)o->weight_decay;
    for (int64_t i = 0; i < n; i++) {
        float d = g[i] + wd * w[i];
        s[i] = alpha * s[i] + (1.0f - alpha) * d * d;
        w[i] -= (float)lr * d / (sqrtf(s[i]) + eps);
    }
}

void embed_row_rule_apply(const struct embed_row_rule *r, float *w, float *state,
                          float *grad, int64_t dim)
{
    const struct embed_row_opt *o = r->opt;
    struct moments k;
    switch (o->kind) {
    case ROW_SGD:
        sgd(w, grad, (float)r->lr, dim);
        break;
    case ROW_ADAGRAD:
        adagrad(w, state, grad, (float)r->lr, (float)o->eps, dim);
        break;
    case ROW_ROWWISE_ADAGRAD:
        rowwise_adagrad(o, r->lr, w, state, grad, dim);
        break;
    case ROW_ADAM:
    case ROW_LAMB:
        k = moments_of(r);
        adam_direction(k, w, state, state + dim, grad, dim);
        if (o->kind == ROW_LAMB)
            lamb_step(w, grad, r->lr, dim);
        else
            sgd(w, grad, (float)r->lr, dim);
        break;
    case ROW_PARTIAL_ROWWISE_ADAM:
    case ROW_PARTIAL_ROWWISE_LAMB:
        k = moments_of(r);
        rowwise_direction(k, w, state, state + dim, grad, dim);
        if (o->kind == ROW_PARTIAL_ROWWISE_LAMB)
            lamb_step(w, grad, r->lr, dim);
        else
            sgd(w, grad, (float)r->lr, dim);
        break;
    case ROW_LARS_SGD:
        lars(o, r->lr, w, state, grad, dim);
        break;
    case ROW_ADADELTA:
        adadelta(o, r->lr, w, state, grad, dim);
        break;
    case ROW_RMSPROP:
        rmsprop(o, r->lr, w, state, grad, dim);
        break;
    case ROW_OPT_KINDS:
        break;
    }
}
