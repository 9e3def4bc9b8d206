/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "nn/cpu/cpu.h"
#include "nn/op/softmax.h"

/* n values, `step` floats apart. */
static void softmax_values(const float *x, float *y, int64_t n, int64_t x_step,
                           int64_t y_step)
{
    float max = -INFINITY;
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        max = x[i * x_step] > max ? x[i * x_step] : max;
    for (int64_t i = 0; i < n; i++) {
        y[i * y_step] = expf(x[i * x_step] - max);
        sum += (double)y[i * y_step];
    }
    float scale = (float)(1.0 / sum);
    for (int64_t i = 0; i < n; i++)
        y[i * y_step] *= scale;
}

static void softmax_slopes(const float *y, const float *dy, float *dx, int64_t n,
                           int64_t y_step, int64_t d_step, int64_t x_step)
{
    double dot = 0;
    for (int64_t i = 0; i < n; i++)
        dot += (double)y[i * y_step] * (double)dy[i * d_step];
    for (int64_t i = 0; i < n; i++)
        dx[i * x_step] += y[i * y_step] * (dy[i * d_step] - (float)dot);
}

static void softmax_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct op_softmax_conf *c = r->conf;
    int64_t from, to;
    nn_cpu_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t k = from; k < to; k++)
        for (int64_t at = 0; at < r->in[0].width; at += c->n)
            softmax_values(view_row(&r->in[0], k) + at, view_row(&r->out[0], k) + at,
                           c->n, 1, 1);
}

static void softmax_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct op_softmax_conf *c = r->conf;
    int64_t from, to;
    if (!r->d_in[0].data)
        return;
    nn_cpu_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t k = from; k < to; k++)
        for (int64_t at = 0; at < r->in[0].width; at += c->n)
            softmax_slopes(view_row(&r->out[0], k) + at, view_row(&r->d_out[0], k) + at,
                           view_row(&r->d_in[0], k) + at, c->n, 1, 1, 1);
}

const struct nn_cpu_op nn_cpu_softmax = {
    .flags = CPU_STRIDED,
    .forward = softmax_forward,
    .backward = softmax_backward,
};

/* Positions of a row that take part; the last does not where conf says so. */
static int64_t taking_part(const struct op_run *r, int64_t b)
{
    const int64_t *at = r->env->rows.offsets[r->out_axis[0]];
    const struct op_seq_conf *c = r->conf;
    int64_t n = at[b + 1] - at[b] - (c->but_last ? 1 : 0);
    return n > 0 ? n : 0;
}

static void seq_softmax_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    const int64_t *at = r->env->rows.offsets[r->out_axis[0]];
    for (int64_t b = begin; b < end; b++) {
        int64_t n = taking_part(r, b);
        if (n > 0)
            softmax_values(view_row(&r->in[0], at[b]), view_row(&r->out[0], at[b]), n,
                           r->in[0].ld, r->out[0].ld);
        for (int64_t k = at[b] + n; k < at[b + 1]; k++)
            *view_row(&r->out[0], k) = 0.0f;
    }
}

static void seq_softmax_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    const int64_t *at = r->env->rows.offsets[r->out_axis[0]];
    for (int64_t b = begin; r->d_in[0].data && b < end; b++)
        softmax_slopes(view_row(&r->out[0], at[b]), view_row(&r->d_out[0], at[b]),
                       view_row(&r->d_in[0], at[b]), taking_part(r, b), r->out[0].ld,
                       r->d_out[0].ld, r->d_in[0].ld);
}

const struct nn_cpu_op nn_cpu_seq_softmax = {
    .flags = CPU_STRIDED,
    .forward = seq_softmax_forward,
    .backward = seq_softmax_backward,
};

const struct nn_cpu_op nn_cpu_seq_softmax_before = {
    .flags = CPU_STRIDED,
    .forward = seq_softmax_forward,
    .backward = seq_softmax_backward,
};

static void l2_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct op_l2_conf *c = r->conf;
    int64_t from, to;
    nn_cpu_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t k = from; k < to; k++) {
        const float *x = view_row(&r->in[0], k);
        float *y = view_row(&r->out[0], k);
        double sum = 0;
        for (int64_t i = 0; i < r->in[0].width; i++)
            sum += (double)x[i] * (double)x[i];
        double length = sqrt(sum) > (double)c->eps ? sqrt(sum) : (double)c->eps;
        *view_row(&r->keep, k) = (float)(1.0 / length);
        for (int64_t i = 0; i < r->in[0].width; i++)
            y[i] = (float)((double)x[i] / length);
    }
}

static void l2_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct op_l2_conf *c = r->conf;
    int64_t from, to;
    if (!r->d_in[0].data)
        return;
    nn_cpu_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t k = from; k < to; k++) {
        const float *y = view_row(&r->out[0], k), *dy = view_row(&r->d_out[0], k);
        float *dx = view_row(&r->d_in[0], k), inv = *view_row(&r->keep, k);
        double dot = 0;
        for (int64_t i = 0; i < r->in[0].width; i++)
            dot += (double)y[i] * (double)dy[i];
        if (inv >= 1.0f / c->eps)
            dot = 0; /* a row shorter than eps is only scaled */
        for (int64_t i = 0; i < r->in[0].width; i++)
            dx[i] += (dy[i] - y[i] * (float)dot) * inv;
    }
}

const struct nn_cpu_op nn_cpu_l2_normalise = {
    .flags = CPU_STRIDED,
    .forward = l2_forward,
    .backward = l2_backward,
};
