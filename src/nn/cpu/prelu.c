/* SPDX-License-Identifier: Apache-2.0 */
/* How the CPU runs activations with learnt slopes. Rows are independent; the gradient of the
 * slopes is summed over at most GRAD_PARTS fixed parts of the rows and the parts in order, so
 * that threads do not change it.
 */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "nn/cpu/cpu.h"
#include "nn/op/prelu.h"

#define GRAD_PARTS 64
#define GRAD_ROWS 256

struct slope_state {
    double *parts; /* [GRAD_PARTS][n] */
};

static enum rc slope_setup(const void *conf, const struct nn_shape *in,
                           const struct nn_shape *out, bool training, void **state,
                           struct err *err)
{
    const struct op_slope_conf *c = conf;
    struct slope_state *s = mem_calloc(1, sizeof(*s));
    s->parts = mem_try_calloc((size_t)(GRAD_PARTS * c->n), sizeof(double));
    if (!s->parts) {
        mem_free(s);
        return err_set(err, RC_NOMEM, "no memory for gradients of %jd values",
                       (intmax_t)c->n);
    }
    *state = s;
    return RC_OK;
}

static void slope_teardown(void *state)
{
    struct slope_state *s = state;
    mem_free(s->parts);
    mem_free(s);
}

static void slope_join(void *arg, const void *part)
{
    const struct op_run *r = arg;
    const struct op_slope_conf *c = r->conf;
    const double *p = part;
    for (int64_t i = 0; i < c->n; i++)
        r->params[0]->grad[i] += (float)p[i];
}

static void slope_grads(const struct op_run *r, pool_part_fn *fn)
{
    const struct op_slope_conf *c = r->conf;
    struct slope_state *s = r->state;
    struct op_run copy = *r;
    int64_t least = (r->in[0].rows + GRAD_PARTS - 1) / GRAD_PARTS;
    if (r->params[0]->grad)
        pool_reduce(r->env->pool, r->in[0].rows, least > GRAD_ROWS ? least : GRAD_ROWS,
                    fn, slope_join, &copy, s->parts, (size_t)c->n * sizeof(double));
}

static void prelu_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    float slope = r->params[0]->value[0];
    int64_t from, to;
    nn_cpu_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t k = from; k < to; k++) {
        const float *x = view_row(&r->in[0], k);
        float *y = view_row(&r->out[0], k);
        for (int64_t i = 0; i < r->in[0].width; i++)
            y[i] = x[i] > 0.0f ? x[i] : slope * x[i];
    }
}

static void prelu_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    float slope = r->params[0]->value[0];
    int64_t from, to;
    nn_cpu_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t k = from; r->d_in[0].data && k < to; k++) {
        const float *x = view_row(&r->in[0], k), *dy = view_row(&r->d_out[0], k);
        float *dx = view_row(&r->d_in[0], k);
        for (int64_t i = 0; i < r->in[0].width; i++)
            dx[i] += x[i] > 0.0f ? dy[i] : slope * dy[i];
    }
}

static void prelu_part(void *arg, int64_t begin, int64_t end, void *part)
{
    const struct op_run *r = arg;
    double sum = 0;
    for (int64_t k = begin; k < end; k++) {
        const float *x = view_row(&r->in[0], k), *dy = view_row(&r->d_out[0], k);
        for (int64_t i = 0; i < r->in[0].width; i++)
            sum += x[i] > 0.0f ? 0.0 : (double)x[i] * (double)dy[i];
    }
    *(double *)part = sum;
}

static void prelu_grads(const struct op_run *r)
{
    slope_grads(r, prelu_part);
}

const struct nn_cpu_op nn_cpu_prelu = {
    .flags = CPU_STRIDED,
    .setup = slope_setup,
    .teardown = slope_teardown,
    .forward = prelu_forward,
    .backward = prelu_backward,
    .grads = prelu_grads,
};

/* Dice: inputs x and z (x normalised); p = sigmoid(z), y = x * (alpha + (1 - alpha) * p).
 */
static float sigmoid(float v)
{
    return 1.0f / (1.0f + expf(-v));
}

static void dice_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct op_slope_conf *c = r->conf;
    const float *alpha = r->params[0]->value;
    int64_t from, to;
    nn_cpu_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t k = from; k < to; k++) {
        const float *x = view_row(&r->in[0], k), *z = view_row(&r->in[1], k);
        float *y = view_row(&r->out[0], k);
        for (int64_t i = 0; i < r->in[0].width; i++) {
            float a = alpha[i % c->n];
            y[i] = x[i] * (a + (1.0f - a) * sigmoid(z[i]));
        }
    }
}

static void dice_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct op_slope_conf *c = r->conf;
    const float *alpha = r->params[0]->value;
    int64_t from, to;
    nn_cpu_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t k = from; k < to; k++) {
        const float *x = view_row(&r->in[0], k), *z = view_row(&r->in[1], k);
        const float *dy = view_row(&r->d_out[0], k);
        float *dx = r->d_in[0].data ? view_row(&r->d_in[0], k) : NULL;
        float *dz = r->d_in[1].data ? view_row(&r->d_in[1], k) : NULL;
        for (int64_t i = 0; i < r->in[0].width; i++) {
            float a = alpha[i % c->n], p = sigmoid(z[i]);
            if (dx)
                dx[i] += dy[i] * (a + (1.0f - a) * p);
            if (dz)
                dz[i] += dy[i] * x[i] * (1.0f - a) * p * (1.0f - p);
        }
    }
}

static void dice_part(void *arg, int64_t begin, int64_t end, void *part)
{
    const struct op_run *r = arg;
    const struct op_slope_conf *c = r->conf;
    double *sums = part;
    memset(sums, 0, (size_t)c->n * sizeof(double));
    for (int64_t k = begin; k < end; k++) {
        const float *x = view_row(&r->in[0], k), *z = view_row(&r->in[1], k);
        const float *dy = view_row(&r->d_out[0], k);
        for (int64_t i = 0; i < r->in[0].width; i++)
            sums[i % c->n] +=
                (double)dy[i] * (double)x[i] * (1.0 - (double)sigmoid(z[i]));
    }
}

static void dice_grads(const struct op_run *r)
{
    slope_grads(r, dice_part);
}

const struct nn_cpu_op nn_cpu_dice = {
    .flags = CPU_STRIDED,
    .setup = slope_setup,
    .teardown = slope_teardown,
    .forward = dice_forward,
    .backward = dice_backward,
    .grads = dice_grads,
};
