/* SPDX-License-Identifier: Apache-2.0 */
/* How the CPU compares rows with rows. The contrast of a batch is a matrix of scores that is
 * not kept: each row keeps its loss, and scores are made again on the way back.
 * Gradients of rows come from one loop over rows, those of targets from one over targets; each
 * is summed by one thread in the order of the batch.
 */
#include <math.h>

#include "nn/cpu/cpu.h"
#include "nn/op/distance.h"
#include "tensor/kernel.h"

#define COS_EPS 1e-8
#define CONTRAST_GRAIN 16

static double length_of(const float *x, int64_t n)
{
    double size = sqrt(kernels()->sum_squares(x, n));
    return size > COS_EPS ? size : COS_EPS;
}

static double distance_of(enum nn_distance kind, const float *a, const float *b,
                          int64_t n)
{
    double sum = 0;
    if (kind == DISTANCE_COS)
        return 1 - (double)kernels()->dot(a, b, n) / length_of(a, n) / length_of(b, n);
    for (int64_t i = 0; i < n; i++) {
        double d = (double)a[i] - (double)b[i];
        sum += kind == DISTANCE_L1 ? fabs(d) : d * d;
    }
    return sum / (double)n;
}

static void distance_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct op_distance_conf *c = r->conf;
    int64_t from, to;
    nn_cpu_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t k = from; k < to; k++)
        *view_row(&r->out[0], k) = (float)distance_of(
            c->kind, view_row(&r->in[0], k), view_row(&r->in[1], k), r->in[0].width);
}

/* da += dy * the derivative by a. */
static void distance_slope(enum nn_distance kind, const float *a, const float *b,
                           double dy, int64_t n, float *da)
{
    if (kind == DISTANCE_COS) {
        double la = length_of(a, n), lb = length_of(b, n);
        double cosine = (double)kernels()->dot(a, b, n) / la / lb;
        kernels()->axpy(da, (float)(-dy / la / lb), b, n);
        kernels()->axpy(da, (float)(dy * cosine / la / la), a, n);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        double d = (double)a[i] - (double)b[i];
        double slope = kind == DISTANCE_L2 ? 2 * d : (double)((d > 0) - (d < 0));
        da[i] += (float)(dy * slope / (double)n);
    }
}

static void distance_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct op_distance_conf *c = r->conf;
    int64_t from, to;
    nn_cpu_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t k = from; k < to; k++)
        for (int i = 0; i < 2; i++)
            if (r->d_in[i].data)
                distance_slope(c->kind, view_row(&r->in[i], k),
                               view_row(&r->in[1 - i], k),
                               (double)*view_row(&r->d_out[0], k), r->in[0].width,
                               view_row(&r->d_in[i], k));
}

const struct nn_cpu_op nn_cpu_distance = {
    .forward = distance_forward,
    .backward = distance_backward,
};

static bool is_flagged(const struct view *flags, int64_t row)
{
    return *view_row(flags, row) > 0.5f;
}

static void flagged_sync_forward(const struct op_run *r)
{
    const struct op_flagged_conf *c = r->conf;
    int64_t n = 0;
    for (int64_t k = 0; k < r->in[0].rows; k++)
        n += is_flagged(&r->in[1], k) == c->above;
    for (int64_t k = 0; k < r->in[0].rows; k++)
        *view_row(&r->keep, k) =
            is_flagged(&r->in[1], k) == c->above ? 1.0f / (float)n : 0.0f;
}

static void flagged_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    int64_t from, to;
    nn_cpu_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t k = from; k < to; k++)
        *view_row(&r->out[0], k) = *view_row(&r->in[0], k) * *view_row(&r->keep, k);
}

static void flagged_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    int64_t from, to;
    if (!r->d_in[0].data)
        return;
    nn_cpu_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t k = from; k < to; k++)
        *view_row(&r->d_in[0], k) += *view_row(&r->d_out[0], k) * *view_row(&r->keep, k);
}

const struct nn_cpu_op nn_cpu_flagged_share = {
    .sync_forward = flagged_sync_forward,
    .forward = flagged_forward,
    .backward = flagged_backward,
};

/* --- contrast --- */

static double scale_of(const struct op_run *r)
{
    double s = (double)r->params[0]->value[0];
    return exp(s < CONTRAST_SCALE_MAX ? s : CONTRAST_SCALE_MAX);
}

static double score_of(const struct op_run *r, int side, int64_t row, int64_t target)
{
    return scale_of(r) * (double)kernels()->dot(view_row(&r->in[2 * side], row),
                                                view_row(&r->in[2 * side + 1], target),
                                                r->in[0].width);
}

static void contrast_rows(void *arg, int64_t begin, int64_t end, int64_t chunk)
{
    const struct op_run *r = arg;
    for (int64_t i = begin; i < end; i++)
        for (int side = 0; side < 2 && is_flagged(&r->in[CONTRAST_FLAG], i); side++) {
            double most = -INFINITY, sum = 0;
            for (int64_t j = 0; j < r->in[0].rows; j++) {
                if (!is_flagged(&r->in[CONTRAST_FLAG], j))
                    continue;
                double s = score_of(r, side, i, j);
                sum = s > most ? sum * exp(most - s) + 1 : sum + exp(s - most);
                most = s > most ? s : most;
            }
            view_row(&r->keep, i)[side] =
                (float)(most + log(sum) - score_of(r, side, i, i));
        }
}

static int64_t flagged_rows(const struct op_run *r)
{
    int64_t n = 0;
    for (int64_t k = 0; k < r->in[0].rows; k++)
        n += is_flagged(&r->in[CONTRAST_FLAG], k);
    return n > 0 ? n : 1;
}

static void contrast_sync_forward(const struct op_run *r)
{
    struct op_run copy = *r;
    pool_for(r->env->pool, r->in[0].rows, CONTRAST_GRAIN, contrast_rows, &copy);
}

static void contrast_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    double by = 0.5 / (double)flagged_rows(r);
    int64_t from, to;
    nn_cpu_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t i = from; i < to; i++) {
        const float *k = view_row(&r->keep, i);
        bool counts = is_flagged(&r->in[CONTRAST_FLAG], i);
        *view_row(&r->out[0], i) =
            counts ? (float)(by * ((double)k[0] + (double)k[1])) : 0.0f;
    }
}

/* The gradient of the score of row i and target j. */
static double contrast_slope(const struct op_run *r, int side, int64_t i, int64_t j,
                             double score)
{
    double rest = (double)view_row(&r->keep, i)[side], d = expm1(-rest);
    if (i != j)
        d = exp(score - score_of(r, side, i, i) - rest);
    return (double)*view_row(&r->d_out[0], i) * 0.5 * d;
}

/* All rows of the gradient of the output are there: each row's own follows from all of them. */
static void contrast_sync_backward(const struct op_run *r)
{
}

/* Rows as what is compared, and as targets. */
static void contrast_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    double by = scale_of(r) / (double)flagged_rows(r);
    int64_t from, to;
    nn_cpu_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t i = from; i < to; i++)
        for (int64_t j = 0; j < r->in[0].rows; j++) {
            if (!is_flagged(&r->in[CONTRAST_FLAG], i) ||
                !is_flagged(&r->in[CONTRAST_FLAG], j))
                continue;
            for (int side = 0; side < 2; side++) {
                int own = 2 * side, other = own + 1;
                double d = contrast_slope(r, side, i, j, score_of(r, side, i, j));
                double e = contrast_slope(r, side, j, i, score_of(r, side, j, i));
                if (r->d_in[own].data)
                    kernels()->axpy(view_row(&r->d_in[own], i), (float)(by * d),
                                    view_row(&r->in[other], j), r->in[0].width);
                if (r->d_in[other].data)
                    kernels()->axpy(view_row(&r->d_in[other], i), (float)(by * e),
                                    view_row(&r->in[own], j), r->in[0].width);
            }
        }
}

struct contrast {
    const struct op_run *r;
    double by;
};

static double scale_rows(void *arg, int64_t begin, int64_t end)
{
    const struct contrast *c = arg;
    const struct op_run *r = c->r;
    double sum = 0;
    for (int64_t i = begin; i < end; i++)
        for (int64_t j = 0; j < r->in[0].rows; j++)
            for (int side = 0; side < 2 && is_flagged(&r->in[CONTRAST_FLAG], i) &&
                               is_flagged(&r->in[CONTRAST_FLAG], j);
                 side++) {
                double s = score_of(r, side, i, j);
                sum += c->by * contrast_slope(r, side, i, j, s) * s;
            }
    return sum;
}

static void contrast_grads(const struct op_run *r)
{
    enum { PARTS = 256 };
    double parts[PARTS];
    struct contrast c = {.r = r, .by = 1.0 / (double)flagged_rows(r)};
    int64_t grain = (r->in[0].rows + PARTS - 1) / PARTS;
    if (!r->params[0]->grad || (double)r->params[0]->value[0] > CONTRAST_SCALE_MAX)
        return;
    r->params[0]->grad[0] += (float)pool_sum(
        r->env->pool, r->in[0].rows, grain > 0 ? grain : 1, scale_rows, &c, parts);
}

const struct nn_cpu_op nn_cpu_contrast_loss = {
    .sync_forward = contrast_sync_forward,
    .forward = contrast_forward,
    .sync_backward = contrast_sync_backward,
    .backward = contrast_backward,
    .grads = contrast_grads,
};
