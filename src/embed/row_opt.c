/* SPDX-License-Identifier: Apache-2.0 */
/* The formulas are those of the fused sparse optimizers that TorchEasyRec uses; eps lies
 * outside the root. Loops over elements are exact per element, so that every processor
 * gives the same bytes; norms are summed in double, in order.
 */
#include "embed/row_opt.h"

#include <math.h>

#include "base/compiler.h"

static const struct {
    const char *name;
    enum embed_row_state arrays[ROW_STATES_MAX];
    bool corrects, each;
} kinds[ROW_OPT_KINDS] = {
#define ROW_OPT(KIND, name, first, second, corrects, each) \
    [ROW_##KIND] = {#name, {ROW_STATE_##first, ROW_STATE_##second}, corrects, each},
#include "embed/row_opts.def"
#undef ROW_OPT
};

const char *embed_row_opt_name(enum embed_row_opt_kind kind)
{
    return kinds[kind].name;
}

enum embed_row_state embed_row_opt_array(enum embed_row_opt_kind kind, int array)
{
    return kinds[kind].arrays[array];
}

int64_t embed_row_opt_state(const struct embed_row_opt *o, int64_t dim)
{
    int64_t n = 0;
    for (int i = 0; i < ROW_STATES_MAX; i++) {
        enum embed_row_state s = kinds[o->kind].arrays[i];
        n += s == ROW_STATE_EACH ? dim : s == ROW_STATE_ONCE ? 1 : 0;
    }
    return n;
}

bool embed_row_opt_each(enum embed_row_opt_kind kind)
{
    return kinds[kind].each;
}

double embed_row_opt_initial(const struct embed_row_opt *o)
{
    return o->kind == ROW_ADAGRAD ? o->initial_accumulator : 0;
}

void embed_row_opt_init(const struct embed_row_opt *o, float *state, int64_t dim)
{
    float initial = (float)embed_row_opt_initial(o);
    for (int64_t i = 0; i < embed_row_opt_state(o, dim); i++)
        state[i] = initial;
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
    if (kinds[o->kind].corrects) {
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

/* One function per optimizer, named as in row_opts.def. */
typedef void apply_fn(const struct embed_row_rule *r, float *w, float *state, float *grad,
                      int64_t dim);

static void apply_sgd(const struct embed_row_rule *r, float *w, float *state, float *grad,
                      int64_t dim)
{
    sgd(w, grad, (float)r->lr, dim);
}

static void apply_adagrad(const struct embed_row_rule *r, float *w, float *state,
                          float *grad, int64_t dim)
{
    adagrad(w, state, grad, (float)r->lr, (float)r->opt->eps, dim);
}

static void apply_rowwise_adagrad(const struct embed_row_rule *r, float *w, float *state,
                                  float *grad, int64_t dim)
{
    rowwise_adagrad(r->opt, r->lr, w, state, grad, dim);
}

static void apply_adam(const struct embed_row_rule *r, float *w, float *state,
                       float *grad, int64_t dim)
{
    adam_direction(moments_of(r), w, state, state + dim, grad, dim);
    sgd(w, grad, (float)r->lr, dim);
}

static void apply_lamb(const struct embed_row_rule *r, float *w, float *state,
                       float *grad, int64_t dim)
{
    adam_direction(moments_of(r), w, state, state + dim, grad, dim);
    lamb_step(w, grad, r->lr, dim);
}

static void apply_partial_rowwise_adam(const struct embed_row_rule *r, float *w,
                                       float *state, float *grad, int64_t dim)
{
    rowwise_direction(moments_of(r), w, state, state + dim, grad, dim);
    sgd(w, grad, (float)r->lr, dim);
}

static void apply_partial_rowwise_lamb(const struct embed_row_rule *r, float *w,
                                       float *state, float *grad, int64_t dim)
{
    rowwise_direction(moments_of(r), w, state, state + dim, grad, dim);
    lamb_step(w, grad, r->lr, dim);
}

static void apply_lars_sgd(const struct embed_row_rule *r, float *w, float *state,
                           float *grad, int64_t dim)
{
    lars(r->opt, r->lr, w, state, grad, dim);
}

static void apply_adadelta(const struct embed_row_rule *r, float *w, float *state,
                           float *grad, int64_t dim)
{
    adadelta(r->opt, r->lr, w, state, grad, dim);
}

static void apply_rmsprop(const struct embed_row_rule *r, float *w, float *state,
                          float *grad, int64_t dim)
{
    rmsprop(r->opt, r->lr, w, state, grad, dim);
}

void embed_row_rule_apply(const struct embed_row_rule *r, float *w, float *state,
                          float *grad, int64_t dim)
{
    static apply_fn *const applies[ROW_OPT_KINDS] = {
#define ROW_OPT(KIND, name, first, second, corrects, each) [ROW_##KIND] = apply_##name,
#include "embed/row_opts.def"
#undef ROW_OPT
    };
    applies[r->opt->kind](r, w, state, grad, dim);
}
