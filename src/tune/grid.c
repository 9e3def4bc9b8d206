/* SPDX-License-Identifier: Apache-2.0 */
/* The grid over a search space, refined epoch by epoch. Each numeric parameter has an
 * axis: the quantiles tried so far and the gaps between them that still hold values which
 * a trial could tell apart. An epoch halves all gaps, then an odometer runs over the
 * axes; points made of candidates of earlier epochs alone are passed over, as they were
 * given before. Parameters that are not active under the options chosen do not turn.
 * Quantiles, not values, make one rule fit uniform, logarithmic and normal parameters.
 */
#include "tune/grid.h"

#include <math.h>

#include "base/vec.h"
#include "tune/normal.h"
#include "tune/point.h"

struct interval {
    double low, high; /* quantiles */
};

struct axis {
    VEC(double) quantiles; /* numeric: tried so far and in this epoch */
    VEC(struct interval) gaps;
    int64_t before; /* candidates of the epoch before */
    int64_t at;     /* index of the current one */
};

struct tune_grid {
    const struct nni_space *space;
    struct axis *axes;
    bool started, over;
};

static double at_quantile(const struct nni_param *p, double q)
{
    if (p->sigma > 0)
        return p->mu + p->sigma * tune_normal_quantile(q);
    return p->low + (p->high - p->low) * q;
}

/* What the trial sees, so that steps too fine for it are not taken. */
static double grid_seen(const struct nni_param *p, double q)
{
    return tune_point_user(p, at_quantile(p, q));
}

static int64_t axis_count(const struct tune_grid *g, int64_t i)
{
    const struct nni_param *p = &g->space->at[i];
    return p->categorical ? p->size : (int64_t)g->axes[i].quantiles.n;
}

struct tune_grid *tune_grid_create(const struct nni_space *s)
{
    struct tune_grid *g = mem_calloc(1, sizeof(*g));
    g->space = s;
    g->axes = mem_calloc((size_t)s->n + 1, sizeof(*g->axes));
    for (int64_t i = 0; i < s->n; i++) {
        const struct nni_param *p = &s->at[i];
        struct axis *a = &g->axes[i];
        if (p->categorical)
            continue;
        VEC_PUSH(&a->quantiles, 0.5);
        if (grid_seen(p, 0) < grid_seen(p, 0.5))
            VEC_PUSH(&a->gaps, ((struct interval){0, 0.5}));
        if (grid_seen(p, 0.5) < grid_seen(p, 1))
            VEC_PUSH(&a->gaps, ((struct interval){0.5, 1}));
    }
    return g;
}

void tune_grid_destroy(struct tune_grid *g)
{
    if (!g)
        return;
    for (int64_t i = 0; i < g->space->n; i++) {
        VEC_RELEASE(&g->axes[i].quantiles);
        VEC_RELEASE(&g->axes[i].gaps);
    }
    mem_free(g->axes);
    mem_free(g);
}

#define FINEST 0x1p-50 /* quantiles this near to 0 or 1 are not told apart */

enum found { NOTHING, LATER, NOW };

/* Halves the gaps of one parameter: whether that gives new values, may give some when it
 * is done again (far out in a tail), or neither.
 */
static enum found axis_refine(const struct nni_param *p, struct axis *a)
{
    struct axis next = {0};
    enum found found = NOTHING;
    for (size_t i = 0; i < a->gaps.n; i++) {
        double l = a->gaps.at[i].low, r = a->gaps.at[i].high, m = (l + r) / 2;
        bool left = grid_seen(p, l) < grid_seen(p, m),
             right = grid_seen(p, m) < grid_seen(p, r);
        bool tail = (left && l == 0) || (right && r == 1);
        if ((left || l == 0) && (right || r == 1)) {
            VEC_PUSH(&a->quantiles, m);
            found = NOW;
        }
        if (left && m - l > FINEST)
            VEC_PUSH(&next.gaps, ((struct interval){l, m}));
        if (right && r - m > FINEST)
            VEC_PUSH(&next.gaps, ((struct interval){m, r}));
        if (tail && found == NOTHING)
            found = LATER;
    }
    VEC_RELEASE(&a->gaps);
    a->gaps.at = next.gaps.at;
    a->gaps.n = next.gaps.n;
    a->gaps.cap = next.gaps.cap;
    return found;
}

/* False when there is nothing new and never will be. */
static bool next_epoch(struct tune_grid *g)
{
    enum found found = NOTHING;
    for (int64_t i = 0; i < g->space->n; i++) {
        g->axes[i].before = axis_count(g, i);
        g->axes[i].at = 0;
    }
    do {
        found = NOTHING;
        for (int64_t i = 0; i < g->space->n; i++) {
            if (g->space->at[i].categorical)
                continue;
            enum found here = axis_refine(&g->space->at[i], &g->axes[i]);
            found = here > found ? here : found;
        }
    } while (found == LATER);
    return found == NOW;
}

static void grid_fill(const struct tune_grid *g, double *x)
{
    for (int64_t i = 0; i < g->space->n; i++) {
        const struct nni_param *p = &g->space->at[i];
        const struct axis *a = &g->axes[i];
        if (!tune_point_active(g->space, x, i))
            x[i] = NAN;
        else
            x[i] =
                p->categorical ? (double)a->at : at_quantile(p, a->quantiles.at[a->at]);
    }
}

/* One step of the odometer over the parameters that are active in `x`; false at its end.
 */
static bool grid_step(struct tune_grid *g, const double *x)
{
    for (int64_t i = g->space->n - 1; i >= 0; i--) {
        if (isnan(x[i]))
            continue;
        if (++g->axes[i].at < axis_count(g, i))
            return true;
        g->axes[i].at = 0;
    }
    return false;
}

static bool tried_before(const struct tune_grid *g)
{
    for (int64_t i = 0; i < g->space->n; i++)
        if (g->axes[i].at >= g->axes[i].before)
            return false;
    return true;
}

bool tune_grid_next(struct tune_grid *g, double *x)
{
    while (!g->over) {
        if (!g->started) {
            g->started = true;
        } else {
            grid_fill(g, x);
            if (!grid_step(g, x) && !next_epoch(g)) {
                g->over = true;
                break;
            }
        }
        grid_fill(g, x);
        if (g->space->n && tried_before(g))
            continue;
        return true;
    }
    return false;
}
