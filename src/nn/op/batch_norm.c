/* SPDX-License-Identifier: Apache-2.0 */
/* Batch norm over the last dimension. The statistics need all rows, so the executor waits
 * for them (sync_forward, sync_backward); they are summed over fixed parts of the rows,
 * in order.
 */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "nn/graph_private.h"
#include "nn/ops.h"

#define EPS 1e-5
#define MOMENTUM 0.1
#define PARTS_MAX 64
#define PART_ROWS 256

struct norm_conf {
    bool affine;
    int64_t n;
};

/* Sums over the rows: of two things per channel. */
struct norm_state {
    double *parts;         /* [PARTS_MAX][2 * n] */
    double *sums;          /* [2 * n] */
    float *mean, *inv;     /* [n]: of this batch, or running */
    float *d_mean, *d_dot; /* [n]: means of dy and of dy * xhat */
};

enum { PARAM_MEAN, PARAM_VAR, PARAM_COUNT, PARAM_WEIGHT, PARAM_BIAS };

static enum rc norm_infer(const void *conf, const struct shape *in, int n_in,
                          struct shape *out, int64_t *keep_width, struct err *err)
{
    out[0] = in[0];
    *keep_width = 0;
    return RC_OK;
}

static void norm_teardown(void *state)
{
    struct norm_state *s = state;
    mem_free(s->parts);
    mem_free(s->sums);
    mem_free(s->mean);
    mem_free(s);
}

static enum rc norm_setup(const void *conf, const struct shape *in,
                          const struct shape *out, bool training, void **state,
                          struct err *err)
{
    const struct norm_conf *c = conf;
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
};

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

static void reduce(const struct op_run *r, pool_part_fn *fn)
{
    const struct norm_conf *c = r->conf;
    struct norm_state *s = r->state;
    struct sums a = {r, s, c->n};
    memset(s->sums, 0, (size_t)(2 * c->n) * sizeof(double));
    pool_reduce(r->env->pool, r->in[0].rows, part_rows(r->in[0].rows), fn, join_sums, &a,
                s->parts, (size_t)(2 * c->n) * sizeof(double));
}

static void sum_part(void *arg, int64_t begin, int64_t end, void *part)
{
    const struct sums *a = arg;
    double *p = part;
    memset(p, 0, (size_t)(2 * a->n) * sizeof(double));
    for (int64_t r = begin; r < end; r++) {
        const float *x = view_row(&a->r->in[0], r);
        for (int64_t i = 0; i < a->r->in[0].width; i++)
            p[i % a->n] += (double)x[i];
    }
}

/* Around the mean, which is exact by then. */
static void square_part(void *arg, int64_t begin, int64_t end, void *part)
{
    const struct sums *a = arg;
    double *p = part;
    memset(p, 0, (size_t)(2 * a->n) * sizeof(double));
    for (int64_t r = begin; r < end; r++) {
        const float *x = view_row(&a->r->in[0], r);
        for (int64_t i = 0; i < a->r->in[0].width; i++) {
            double d = (double)x[i] - (double)a->s->mean[i % a->n];
            p[i % a->n] += d * d;
        }
    }
}

static double sample_count(const struct op_run *r)
{
    const struct norm_conf *c = r->conf;
    return (double)(r->in[0].rows * (r->in[0].width / c->n));
}

static void norm_sync_forward(const struct op_run *r)
{
    const struct norm_conf *c = r->conf;
    struct norm_state *s = r->state;
    double count = sample_count(r);
    float *running_mean = r->params[PARAM_MEAN]->value;
    float *running_var = r->params[PARAM_VAR]->value;
    if (!r->env->training || count == 0) {
        for (int64_t i = 0; i < c->n; i++) {
            s->mean[i] = running_mean[i];
            s->inv[i] = (float)(1.0 / sqrt((double)running_var[i] + EPS));
        }
        return;
    }
    reduce(r, sum_part);
    for (int64_t i = 0; i < c->n; i++)
        s->mean[i] = (float)(s->sums[i] / count);
    reduce(r, square_part);
    for (int64_t i = 0; i < c->n; i++) {
        double var = s->sums[i] / count;
        double unbiased = count > 1 ? s->sums[i] / (count - 1) : var;
        s->inv[i] = (float)(1.0 / sqrt(var + EPS));
        running_mean[i] +=
            (float)(MOMENTUM * ((double)s->mean[i] - (double)running_mean[i]));
        running_var[i] += (float)(MOMENTUM * (unbiased - (double)running_var[i]));
    }
    r->params[PARAM_COUNT]->value[0] += 1.0f;
}

static void norm_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct norm_conf *c = r->conf;
    const struct norm_state *s = r->state;
    const float *w = c->affine ? r->params[PARAM_WEIGHT]->value : NULL;
    const float *b = c->affine ? r->params[PARAM_BIAS]->value : NULL;
    int64_t from, to;
    op_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t k = from; k < to; k++) {
        const float *x = view_row(&r->in[0], k);
        float *y = view_row(&r->out[0], k);
        for (int64_t i = 0; i < r->in[0].width; i++) {
            int64_t ch = i % c->n;
            float v = (x[i] - s->mean[ch]) * s->inv[ch];
            y[i] = w ? v * w[ch] + b[ch] : v;
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
        const float *x = view_row(&a->r->in[0], r), *dy = view_row(&a->r->d_out[0], r);
        for (int64_t i = 0; i < a->r->in[0].width; i++) {
            int64_t ch = i % a->n;
            p[ch] += (double)dy[i];
            p[a->n + ch] += (double)dy[i] * (double)((x[i] - s->mean[ch]) * s->inv[ch]);
        }
    }
}

static void norm_sync_backward(const struct op_run *r)
{
    const struct norm_conf *c = r->conf;
    struct norm_state *s = r->state;
    double count = sample_count(r);
    reduce(r, gradient_part);
    for (int64_t i = 0; i < c->n; i++) {
        bool fixed = !r->env->training || count == 0;
        s->d_mean[i] = fixed ? 0.0f : (float)(s->sums[i] / count);
        s->d_dot[i] = fixed ? 0.0f : (float)(s->sums[c->n + i] / count);
    }
}

static void norm_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct norm_conf *c = r->conf;
    const struct norm_state *s = r->state;
    const float *w = c->affine ? r->params[PARAM_WEIGHT]->value : NULL;
    int64_t from, to;
    if (!r->d_in[0].data)
        return;
    op_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t k = from; k < to; k++) {
        const float *x = view_row(&r->in[0], k), *dy = view_row(&r->d_out[0], k);
        float *dx = view_row(&r->d_in[0], k);
        for (int64_t i = 0; i < r->in[0].width; i++) {
            int64_t ch = i % c->n;
            float hat = (x[i] - s->mean[ch]) * s->inv[ch];
            float d = dy[i] - s->d_mean[ch] - hat * s->d_dot[ch];
            dx[i] += d * s->inv[ch] * (w ? w[ch] : 1.0f);
        }
    }
}

static void norm_grads(const struct op_run *r)
{
    const struct norm_conf *c = r->conf;
    const struct norm_state *s = r->state;
    for (int64_t i = 0; c->affine && i < c->n; i++) {
        if (r->params[PARAM_WEIGHT]->grad)
            r->params[PARAM_WEIGHT]->grad[i] += (float)s->sums[c->n + i];
        if (r->params[PARAM_BIAS]->grad)
            r->params[PARAM_BIAS]->grad[i] += (float)s->sums[i];
    }
}

static const struct op_ops op_batch_norm = {
    .name = "batch norm",
    .flags = OP_NEEDS_IN | OP_STRIDED,
    .infer = norm_infer,
    .setup = norm_setup,
    .teardown = norm_teardown,
    .sync_forward = norm_sync_forward,
    .forward = norm_forward,
    .sync_backward = norm_sync_backward,
    .backward = norm_backward,
    .grads = norm_grads,
};

struct val *nn_batch_norm(struct graph *g, const char *name, struct val *x, bool affine)
{
    if (!x)
        return NULL;
    struct norm_conf conf = {.affine = affine, .n = x->shape.dims[x->shape.n_dims - 1]};
    struct param *params[5] = {0};
    struct init zeros = {INIT_ZEROS, 0, 0}, ones = {INIT_ONES, 0, 0};
    graph_push(g, name);
    if (affine) {
        params[PARAM_WEIGHT] = nn_param(g, "weight", &conf.n, 1, ones, true);
        params[PARAM_BIAS] = nn_param(g, "bias", &conf.n, 1, zeros, true);
    }
    params[PARAM_MEAN] = nn_param(g, "running_mean", &conf.n, 1, zeros, false);
    params[PARAM_VAR] = nn_param(g, "running_var", &conf.n, 1, ones, false);
    params[PARAM_COUNT] =
        nn_param(g, "num_batches_tracked", (const int64_t[]){1}, 1, zeros, false);
    graph_pop(g);
    return nn_op(g, &op_batch_norm, &x, 1, params, affine ? 5 : 3, &conf, sizeof(conf));
}
