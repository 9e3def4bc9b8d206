/* SPDX-License-Identifier: Apache-2.0 */
/* Nocedal and Wright, "Numerical optimization", algorithm 6.1, with bounds by projection:
 * coordinates that stand at a bound and pull outwards are left out of a step.
 */
#include "tune/descend.h"

#include <math.h>
#include <string.h>

#define N TUNE_DESCEND_MOST
#define HALVINGS 12

struct state {
    int64_t n;
    double h[N][N]; /* of the inverse of the second derivatives */
    double x[N], g[N], to[N], g_to[N], step[N];
};

static void forget_curvature(struct state *s)
{
    for (int64_t i = 0; i < s->n; i++)
        for (int64_t j = 0; j < s->n; j++)
            s->h[i][j] = i == j;
}

/* The step of Newton's kind; false when it does not lead downhill. */
static bool set_step(struct state *s, const double *low, const double *high)
{
    bool held[N];
    double slope = 0, longest = 0;
    for (int64_t i = 0; i < s->n; i++)
        held[i] =
            (s->x[i] <= low[i] && s->g[i] > 0) || (s->x[i] >= high[i] && s->g[i] < 0);
    for (int64_t i = 0; i < s->n; i++) {
        s->step[i] = 0;
        for (int64_t j = 0; j < s->n && !held[i]; j++)
            s->step[i] -= held[j] ? 0 : s->h[i][j] * s->g[j];
        slope += s->step[i] * s->g[i];
    }
    for (int64_t i = 0; i < s->n; i++)
        longest = fmax(longest, fabs(s->step[i]) / (high[i] - low[i]));
    for (int64_t i = 0; i < s->n && longest > 0.3; i++)
        s->step[i] *= 0.3 / longest;
    return slope < 0 && isfinite(slope);
}

static void learn_curvature(struct state *s)
{
    double y[N], sy = 0, yhy = 0, hy[N];
    for (int64_t i = 0; i < s->n; i++) {
        s->step[i] = s->to[i] - s->x[i];
        y[i] = s->g_to[i] - s->g[i];
        sy += s->step[i] * y[i];
    }
    if (!(sy > 1e-14))
        return;
    for (int64_t i = 0; i < s->n; i++) {
        hy[i] = 0;
        for (int64_t j = 0; j < s->n; j++)
            hy[i] += s->h[i][j] * y[j];
        yhy += y[i] * hy[i];
    }
    for (int64_t i = 0; i < s->n; i++)
        for (int64_t j = 0; j < s->n; j++)
            s->h[i][j] += (1 + yhy / sy) * s->step[i] * s->step[j] / sy -
                          (hy[i] * s->step[j] + s->step[i] * hy[j]) / sy;
}

double tune_descend(tune_descend_fn *f, void *self, int64_t n, const double *low,
                    const double *high, int steps, double *x)
{
    struct state s = {.n = n};
    size_t size = (size_t)n * sizeof(*x);
    memcpy(s.x, x, size);
    forget_curvature(&s);
    double value = f(self, s.x, s.g);
    bool fresh = true;
    for (int k = 0; k < steps && isfinite(value); k++) {
        if (!set_step(&s, low, high)) {
            if (fresh)
                break;
            forget_curvature(&s);
            fresh = true;
            continue;
        }
        double part = 1, next = INFINITY;
        int halvings = 0;
        for (; halvings < HALVINGS; halvings++, part /= 2.5) {
            double gain = 0;
            for (int64_t i = 0; i < n; i++) {
                s.to[i] = fmin(fmax(s.x[i] + part * s.step[i], low[i]), high[i]);
                gain += s.g[i] * (s.to[i] - s.x[i]);
            }
            next = f(self, s.to, s.g_to);
            if (next <= value + 1e-4 * gain)
                break;
        }
        if (halvings == HALVINGS) {
            if (fresh)
                break;
            forget_curvature(&s);
            fresh = true;
            continue;
        }
        bool still = value - next < 1e-9 * (1 + fabs(value));
        learn_curvature(&s);
        fresh = false;
        memcpy(s.x, s.to, size);
        memcpy(s.g, s.g_to, size);
        value = next;
        if (still)
            break;
    }
    memcpy(x, s.x, size);
    return value;
}
