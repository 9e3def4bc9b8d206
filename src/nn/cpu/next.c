/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "nn/cpu/cpu.h"
#include "nn/op/next.h"
#include "tensor/kernel.h"

static double softplus(double x)
{
    return (x > 0 ? x : 0) + log1p(exp(-fabs(x)));
}

static float score(const struct op_run *r, int input, int64_t position)
{
    return kernels()->dot(view_row(&r->in[NEXT_IN_STATE], position - 1),
                          view_row(&r->in[input], position), r->in[input].width);
}

static void next_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    const int64_t *at = r->env->rows.offsets[r->in_axis[0]];
    for (int64_t b = begin; b < end; b++) {
        double sum = 0;
        for (int64_t k = at[b] + 1; k < at[b + 1]; k++)
            sum += softplus(-(double)score(r, NEXT_IN_NEXT, k)) +
                   softplus((double)score(r, NEXT_IN_OTHER, k));
        *view_row(&r->out[0], b) = (float)(sum / (double)op_total(r));
    }
}

/* Slope d of the score of a position. */
static void spread(const struct op_run *r, int input, int64_t position, float d)
{
    const struct view *ds = &r->d_in[NEXT_IN_STATE], *dx = &r->d_in[input];
    int64_t n = r->in[input].width;
    if (ds->data)
        kernels()->axpy(view_row(ds, position - 1), d, view_row(&r->in[input], position),
                        n);
    if (dx->data)
        kernels()->axpy(view_row(dx, position), d,
                        view_row(&r->in[NEXT_IN_STATE], position - 1), n);
}

static void next_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    const int64_t *at = r->env->rows.offsets[r->in_axis[0]];
    for (int64_t b = begin; b < end; b++) {
        float dy = *view_row(&r->d_out[0], b) / (float)op_total(r);
        for (int64_t k = at[b] + 1; k < at[b + 1]; k++) {
            spread(r, NEXT_IN_NEXT, k, -dy / (1 + expf(score(r, NEXT_IN_NEXT, k))));
            spread(r, NEXT_IN_OTHER, k, dy / (1 + expf(-score(r, NEXT_IN_OTHER, k))));
        }
    }
}

const struct nn_cpu_op nn_cpu_next_loss = {
    .forward = next_forward,
    .backward = next_backward,
};

static void tell_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    int64_t d = r->in[TELL_X].width;
    for (int64_t b = begin; b < end; b++) {
        const float *x = view_row(&r->in[TELL_X], b);
        const float *others = view_row(&r->in[TELL_OTHERS], b);
        double weight = (double)*view_row(&r->in[TELL_WEIGHT], b);
        double sum =
            softplus(-(double)kernels()->dot(x, view_row(&r->in[TELL_HAPPENED], b), d));
        for (int64_t k = 0; k < r->in[TELL_OTHERS].width; k += d)
            sum += softplus((double)kernels()->dot(x, others + k, d));
        *view_row(&r->out[0], b) = (float)(weight * sum / (double)op_total(r));
    }
}

/* Slope d of x . y, where y begins at `col` of an input. */
static void tell_spread(const struct op_run *r, int64_t b, int input, int64_t col,
                        float d)
{
    int64_t n = r->in[TELL_X].width;
    if (r->d_in[TELL_X].data)
        kernels()->axpy(view_row(&r->d_in[TELL_X], b), d,
                        view_row(&r->in[input], b) + col, n);
    if (r->d_in[input].data)
        kernels()->axpy(view_row(&r->d_in[input], b) + col, d,
                        view_row(&r->in[TELL_X], b), n);
}

static void tell_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    int64_t n = r->in[TELL_X].width;
    for (int64_t b = begin; b < end; b++) {
        const float *x = view_row(&r->in[TELL_X], b);
        float dy = *view_row(&r->d_out[0], b) * *view_row(&r->in[TELL_WEIGHT], b) /
                   (float)op_total(r);
        float s = kernels()->dot(x, view_row(&r->in[TELL_HAPPENED], b), n);
        tell_spread(r, b, TELL_HAPPENED, 0, -dy / (1 + expf(s)));
        for (int64_t k = 0; k < r->in[TELL_OTHERS].width; k += n) {
            s = kernels()->dot(x, view_row(&r->in[TELL_OTHERS], b) + k, n);
            tell_spread(r, b, TELL_OTHERS, k, dy / (1 + expf(-s)));
        }
    }
}

const struct nn_cpu_op nn_cpu_tell_loss = {
    .forward = tell_forward,
    .backward = tell_backward,
};
