/* SPDX-License-Identifier: Apache-2.0 */
/* How the CPU drops features: q = op_sigmoid(feature_p) is worked out once per step (begin), each
 * row draws its soft mask from its own stream of random numbers and keeps it for the backward
 * pass. The gradient of feature_p is summed over fixed parts of the rows, in order.
 */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "nn/cpu/cpu.h"
#include "nn/op/feature_dropout.h"

#define TEMPERATURE 0.1
#define EPS (1.0 / 8388608) /* 2^-23 */
#define GRAD_PARTS 64
#define GRAD_ROWS 256

struct drop_state {
    double *q, *logit; /* [n] of this step */
    double *parts;     /* [GRAD_PARTS][n] */
};

static void drop_teardown(void *state)
{
    struct drop_state *s = state;
    mem_free(s->q);
    mem_free(s);
}

static enum rc drop_setup(const void *conf, const struct nn_shape *in,
                          const struct nn_shape *out, bool training, void **state,
                          struct err *err)
{
    const struct op_drop_conf *c = conf;
    struct drop_state *s = mem_calloc(1, sizeof(*s));
    s->q = mem_try_calloc((size_t)c->n * (GRAD_PARTS + 2), sizeof(double));
    if (!s->q) {
        mem_free(s);
        return err_set(err, RC_NOMEM, "no memory for %jd features", (intmax_t)c->n);
    }
    s->logit = s->q + c->n;
    s->parts = s->logit + c->n;
    *state = s;
    return RC_OK;
}

static void drop_begin(const struct op_run *r)
{
    const struct op_drop_conf *c = r->conf;
    struct drop_state *s = r->state;
    for (int64_t i = 0; i < c->n; i++) {
        s->q[i] = op_sigmoid((double)r->params[0]->value[i]);
        s->logit[i] = log(s->q[i] + EPS) - log(1 - s->q[i] + EPS);
    }
}

static void draw_mask(const struct op_run *r, int64_t row, float *z)
{
    const struct op_drop_conf *c = r->conf;
    const struct drop_state *s = r->state;
    struct rng rng;
    rng_init(&rng, r->env->seed, r->id + 1, r->env->step, (uint64_t)row);
    for (int64_t i = 0; i < c->n; i++) {
        double u = (double)rng_f32(&rng);
        double noise = log(u + EPS) - log(1 - u + EPS);
        z[i] = r->env->training ? (float)op_sigmoid((s->logit[i] + noise) / TEMPERATURE)
                                : (float)s->q[i];
    }
}

/* Of each row; all rows together lambda / B * sum(1 - q). */
static double row_loss(const struct op_run *r)
{
    const struct op_drop_conf *c = r->conf;
    const struct drop_state *s = r->state;
    double sum = 0, rows = (double)op_total(r);
    for (int64_t i = 0; i < c->n; i++)
        sum += 1 - s->q[i];
    return c->lambda * sum / (rows * rows);
}

static void drop_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct op_drop_conf *c = r->conf;
    float loss = (float)row_loss(r);
    int64_t from, to;
    nn_cpu_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t k = from; k < to; k++) {
        const float *x = view_row(&r->in[0], k);
        float *y = view_row(&r->out[0], k), *z = view_row(&r->keep, k);
        draw_mask(r, k, z);
        for (int64_t i = 0, col = 0; i < c->n; i++)
            for (; col < c->end[i]; col++)
                y[col] = x[col] * (1.0f - z[i]);
        *view_row(&r->out[1], k) = loss;
    }
}

static void drop_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct op_drop_conf *c = r->conf;
    int64_t from, to;
    nn_cpu_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t k = from; r->d_in[0].data && k < to; k++) {
        const float *dy = view_row(&r->d_out[0], k), *z = view_row(&r->keep, k);
        float *dx = view_row(&r->d_in[0], k);
        for (int64_t i = 0, col = 0; i < c->n; i++)
            for (; col < c->end[i]; col++)
                dx[col] += dy[col] * (1.0f - z[i]);
    }
}

/* By feature_p: q = op_sigmoid(p), and z depends on q through its logit. */
static double mask_slope(const struct op_run *r, int64_t i, double z)
{
    const struct drop_state *s = r->state;
    double q = s->q[i], slope = q * (1 - q);
    if (!r->env->training)
        return slope;
    return z * (1 - z) / TEMPERATURE * slope * (1 / (q + EPS) + 1 / (1 - q + EPS));
}

static void drop_part(void *arg, int64_t begin, int64_t end, void *part)
{
    const struct op_run *r = arg;
    const struct op_drop_conf *c = r->conf;
    const struct drop_state *s = r->state;
    double *sums = part, rows = (double)op_total(r);
    memset(sums, 0, (size_t)c->n * sizeof(double));
    for (int64_t k = begin; k < end; k++) {
        const float *x = view_row(&r->in[0], k), *dy = view_row(&r->d_out[0], k);
        double d_loss = (double)*view_row(&r->d_out[1], k) * c->lambda / (rows * rows);
        for (int64_t i = 0, col = 0; i < c->n; i++) {
            double dot = 0;
            for (; col < c->end[i]; col++)
                dot += (double)dy[col] * (double)x[col];
            sums[i] -= dot * mask_slope(r, i, (double)view_row(&r->keep, k)[i]) +
                       d_loss * s->q[i] * (1 - s->q[i]);
        }
    }
}

static void drop_join(void *arg, const void *part)
{
    const struct op_run *r = arg;
    const struct op_drop_conf *c = r->conf;
    const double *p = part;
    for (int64_t i = 0; i < c->n; i++)
        r->params[0]->grad[i] += (float)p[i];
}

static void drop_grads(const struct op_run *r)
{
    const struct op_drop_conf *c = r->conf;
    struct drop_state *s = r->state;
    struct op_run copy = *r;
    int64_t least = (r->in[0].rows + GRAD_PARTS - 1) / GRAD_PARTS;
    if (r->params[0]->grad)
        pool_reduce(r->env->pool, r->in[0].rows, least > GRAD_ROWS ? least : GRAD_ROWS,
                    drop_part, drop_join, &copy, s->parts, (size_t)c->n * sizeof(double));
}

const struct nn_cpu_op nn_cpu_feature_dropout = {
    .setup = drop_setup,
    .teardown = drop_teardown,
    .begin = drop_begin,
    .forward = drop_forward,
    .backward = drop_backward,
    .grads = drop_grads,
};
