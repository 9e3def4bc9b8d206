/* SPDX-License-Identifier: Apache-2.0 */
/* Joint ranking and calibration (Sheng et al. 2023): cross entropy over the two classes,
 * and cross entropy of a row's own class over the rows of its session: a positive row
 * stands against the session's negative ones by the second logit, a negative row against
 * the positive ones by the first.
 *
 * What a row needs of its session is one sum per column, so the work grows with the rows,
 * not with their pairs. Sums are kept as logarithms, at the row whose number is the
 * session's.
 */
#include <math.h>

#include "nn/cpu/cpu.h"
#include "nn/op/jrc.h"

static double log_add(double a, double b)
{
    double max = a > b ? a : b, min = a > b ? b : a;
    return isinf(min) ? max : max + log1p(exp(min - max));
}

static int class_of(const struct op_run *r, int64_t row)
{
    return *view_row(&r->in[IN_LABEL], row) > 0.0f;
}

static float *session_of(const struct op_run *r, int64_t row)
{
    float s = *view_row(&r->in[IN_SESSION], row);
    bool known = s >= 0.0f && s < (float)r->in[0].rows; /* nobody fills it to predict */
    return view_row(&r->keep, known ? (int64_t)s : row);
}

static double weight_of(const struct op_run *r, int64_t row)
{
    return r->n_in > IN_WEIGHT ? (double)*view_row(&r->in[IN_WEIGHT], row)
                               : 1.0 / (double)op_total(r);
}

/* Log of the sum that a row's own logit is compared with, itself included. */
static double own_log(const struct op_run *r, int64_t row)
{
    int own = class_of(r, row);
    return log_add((double)view_row(&r->in[0], row)[own],
                   (double)session_of(r, row)[KEEP_LOG + own]);
}

static void jrc_sync_forward(const struct op_run *r)
{
    for (int64_t k = 0; k < r->in[0].rows; k++)
        for (int c = 0; c < 2; c++)
            view_row(&r->keep, k)[KEEP_LOG + c] = -INFINITY;
    for (int64_t k = 0; k < r->in[0].rows; k++) {
        int other = 1 - class_of(r, k);
        float *log_sum = session_of(r, k) + KEEP_LOG + other;
        *log_sum =
            (float)log_add((double)*log_sum, (double)view_row(&r->in[0], k)[other]);
    }
}

static void jrc_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct op_jrc_conf *c = r->conf;
    int64_t from, to;
    nn_cpu_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t k = from; k < to; k++) {
        const float *x = view_row(&r->in[0], k);
        double own = (double)x[class_of(r, k)], alpha = (double)c->alpha;
        double classes = log_add((double)x[0], (double)x[1]) - own;
        double ranks = own_log(r, k) - own;
        *view_row(&r->out[0], k) =
            (float)(weight_of(r, k) * (alpha * classes + (1 - alpha) * ranks));
    }
}

static void jrc_sync_backward(const struct op_run *r)
{
    const struct op_jrc_conf *c = r->conf;
    for (int64_t k = 0; k < r->in[0].rows; k++)
        for (int i = 0; i < 2; i++)
            view_row(&r->keep, k)[KEEP_SHARE + i] = 0.0f;
    for (int64_t k = 0; k < r->in[0].rows; k++) {
        float *s = session_of(r, k);
        int own = class_of(r, k);
        double d = (double)*view_row(&r->d_out[0], k) * weight_of(r, k);
        s[KEEP_SHARE + own] += (float)((1 - (double)c->alpha) * d *
                                       exp((double)s[KEEP_LOG + own] - own_log(r, k)));
    }
}

static void jrc_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct op_jrc_conf *c = r->conf;
    int64_t from, to;
    if (!r->d_in[0].data)
        return;
    nn_cpu_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t k = from; k < to; k++) {
        const float *x = view_row(&r->in[0], k), *s = session_of(r, k);
        float *dx = view_row(&r->d_in[0], k);
        int own = class_of(r, k), other = 1 - own;
        double d = (double)*view_row(&r->d_out[0], k) * weight_of(r, k);
        double alpha = (double)c->alpha, v = (double)x[own], w = (double)x[other];
        double p = exp(w - log_add(v, w)), q = exp(v - own_log(r, k));
        dx[own] += (float)(d * (-alpha * p + (1 - alpha) * (q - 1)));
        dx[other] += (float)(d * alpha * p + (double)s[KEEP_SHARE + other] *
                                                 exp(w - (double)s[KEEP_LOG + other]));
    }
}

const struct nn_cpu_op nn_cpu_jrc_loss = {
    .sync_forward = jrc_sync_forward,
    .forward = jrc_forward,
    .sync_backward = jrc_sync_backward,
    .backward = jrc_backward,
};
