/* SPDX-License-Identifier: Apache-2.0 */
/* Three steps of each optimizer on one value, worked out by hand in double. */
#include "embed/row_opt.h"

#include "base/compiler.h"
#include "tap.h"

#define LR 0.1
#define EPS 1e-8

static const double gradients[3] = {0.5, -0.25, 1.0};

static float after(const struct embed_row_opt *o)
{
    float row[3] = {2.0f, 0, 0};
    embed_row_opt_init(o, row + 1, 1);
    for (uint64_t t = 1; t <= 3; t++) {
        float g = (float)gradients[t - 1];
        struct embed_row_rule r =
            embed_row_rule_at(o, &(struct embed_row_step){.lr = LR, .step = t});
        embed_row_rule_apply(&r, row, row + 1, &g, 1);
    }
    return row[0];
}

static void sgd(void)
{
    CHECK_NEAR(after(&(struct embed_row_opt){.kind = ROW_SGD}),
               2 - 0.1 * (0.5 - 0.25 + 1), 1e-6);
}

static void adagrad(void)
{
    double w = 2, s = 0.3;
    for (int t = 0; t < 3; t++) {
        s += gradients[t] * gradients[t];
        w -= LR * gradients[t] / (sqrt(s) + EPS);
    }
    struct embed_row_opt o = {
        .kind = ROW_ADAGRAD, .eps = EPS, .initial_accumulator = 0.3};
    CHECK_NEAR(after(&o), w, 1e-6);
}

static void rowwise_adagrad_decays(void)
{
    for (int mode = DECAY_NONE; mode <= DECAY_DECOUPLE; mode++) {
        double w = 2, s = 0, wd = 0.2;
        for (int t = 0; t < 3; t++) {
            double g = gradients[t], with = mode == DECAY_L2 ? g + wd * w : g;
            s += with * with;
            double m = LR / (sqrt(s) + EPS), keep = 1;
            if (mode == DECAY_L2)
                keep = 1 - m * wd;
            else if (mode == DECAY_DECOUPLE)
                keep = 1 - LR * wd;
            w = keep * w - m * g;
        }
        struct embed_row_opt o = {.kind = ROW_ROWWISE_ADAGRAD,
                                  .eps = EPS,
                                  .weight_decay = wd,
                                  .decay_mode = (enum embed_decay)mode};
        CHECK_NEAR(after(&o), w, 1e-6);
    }
}

static double adam_like(double wd, bool trust)
{
    double w = 2, m = 0, v = 0;
    for (int t = 1; t <= 3; t++) {
        double g = gradients[t - 1];
        m = 0.9 * m + 0.1 * g;
        v = 0.999 * v + 0.001 * g * g;
        double r = m / (1 - pow(0.9, t)) / (sqrt(v / (1 - pow(0.999, t))) + EPS) + wd * w;
        w -= LR * (trust ? fabs(w) / fabs(r) : 1) * r;
    }
    return w;
}

/* With one value per row the row-wise forms are the same as the others. */
static void adam_and_lamb(void)
{
    static const enum embed_row_opt_kind kinds[] = {ROW_ADAM, ROW_PARTIAL_ROWWISE_ADAM,
                                                    ROW_LAMB, ROW_PARTIAL_ROWWISE_LAMB};
    for (int i = 0; i < 4; i++) {
        struct embed_row_opt o = {.kind = kinds[i],
                                  .beta1 = 0.9,
                                  .beta2 = 0.999,
                                  .eps = EPS,
                                  .weight_decay = 0.05};
        CHECK_NEAR(after(&o), adam_like(0.05, i >= 2), 2e-6);
    }
}

static void lars(void)
{
    double w = 2, m = 0, wd = 0.05;
    for (int t = 0; t < 3; t++) {
        double g = gradients[t], local = LR * 0.001 * fabs(w) / (fabs(g) + wd * fabs(w));
        m = 0.9 * m + local * (g + wd * w);
        w -= m;
    }
    struct embed_row_opt o = {.kind = ROW_LARS_SGD, .momentum = 0.9, .weight_decay = wd};
    CHECK_NEAR(after(&o), w, 1e-6);
}

static void adadelta_and_rmsprop(void)
{
    double w = 2, s = 0, d = 0;
    for (int t = 0; t < 3; t++) {
        double g = gradients[t];
        s = 0.95 * s + 0.05 * g * g;
        double step = sqrt(d + 1e-6) / sqrt(s + 1e-6) * g;
        d = 0.95 * d + 0.05 * step * step;
        w -= LR * step;
    }
    CHECK_NEAR(
        after(&(struct embed_row_opt){.kind = ROW_ADADELTA, .rho = 0.95, .eps = 1e-6}), w,
        1e-6);
    w = 2;
    s = 0;
    for (int t = 0; t < 3; t++) {
        s = 0.99 * s + 0.01 * gradients[t] * gradients[t];
        w -= LR * gradients[t] / (sqrt(s) + EPS);
    }
    CHECK_NEAR(
        after(&(struct embed_row_opt){.kind = ROW_RMSPROP, .alpha = 0.99, .eps = EPS}), w,
        2e-6);
}

#define DIM 3
#define STEPS 4

/* Rows of several values, by the formulas: norms and row-wise moments are over all. */
struct embed_plain {
    double w[DIM], m[DIM], v[DIM], row; /* moments; that of the row */
};

static double mean_square(const double *x)
{
    double sum = 0;
    for (int i = 0; i < DIM; i++)
        sum += x[i] * x[i];
    return sum / DIM;
}

static double length(const double *x)
{
    return sqrt(mean_square(x) * DIM);
}

static void plain_moments(const struct embed_row_opt *o, struct embed_plain *p,
                          const double *g, int t, double *out)
{
    bool by_row =
        o->kind == ROW_PARTIAL_ROWWISE_ADAM || o->kind == ROW_PARTIAL_ROWWISE_LAMB;
    p->row = o->beta2 * p->row + (1 - o->beta2) * mean_square(g);
    for (int i = 0; i < DIM; i++) {
        p->m[i] = o->beta1 * p->m[i] + (1 - o->beta1) * g[i];
        p->v[i] = o->beta2 * p->v[i] + (1 - o->beta2) * g[i] * g[i];
        double v = (by_row ? p->row : p->v[i]) / (1 - pow(o->beta2, t));
        out[i] = p->m[i] / (1 - pow(o->beta1, t)) / (sqrt(v) + o->eps) +
                 o->weight_decay * p->w[i];
    }
}

static void plain_step(const struct embed_row_opt *o, struct embed_plain *p,
                       const double *g, int t)
{
    double step[DIM], scale = LR;
    switch (o->kind) {
    case ROW_ROWWISE_ADAGRAD:
        p->row += mean_square(g);
        for (int i = 0; i < DIM; i++)
            step[i] = g[i] / (sqrt(p->row) + o->eps);
        break;
    case ROW_LARS_SGD:
        scale *= 0.001 * length(p->w) / (length(g) + o->weight_decay * length(p->w));
        for (int i = 0; i < DIM; i++) {
            p->m[i] = o->momentum * p->m[i] + scale * (g[i] + o->weight_decay * p->w[i]);
            step[i] = p->m[i];
        }
        scale = 1;
        break;
    default:
        plain_moments(o, p, g, t, step);
        if (o->kind == ROW_LAMB || o->kind == ROW_PARTIAL_ROWWISE_LAMB)
            scale *= length(p->w) / length(step);
    }
    for (int i = 0; i < DIM; i++)
        p->w[i] -= scale * step[i];
}

static void rows_of_several_values(void)
{
    static const enum embed_row_opt_kind kinds[] = {ROW_ROWWISE_ADAGRAD,
                                                    ROW_ADAM,
                                                    ROW_PARTIAL_ROWWISE_ADAM,
                                                    ROW_LAMB,
                                                    ROW_LARS_SGD,
                                                    ROW_PARTIAL_ROWWISE_LAMB};
    static const double g[STEPS][DIM] = {
        {0.5, -1, 2}, {0.25, 0.75, -0.5}, {0, 0, 0}, {-3, 0.125, 1}};
    for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
        struct embed_row_opt o = {.kind = kinds[k],
                                  .beta1 = 0.9,
                                  .beta2 = 0.99,
                                  .momentum = 0.9,
                                  .eps = EPS,
                                  .weight_decay =
                                      kinds[k] == ROW_ROWWISE_ADAGRAD ? 0 : 0.05};
        struct embed_plain p = {.w = {2, -1, 0.5}};
        float row[3 * DIM] = {2, -1, 0.5f};
        embed_row_opt_init(&o, row + DIM, DIM);
        for (int t = 1; t <= STEPS; t++) {
            float grad[DIM];
            for (int i = 0; i < DIM; i++)
                grad[i] = (float)g[t - 1][i];
            struct embed_row_step step = {.lr = LR, .step = (uint64_t)t};
            struct embed_row_rule r = embed_row_rule_at(&o, &step);
            embed_row_rule_apply(&r, row, row + DIM, grad, DIM);
            plain_step(&o, &p, g[t - 1], t);
            for (int i = 0; i < DIM; i++)
                CHECK_NEAR(row[i], p.w[i], 4e-6);
        }
    }
}

/* A row of zeros, or a gradient of zeros, is no division by zero. */
static void nothing_is_divided_by_zero(void)
{
    for (int kind = 0; kind < ROW_OPT_KINDS; kind++)
        for (int set = 0; set < 4; set++) {
            struct embed_row_opt o = {.kind = (enum embed_row_opt_kind)kind,
                                      .beta1 = 0.9,
                                      .beta2 = 0.999,
                                      .momentum = 0.9,
                                      .rho = 0.95,
                                      .alpha = 0.99,
                                      .eps = EPS};
            float w = set & 1 ? 1.0f : 0.0f, g = set & 2 ? 1.0f : 0.0f;
            float row[3 * DIM] = {w, w, w}, grad[DIM] = {g, g, g};
            embed_row_opt_init(&o, row + DIM, DIM);
            struct embed_row_rule r =
                embed_row_rule_at(&o, &(struct embed_row_step){.lr = LR, .step = 1});
            embed_row_rule_apply(&r, row, row + DIM, grad, DIM);
            for (int i = 0; i < DIM; i++)
                CHECK(isfinite(row[i]) && (g != 0 || row[i] == w));
        }
}

static const struct tap_case cases[] = {
    TAP(sgd),
    TAP(adagrad),
    TAP(rowwise_adagrad_decays),
    TAP(adam_and_lamb),
    TAP(lars),
    TAP(adadelta_and_rmsprop),
    TAP(rows_of_several_values),
    TAP(nothing_is_divided_by_zero),
};
TAP_MAIN(cases)
