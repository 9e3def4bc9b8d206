/* SPDX-License-Identifier: Apache-2.0 */
/* gradcheck.h - compares backward passes with finite differences.
 *
 * `build` makes a graph over inputs x[0..n_in) and returns one value; its loss is a fixed
 * random weighting of all its floats. Every input and parameter is then nudged in a
 * sample of places, and the change of the loss is compared with the gradient. Rows beside
 * the batch axis come from `lengths`.
 */
#ifndef GRADCHECK_H
#define GRADCHECK_H

#include <stdlib.h>

#include "base/mem.h"
#include "base/rng.h"
#include "nn/graph.h"
#include "nn/ops.h"
#include "tap.h"

#define GRADCHECK_INPUTS 8

struct gradcheck {
    const char *name;
    struct nn_val *(*build)(struct graph *g, struct nn_val *const *x, int seq_axis);
    int n_in;
    struct nn_shape in[GRADCHECK_INPUTS]; /* axis 1 stands for the sequence axis */
    int64_t batch;
    double tolerance; /* relative; 0: 2e-2 */
    bool eval;        /* check with training switched off */
    float low, high;  /* range of the inputs; both 0: [-1, 1) */
};

struct gradcheck_state {
    struct graph *g;
    struct nn_val *x[GRADCHECK_INPUTS], *weights;
    int64_t *offsets;
};

static double gradcheck_loss(struct gradcheck_state *s)
{
    graph_forward(s->g, 1);
    return graph_loss(s->g);
}

/* What is nudged: an input or a parameter. */
struct gradcheck_at {
    const char *what;
    struct nn_val *val;
    struct param *param;
    int64_t n;
};

static void gradcheck_nudge(struct gradcheck_state *s, const struct gradcheck_at *at,
                            int64_t k, float value)
{
    if (at->val) {
        struct view v = graph_write_begin(s->g, at->val);
        view_row(&v, k / v.width)[k % v.width] = value;
        graph_write_end(s->g, at->val);
    } else {
        param_write_begin(at->param)[k] = value;
        param_write_end(at->param);
    }
}

static float gradcheck_value(struct gradcheck_state *s, const struct gradcheck_at *at,
                             int64_t k)
{
    if (!at->val)
        return param_read(at->param)[k];
    struct view v = graph_read(s->g, at->val);
    return view_row(&v, k / v.width)[k % v.width];
}

static void gradcheck_places(struct gradcheck_state *s, const struct gradcheck *c,
                             const struct gradcheck_at *at, const float *grad)
{
    double tolerance = c->tolerance > 0 ? c->tolerance : 2e-2;
    int64_t step = at->n > 40 ? at->n / 40 : 1;
    for (int64_t k = 0; k < at->n; k += step) {
        float old = gradcheck_value(s, at, k);
        double h = 1e-2, want;
        gradcheck_nudge(s, at, k, old + (float)h);
        double up = gradcheck_loss(s);
        gradcheck_nudge(s, at, k, old - (float)h);
        double down = gradcheck_loss(s);
        gradcheck_nudge(s, at, k, old);
        want = (up - down) / (2 * h);
        double got = (double)grad[k];
        bool good = fabs(got - want) <= tolerance * (0.05 + fabs(want));
        if (!good)
            printf("# %s: %s[%jd]: gradient %g, difference %g\n", c->name, at->what,
                   (intmax_t)k, got, want);
        CHECK(good);
    }
}

static bool gradcheck_build(const struct gradcheck *c, struct gradcheck_state *s,
                            struct rng *r)
{
    struct err err = {0};
    struct graph_options o = {.training = true, .seed = 3, .tile_rows = 3};
    s->g = graph_create(&o);
    int axis = graph_axis(s->g, "sequence");
    for (int i = 0; i < c->n_in; i++) {
        struct nn_shape shape = c->in[i];
        shape.axis = shape.axis ? axis : AXIS_BATCH;
        s->x[i] = nn_input(s->g, "x", &shape, true);
    }
    struct nn_val *y = c->build(s->g, s->x, axis);
    if (y) {
        s->weights = nn_input(s->g, "weights", nn_val_shape(y), false);
        nn_loss(s->g, "loss", nn_row_sum(s->g, nn_mul(s->g, y, s->weights)));
    }
    enum rc rc = graph_finish(s->g, &err);
    CHECK_STR(rc ? err.msg : "", "");
    struct nn_batch_rows rows = {.n = {c->batch}};
    s->offsets = mem_calloc((size_t)c->batch + 1, sizeof(*s->offsets));
    for (int64_t b = 0; b < c->batch; b++)
        s->offsets[b + 1] = s->offsets[b] + (b == 0 ? 0 : (int64_t)rng_below(r, 6));
    rows.n[1] = s->offsets[c->batch];
    rows.offsets[1] = s->offsets;
    CHECK(rc || graph_rows(s->g, &rows, &err) == RC_OK);
    return !rc;
}

static void gradcheck_fill(const struct gradcheck *c, struct gradcheck_state *s,
                           struct rng *r)
{
    float low = c->low, high = c->high;
    if (low == 0 && high == 0) {
        low = -1;
        high = 1;
    }
    for (int i = 0; i <= c->n_in; i++) {
        struct nn_val *x = i < c->n_in ? s->x[i] : s->weights;
        struct view v = graph_write_begin(s->g, x);
        if (v.rows)
            rng_fill_uniform(r, i < c->n_in ? low : -1, i < c->n_in ? high : 1, v.data,
                             (size_t)(v.rows * v.width));
        graph_write_end(s->g, x);
    }
}

static void gradcheck(const struct gradcheck *c)
{
    struct gradcheck_state s = {0};
    struct rng r;
    rng_init(&r, 11, 0, 0, 0);
    if (gradcheck_build(c, &s, &r)) {
        gradcheck_fill(c, &s, &r);
        graph_training(s.g, !c->eval);
        gradcheck_loss(&s);
        graph_backward(s.g, true);
        for (int i = 0; i < c->n_in; i++) {
            struct view d = graph_read_grad(s.g, s.x[i]);
            size_t bytes = (size_t)(d.rows * d.width) * sizeof(float);
            float *grad = mem_alloc(bytes); /* the passes that follow reuse its memory */
            if (d.data)
                memcpy(grad, d.data, bytes);
            CHECK(d.data != NULL);
            gradcheck_places(
                &s, c, &(struct gradcheck_at){"input", s.x[i], NULL, d.rows * d.width},
                grad);
            mem_free(grad);
            gradcheck_loss(&s);
            graph_backward(s.g, true);
        }
        size_t n;
        struct param *const *params = graph_params(s.g, &n);
        for (size_t i = 0; i < n; i++)
            if (params[i]->grad)
                gradcheck_places(&s, c,
                                 &(struct gradcheck_at){params[i]->name, NULL, params[i],
                                                        params[i]->n},
                                 param_read_grad(params[i]));
    }
    graph_destroy(s.g);
    mem_free(s.offsets);
}

#endif
