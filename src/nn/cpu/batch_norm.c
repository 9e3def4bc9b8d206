/* SPDX-License-Identifier: Apache-2.0 */
/* Batch norm over the last dimension. The statistics need all rows, so the executor waits
 * for them (sync_forward, sync_backward); they are summed over fixed parts of the rows,
 * in order.
 *
 * A padded sequence has a second input: a row of it stands for all padded positions of
 * one row of the batch, since those are all alike. It counts as often as there are of
 * them, and its gradient is the sum of theirs.
 */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "nn/cpu/cpu.h"
#include "nn/op/batch_norm.h"

#define MOMENTUM 0.1
#define PARTS_MAX 64
#define PART_ROWS 256

/* Sums over the rows: of two things per channel. */
struct norm_state {
    double *parts;         /* [PARTS_MAX][2 * n] */
    double *sums;          /* [2 * n] */
    float *mean, *inv;     /* [n]: of this batch, or running */
    float *d_mean, *d_dot; /* [n]: means of dy and of dy * xhat */
    int64_t longest;       /* positions of the longest row, when there is padding */
};

static void norm_teardown(void *state)
{
    struct norm_state *s = state;
    mem_free(s->parts);
    mem_free(s->sums);
    mem_free(s->mean);
    mem_free(s);
}

static enum rc norm_setup(const void *conf, const struct nn_shape *in,
                          const struct nn_shape *out, bool training, void **state,
                          struct err *err)
{
    const struct op_norm_conf *c = conf;
    size_t n = (size_t)c->n;
    struct norm_state *s = mem_calloc(1, sizeof(*s));
    s->parts = mem_try_calloc(PARTS_MAX * 2 * n, sizeof(double));
    s->sums = mem_try_calloc(2 * n, sizeof(double));
    s->mean = mem_try_calloc(4 * n, sizeof(float));
    if (!s->parts || !s->sums || !s->mean) {
        norm_teardown(s);
        return err_set(err, RC_NOMEM, "no memory for statistics of %jd channels",
                       (intmax_t)c->n);
    }
    s->inv = s->mean + n;
    s->d_mean = s->inv + n;
    s->d_dot = s->d_mean + n;
    *state = s;
    return RC_OK;
}

/* Channels lie n apart: a row of [t, n] is t samples. */
struct sums {
    const struct op_run *r;
    const struct norm_state *s;
    int64_t n;
    int which; /* input */
};

/* How many positions a row of input `which` stands for. */
static int64_t copies(const struct op_run *r, int which, int64_t row)
{
    const struct norm_state *s = r->state;
    const int64_t *at = r->env->rows.offsets[r->in_axis[0]];
    return which == 0 ? 1 : s->longest - (at[row + 1] - at[row]);
}

static int64_t part_rows(int64_t rows)
{
    int64_t least = (rows + PARTS_MAX - 1) / PARTS_MAX;
    return least > PART_ROWS ? least : PART_ROWS;
}

static void join_sums(void *arg, const void *part)
{
    const struct sums *a = arg;
    const double *p = part;
    for (int64_t i = 0; i < 2 * a->n; i++)
        a->s->sums[i] += p[i];
}

static void reduce(const struct op_run *r, int n_views, pool_part_fn *fn)
{
    const struct op_norm_conf *c = r->conf;
    struct norm_state *s = r->state;
    memset(s->sums, 0, (size_t)(2 * c->n) * sizeof(double));
    for (int i = 0; i < n_views; i++) {
        struct sums a = {r, s, c->n, i};
        pool_reduce(r->env->pool, r->in[i].rows, part_rows(r->in[i].rows), fn, join_sums,
                    &a, s->parts, (size_t)(2 * c->n) * sizeof(double));
    }
}

static void sum_part(void *arg, int64_t begin, int64_t end, void *part)
{
    const struct sums *a = arg;
    double *p = part;
    memset(p, 0, (size_t)(2 * a->n) * sizeof(double));
    for (int64_t r = begin; r < end; r++) {
        const float *x = view_row(&a->r->in[a->which], r);
        double times = (double)copies(a->r, a->which, r);
        for (int64_t i = 0; i < a->r->in[0].width; i++)
            p[i % a->n] += times * (double)x[i];
    }
}

/* Around the mean, which is exact by then. */
static void square_part(void *arg, int64_t begin, int64_t end, void *part)
{
    const struct sums *a = arg;
    double *p = part;
    memset(p, 0, (size_t)(2 * a->n) * sizeof(double));
    for (int64_t r = begin; r < end; r++) {
        const float *x = view_row(&a->r->in[a->which], r);
        double times = (double)copies(a->r, a->which, r);
        for (int64_t i = 0; i < a->r->in[0].width; i++) {
            double d = (double)x[i] - (double)a->s->mean[i % a->n];
            p[i % a->n] += times * d * d;
        }
    }
}

static double sample_count(const struct op_run *r)
{
    const struct op_norm_conf *c = r->conf;
    const struct norm_state *s = r->state;
    int64_t rows = r->n_in == 2 ? r->in[1].rows * s->longest : r->in[0].rows;
    return (double)(rows * (r->in[0].width / c->n));
}

static int64_t longest_row(const struct op_run *r)
{
    const int64_t *at = r->env->rows.offsets[r->in_axis[0]];
    int64_t most = 0;
    for (int64_t b = 0; b < r->in[1].rows; b++)
        most = at[b + 1] - at[b] > most ? at[b + 1] - at[b] : most;
    return most;
}

static void norm_sync_forward(const struct op_run *r)
{
    const struct op_norm_conf *c = r->conf;
    struct norm_state *s = r->state;
    s->longest = r->n_in == 2 ? longest_row(r) : 0;
    double count = sample_count(r);
    float *running_mean = r->params[BATCH_NORM_MEAN]->value;
    float *running_var = r->params[BATCH_NORM_VAR]->value;
    if (!r->env->training || count == 0) {
        for (int64_t i = 0; i < c->n; i++) {
            s->mean[i] = running_mean[i];
            s->inv[i] = (float)(1.0 / sqrt((double)running_var[i] + EPS));
        }
        return;
    }
    reduce(r, r->n_in, sum_part);
    for (int64_t i = 0; i < c->n; i++)
        s->mean[i] = (float)(s->sums[i] / count);
    reduce(r, r->n_in, square_part);
    for (int64_t i = 0; i < c->n; i++) {
        double var = s->sums[i] / count;
        double unbiased = count > 1 ? s->sums[i] / (count - 1) : var;
        s->inv[i] = (float)(1.0 / sqrt(var + EPS));
        running_mean[i] +=
            (float)(MOMENTUM * ((double)s->mean[i] - (double)running_mean[i]));
        running_var[i] += (float)(MOMENTUM * (unbiased - (double)running_var[i]));
    }
    r->params[BATCH_NORM_COUNT]->value[0] += 1.0f;
}

static void norm_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct op_norm_conf *c = r->conf;
    const struct norm_state *s = r->state;
    const float *w = c->affine ? r->params[BATCH_NORM_WEIGHT]->value : NULL;
    const float *b = c->affine ? r->params[BATCH_NORM_BIAS]->value : NULL;
    for (int which = 0; which < r->n_out; which++) {
        int64_t from, to;
        nn_cpu_rows(r->env, r->out_axis[which], begin, end, &from, &to);
        for (int64_t k = from; k < to; k++) {
            const float *x = view_row(&r->in[which], k);
            float *y = view_row(&r->out[which], k);
            for (int64_t i = 0; i < r->in[0].width; i++) {
                int64_t ch = i % c->n;
                float v = (x[i] - s->mean[ch]) * s->inv[ch];
                y[i] = w ? v * w[ch] + b[ch] : v;
            }
        }
    }
}

/* Sums of dy and of dy * xhat. */
static void gradient_part(void *arg, int64_t begin, int64_t end, void *part)
{
    const struct sums *a = arg;
    const struct norm_state *s = a->s;
    double *p = part;
    memset(p, 0, (size_t)(2 * a->n) * sizeof(double));
    for (int64_t r = begin; r < end; r++) {
        const float *x = view_row(&a->r->in[a->which], r);
        const float *dy = view_row(&a->r->d_out[a->which], r);
        for (int64_t i = 0; i < a->r->in[0].width; i++) {
            int64_t ch = i % a->n;
            p[ch] += (double)dy[i];
            p[a->n + ch] += (double)dy[i] * (double)((x[i] - s->mean[ch]) * s->inv[ch]);
        }
    }
}

static void norm_sync_backward(const struct op_run *r)
{
    const struct op_norm_conf *c = r->conf;
    struct norm_state *s = r->state;
    double count = sample_count(r);
    reduce(r, r->n_out, gradient_part);
    for (int64_t i = 0; i < c->n; i++) {
        bool fixed = !r->env->training || count == 0;
        s->d_mean[i] = fixed ? 0.0f : (float)(s->sums[i] / count);
        s->d_dot[i] = fixed ? 0.0f : (float)(s->sums[c->n + i] / count);
    }
}

static void backward_rows(const struct op_run *r, int which, int64_t from, int64_t to)
{
    const struct op_norm_conf *c = r->conf;
    const struct norm_state *s = r->state;
    const float *w = c->affine ? r->params[BATCH_NORM_WEIGHT]->value : NULL;
    for (int64_t k = from; k < to; k++) {
        const float *x = view_row(&r->in[which], k);
        const float *dy = which < r->n_out ? view_row(&r->d_out[which], k) : NULL;
        float *dx = view_row(&r->d_in[which], k);
        float times = (float)copies(r, which, k);
        for (int64_t i = 0; i < r->in[0].width; i++) {
            int64_t ch = i % c->n;
            float hat = (x[i] - s->mean[ch]) * s->inv[ch];
            float d = (dy ? dy[i] : 0.0f) - times * (s->d_mean[ch] + hat * s->d_dot[ch]);
            dx[i] += d * s->inv[ch] * (w ? w[ch] : 1.0f);
        }
    }
}

static void norm_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    for (int which = 0; which < r->n_in; which++) {
        int64_t from, to;
        nn_cpu_rows(r->env, r->in_axis[which], begin, end, &from, &to);
        if (r->d_in[which].data)
            backward_rows(r, which, from, to);
    }
}

static void norm_grads(const struct op_run *r)
{
    const struct op_norm_conf *c = r->conf;
    const struct norm_state *s = r->state;
    for (int64_t i = 0; c->affine && i < c->n; i++) {
        if (r->params[BATCH_NORM_WEIGHT]->grad)
            r->params[BATCH_NORM_WEIGHT]->grad[i] += (float)s->sums[c->n + i];
        if (r->params[BATCH_NORM_BIAS]->grad)
            r->params[BATCH_NORM_BIAS]->grad[i] += (float)s->sums[i];
    }
}

const struct nn_cpu_op nn_cpu_batch_norm = {
    .flags = CPU_STRIDED | CPU_SYNC_TRAINING,
    .setup = norm_setup,
    .teardown = norm_teardown,
    .sync_forward = norm_sync_forward,
    .forward = norm_forward,
    .sync_backward = norm_sync_backward,
    .backward = norm_backward,
    .grads = norm_grads,
};
