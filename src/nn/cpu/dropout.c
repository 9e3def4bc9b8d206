/* SPDX-License-Identifier: Apache-2.0 */
/* Dropout. The mask is a function of (seed, op, step, row): backward draws it again. */
#include "nn/op/dropout.h"
#include "base/rng.h"
#include "nn/cpu/cpu.h"

/* y (+)= x * mask */
static void masked_row(const struct op_run *r, int64_t row, const float *x, float *y,
                       bool add)
{
    const struct op_dropout_conf *c = r->conf;
    struct rng rng;
    rng_init(&rng, r->env->seed, r->id + 1, r->env->step, (uint64_t)row);
    for (int64_t i = 0; i < r->in[0].width; i++) {
        float v = rng_u32(&rng) < c->below ? 0.0f : x[i] * c->scale;
        y[i] = add ? y[i] + v : v;
    }
}

static void plain_row(const float *x, float *y, int64_t n, bool add)
{
    for (int64_t i = 0; i < n; i++)
        y[i] = add ? y[i] + x[i] : x[i];
}

static void dropout_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    int64_t from, to;
    nn_cpu_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t k = from; k < to; k++) {
        if (r->env->training)
            masked_row(r, k, view_row(&r->in[0], k), view_row(&r->out[0], k), false);
        else
            plain_row(view_row(&r->in[0], k), view_row(&r->out[0], k), r->in[0].width,
                      false);
    }
}

static void dropout_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    int64_t from, to;
    if (!r->d_in[0].data)
        return;
    nn_cpu_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t k = from; k < to; k++) {
        if (r->env->training)
            masked_row(r, k, view_row(&r->d_out[0], k), view_row(&r->d_in[0], k), true);
        else
            plain_row(view_row(&r->d_out[0], k), view_row(&r->d_in[0], k), r->in[0].width,
                      true);
    }
}

const struct nn_cpu_op nn_cpu_dropout = {
    .flags = CPU_STRIDED,
    .forward = dropout_forward,
    .backward = dropout_backward,
};
