/* SPDX-License-Identifier: Apache-2.0 */
/* What a state says of what follows it: close to what comes, far from what does not. Per
 * row the sum over positions t = 1, 2, .. of
 *
 *     softplus(-h[t - 1] . x[t]) + softplus(h[t - 1] . other[t])
 *
 * divided by the number of rows; or the same of one state of the row and several others.
 */
#include <math.h>

#include "nn/graph_private.h"
#include "nn/onnx.h"
#include "nn/ops.h"
#include "tensor/kernel.h"

enum { IN_STATE, IN_NEXT, IN_OTHER, N_IN };

static enum rc next_infer(const void *conf, const struct shape *in, int n_in,
                          struct shape *out, int64_t *keep_width, struct err *err)
{
    *keep_width = 0;
    out[0] = (struct shape){.axis = AXIS_BATCH, .n_dims = 1, .dims = {1}};
    for (int i = 0; i < n_in; i++)
        if (in[i].axis == AXIS_BATCH || in[i].axis != in[0].axis ||
            shape_width(&in[i]) != shape_width(&in[0]))
            return err_set(err, RC_INVAL, "takes values of positions of one width");
    return RC_OK;
}

static double softplus(double x)
{
    return (x > 0 ? x : 0) + log1p(exp(-fabs(x)));
}

static float score(const struct op_run *r, int input, int64_t position)
{
    return kernels()->dot(view_row(&r->in[IN_STATE], position - 1),
                          view_row(&r->in[input], position), r->in[input].width);
}

static void next_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    const int64_t *at = r->env->rows.offsets[r->in_axis[0]];
    for (int64_t b = begin; b < end; b++) {
        double sum = 0;
        for (int64_t k = at[b] + 1; k < at[b + 1]; k++)
            sum += softplus(-(double)score(r, IN_NEXT, k)) +
                   softplus((double)score(r, IN_OTHER, k));
        *view_row(&r->out[0], b) = (float)(sum / (double)op_total(r));
    }
}

/* Slope d of the score of a position. */
static void spread(const struct op_run *r, int input, int64_t position, float d)
{
    const struct view *ds = &r->d_in[IN_STATE], *dx = &r->d_in[input];
    int64_t n = r->in[input].width;
    if (ds->data)
        kernels()->axpy(view_row(ds, position - 1), d, view_row(&r->in[input], position),
                        n);
    if (dx->data)
        kernels()->axpy(view_row(dx, position), d,
                        view_row(&r->in[IN_STATE], position - 1), n);
}

static void next_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    const int64_t *at = r->env->rows.offsets[r->in_axis[0]];
    for (int64_t b = begin; b < end; b++) {
        float dy = *view_row(&r->d_out[0], b) / (float)op_total(r);
        for (int64_t k = at[b] + 1; k < at[b + 1]; k++) {
            spread(r, IN_NEXT, k, -dy / (1 + expf(score(r, IN_NEXT, k))));
            spread(r, IN_OTHER, k, dy / (1 + expf(-score(r, IN_OTHER, k))));
        }
    }
}

static const struct op_ops op_next = {.name = "next loss",
                                      .flags = OP_NEEDS_IN,
                                      .infer = next_infer,
                                      .forward = next_forward,
                                      .backward = next_backward,
                                      .onnx = onnx_nothing};

struct val *nn_next_loss(struct graph *g, struct val *states, struct val *next,
                         struct val *others)
{
    struct val *in[] = {states, next, others};
    return nn_op(g, &op_next, in, N_IN, NULL, 0, NULL, 0);
}

enum { TELL_X, TELL_HAPPENED, TELL_OTHERS, TELL_WEIGHT };

static enum rc tell_infer(const void *conf, const struct shape *in, int n_in,
                          struct shape *out, int64_t *keep_width, struct err *err)
{
    int64_t d = shape_width(&in[TELL_X]);
    *keep_width = 0;
    out[0] = (struct shape){.axis = AXIS_BATCH, .n_dims = 1, .dims = {1}};
    for (int i = 0; i < n_in; i++)
        if (in[i].axis != AXIS_BATCH)
            return err_set(err, RC_INVAL, "takes rows of the batch");
    if (shape_width(&in[TELL_HAPPENED]) != d || shape_width(&in[TELL_OTHERS]) % d ||
        shape_width(&in[TELL_WEIGHT]) != 1)
        return err_set(err, RC_INVAL, "%jd and %jd values to be told apart by %jd",
                       (intmax_t)shape_width(&in[TELL_HAPPENED]),
                       (intmax_t)shape_width(&in[TELL_OTHERS]), (intmax_t)d);
    return RC_OK;
}

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

static const struct op_ops op_tell = {.name = "tell loss",
                                      .flags = OP_NEEDS_IN,
                                      .infer = tell_infer,
                                      .forward = tell_forward,
                                      .backward = tell_backward,
                                      .onnx = onnx_nothing};

struct val *nn_tell_loss(struct graph *g, struct val *x, struct val *happened,
                         struct val *others, struct val *weights)
{
    struct val *in[] = {x, happened, others, nn_stop_gradient(g, weights)};
    return nn_op(g, &op_tell, in, 4, NULL, 0, NULL, 0);
}
