/* SPDX-License-Identifier: Apache-2.0 */
/* Losses of one row each. The gradient with respect to the prediction is kept by the
 * forward pass; labels and weights get none.
 */
#include <assert.h>
#include <math.h>

#include "nn/cpu/cpu.h"
#include "nn/op/loss.h"
#include "tensor/kernel.h"

/* Value of the loss of one row; slope[n]: its derivative by each of the n predictions. */
typedef double loss_fn(const struct op_loss_conf *c, const float *x, int64_t n,
                       float label, float *slope);

static double softplus(double x)
{
    return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x));
}

static double sigmoid(double x)
{
    return x >= 0 ? 1.0 / (1.0 + exp(-x)) : exp(x) / (1.0 + exp(x));
}

static double bce(const struct op_loss_conf *c, const float *x, int64_t n, float label,
                  float *slope)
{
    double y = (double)label, v = (double)x[0];
    y = y * (1.0 - (double)c->smoothing) + (double)c->smoothing / 2;
    slope[0] = (float)(sigmoid(v) - y);
    return softplus(v) - v * y;
}

/* The focusing factor is a constant to the gradient. */
static double focal(const struct op_loss_conf *c, const float *x, int64_t n, float label,
                    float *slope)
{
    double y = (double)label, v = (double)x[0], p = sigmoid(v), gamma = (double)c->gamma;
    double w = (double)c->alpha * y * pow(1 - p, gamma) +
               (1 - (double)c->alpha) * (1 - y) * pow(p, gamma);
    slope[0] = (float)(w * (p - y));
    return w * (softplus(v) - v * y);
}

#define FEW 32 /* classes for which double costs little */

static double few_classes(double s, const float *x, int64_t n, int64_t hit, float *slope)
{
    double max = (double)x[0], sum = 0, all = 0;
    for (int64_t i = 1; i < n; i++)
        max = (double)x[i] > max ? (double)x[i] : max;
    for (int64_t i = 0; i < n; i++)
        sum += exp((double)x[i] - max);
    double log_sum = max + log(sum);
    for (int64_t i = 0; i < n; i++) {
        double target = s / (double)n + (i == hit ? 1 - s : 0);
        all += target * (log_sum - (double)x[i]);
        slope[i] = (float)(exp((double)x[i] - log_sum) - target);
    }
    return all;
}

static int64_t index_of(const float *x, int64_t n, float value)
{
    for (int64_t i = 0; i < n; i++)
        if (x[i] == value)
            return i;
    return 0; /* NaN; so is all that follows */
}

/* What the largest leaves to the others is added up without it: near a loss of nothing
 * that is what the loss consists of, and it would be lost beside 1.
 */
static double many_classes(double s, const float *x, int64_t n, int64_t hit, float *slope)
{
    const struct kernels *k = kernels();
    int64_t top = index_of(x, n, k->max(x, n));
    double most = (double)x[top], below = 0;
    k->softmax(slope, x, n, n);
    float largest = slope[top];
    slope[top] = 0;
    double rest = (double)k->sum(slope, n);
    bool clear = rest < 0.5; /* the largest has more than half */
    slope[top] = largest;
    double short_of = clear && top == hit ? rest : 1 - (double)slope[hit];
    slope[hit] = (float)(s - short_of);
    for (int64_t i = 0; s > 0 && i < n; i++) {
        below += most - (double)x[i];
        slope[i] -= (float)(s / (double)n);
    }
    return (clear ? -log1p(-rest) : -log((double)largest)) +
           (1 - s) * (most - (double)x[hit]) + s * below / (double)n;
}

static double cross_entropy(const struct op_loss_conf *c, const float *x, int64_t n,
                            float label, float *slope)
{
    int64_t hit = (int64_t)label;
    assert(hit >= 0 && hit < n);
    return n < FEW ? few_classes((double)c->smoothing, x, n, hit, slope)
                   : many_classes((double)c->smoothing, x, n, hit, slope);
}

/* The class's score above all others by a margin; at the margin itself the slope is 0. */
static double hinge(const struct op_loss_conf *c, const float *x, int64_t n, float label,
                    float *slope)
{
    int64_t hit = (int64_t)label, other = -1;
    assert(hit >= 0 && hit < n);
    for (int64_t i = 0; i < n; i++) {
        slope[i] = 0;
        if (i != hit && (other < 0 || x[i] > x[other]))
            other = i;
    }
    double v = (double)c->margin - (double)x[hit] + (other < 0 ? 0 : (double)x[other]);
    if (v <= 0)
        return 0;
    slope[hit] = -1;
    if (other >= 0)
        slope[other] = 1;
    return v;
}

static double squared(const struct op_loss_conf *c, const float *x, int64_t n,
                      float label, float *slope)
{
    double d = (double)x[0] - (double)label;
    slope[0] = (float)(2 * d);
    return d * d;
}

static void loss_rows(const struct op_run *r, int64_t begin, int64_t end, loss_fn *fn)
{
    int64_t from, to, n = r->in[0].width;
    nn_cpu_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t k = from; k < to; k++) {
        float *slope = view_row(&r->keep, k);
        float w = r->n_in == 3 ? *view_row(&r->in[2], k) : 1.0f / (float)op_total(r);
        double v = fn(r->conf, view_row(&r->in[0], k), n, *view_row(&r->in[1], k), slope);
        if (n == 1)
            slope[0] *= w;
        else
            kernels()->scale(slope, w, n);
        *view_row(&r->out[0], k) = (float)(v * (double)w);
    }
}

static void loss_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    int64_t from, to, n = r->in[0].width;
    if (!r->d_in[0].data)
        return;
    nn_cpu_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t k = from; k < to; k++) {
        const float *slope = view_row(&r->keep, k);
        float d = *view_row(&r->d_out[0], k), *dx = view_row(&r->d_in[0], k);
        if (r->d_in_fresh[0])
            kernels()->times(dx, d, slope, n);
        else
            kernels()->axpy(dx, d, slope, n);
    }
}

static void bce_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    loss_rows(r, begin, end, bce);
}

const struct nn_cpu_op nn_cpu_bce_loss = {
    .flags = CPU_WRITES,
    .forward = bce_forward,
    .backward = loss_backward,
};

static void focal_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    loss_rows(r, begin, end, focal);
}

const struct nn_cpu_op nn_cpu_focal_loss = {
    .flags = CPU_WRITES,
    .forward = focal_forward,
    .backward = loss_backward,
};

static void cross_entropy_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    loss_rows(r, begin, end, cross_entropy);
}

const struct nn_cpu_op nn_cpu_softmax_loss = {
    .flags = CPU_WRITES,
    .forward = cross_entropy_forward,
    .backward = loss_backward,
};

static void hinge_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    loss_rows(r, begin, end, hinge);
}

const struct nn_cpu_op nn_cpu_hinge_loss = {
    .flags = CPU_WRITES,
    .forward = hinge_forward,
    .backward = loss_backward,
};

static void squared_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    loss_rows(r, begin, end, squared);
}

const struct nn_cpu_op nn_cpu_l2_loss = {
    .flags = CPU_WRITES,
    .forward = squared_forward,
    .backward = loss_backward,
};
