/* SPDX-License-Identifier: Apache-2.0 */
/* How the CPU runs what heads need beside layers. Logits of two events are joined through the
 * logarithms of their odds, with the shares of the three terms as slopes. The root over the
 * batch waits for all rows (sync_forward, sync_backward) and sums them in order.
 */
#include <math.h>

#include "base/mem.h"
#include "nn/cpu/cpu.h"
#include "nn/op/tasks.h"

static void rows_of(const struct op_run *r, int64_t begin, int64_t end, int64_t *from,
                    int64_t *to)
{
    nn_cpu_rows(r->env, r->out_axis[0], begin, end, from, to);
}

/* With p = sigmoid(a) sigmoid(b): p / (1 - p) = 1 / (e^-a + e^-b + e^-(a+b)). The shares
 * of the three terms are the slopes.
 */
static double both(double a, double b, double share[3])
{
    double term[] = {-a, -b, -a - b}, most = fmax(fmax(term[0], term[1]), term[2]);
    double sum = 0;
    for (int i = 0; i < 3; i++)
        sum += share[i] = exp(term[i] - most);
    for (int i = 0; i < 3; i++)
        share[i] /= sum;
    return -(most + log(sum));
}

static void both_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    int64_t from, to;
    double share[3];
    rows_of(r, begin, end, &from, &to);
    for (int64_t k = from; k < to; k++)
        *view_row(&r->out[0], k) = (float)both((double)*view_row(&r->in[0], k),
                                               (double)*view_row(&r->in[1], k), share);
}

static void both_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    int64_t from, to;
    double share[3];
    rows_of(r, begin, end, &from, &to);
    for (int64_t k = from; k < to; k++) {
        both((double)*view_row(&r->in[0], k), (double)*view_row(&r->in[1], k), share);
        double d = (double)*view_row(&r->d_out[0], k);
        for (int i = 0; i < 2; i++)
            if (r->d_in[i].data)
                *view_row(&r->d_in[i], k) += (float)(d * (share[i] + share[2]));
    }
}

const struct nn_cpu_op nn_cpu_both_logit = {
    .forward = both_forward,
    .backward = both_backward,
};

static int64_t picked(const struct op_run *r, int64_t row)
{
    double at = (double)*view_row(&r->in[1], row);
    int64_t n = r->in[0].width;
    return at >= 0 && at < (double)n ? (int64_t)at : at >= (double)n ? n - 1 : 0;
}

static void pick_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    int64_t from, to;
    rows_of(r, begin, end, &from, &to);
    for (int64_t k = from; k < to; k++)
        *view_row(&r->out[0], k) = view_row(&r->in[0], k)[picked(r, k)];
}

static void pick_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    int64_t from, to;
    rows_of(r, begin, end, &from, &to);
    for (int64_t k = from; r->d_in[0].data && k < to; k++)
        view_row(&r->d_in[0], k)[picked(r, k)] += *view_row(&r->d_out[0], k);
}

const struct nn_cpu_op nn_cpu_pick = {
    .forward = pick_forward,
    .backward = pick_backward,
};

static float share_of(const struct op_run *r)
{
    const struct op_share_conf *c = r->conf;
    return c->times ? (float)op_total(r) : 1.0f / (float)op_total(r);
}

static void share_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    int64_t from, to;
    float by = share_of(r);
    rows_of(r, begin, end, &from, &to);
    for (int64_t k = from; k < to; k++)
        *view_row(&r->out[0], k) = *view_row(&r->in[0], k) * by;
}

static void share_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    int64_t from, to;
    float by = share_of(r);
    rows_of(r, begin, end, &from, &to);
    for (int64_t k = from; r->d_in[0].data && k < to; k++)
        *view_row(&r->d_in[0], k) += *view_row(&r->d_out[0], k) * by;
}

const struct nn_cpu_op nn_cpu_batch_share = {
    .forward = share_forward,
    .backward = share_backward,
};

/* x / sqrt(sum of all x): together the root of the sum. */
struct root_state {
    double sum, slopes; /* of x; of x times the gradient */
};

static enum rc root_setup(const void *conf, const struct nn_shape *in,
                          const struct nn_shape *out, bool training, void **state,
                          struct err *err)
{
    *state = mem_calloc(1, sizeof(struct root_state));
    return RC_OK;
}

static void root_sync_forward(const struct op_run *r)
{
    struct root_state *s = r->state;
    s->sum = 0;
    for (int64_t k = 0; k < r->in[0].rows; k++)
        s->sum += (double)*view_row(&r->in[0], k);
}

static void root_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct root_state *s = r->state;
    int64_t from, to;
    double by = s->sum > 0 ? 1 / sqrt(s->sum) : 0;
    rows_of(r, begin, end, &from, &to);
    for (int64_t k = from; k < to; k++)
        *view_row(&r->out[0], k) = (float)((double)*view_row(&r->in[0], k) * by);
}

static void root_sync_backward(const struct op_run *r)
{
    struct root_state *s = r->state;
    s->slopes = 0;
    for (int64_t k = 0; k < r->in[0].rows; k++)
        s->slopes += (double)*view_row(&r->in[0], k) * (double)*view_row(&r->d_out[0], k);
}

static void root_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct root_state *s = r->state;
    int64_t from, to;
    rows_of(r, begin, end, &from, &to);
    if (!r->d_in[0].data || !(s->sum > 0))
        return;
    double by = 1 / sqrt(s->sum), less = s->slopes / (2 * s->sum) * by;
    for (int64_t k = from; k < to; k++)
        *view_row(&r->d_in[0], k) +=
            (float)((double)*view_row(&r->d_out[0], k) * by - less);
}

const struct nn_cpu_op nn_cpu_root_share = {
    .setup = root_setup,
    .teardown = mem_free,
    .sync_forward = root_sync_forward,
    .forward = root_forward,
    .sync_backward = root_sync_backward,
    .backward = root_backward,
};
