/* SPDX-License-Identifier: Apache-2.0 */
#include "nn/op/positions.h"

#include <math.h>
#include <string.h>

#include "nn/cpu/cpu.h"
#include "tensor/kernel.h"

#define COLUMNS 16       /* of a table that one thread adds to */
#define TIME_LEAST 1e-6f /* a difference of times is no less */
#define WAVE_PI 3.14f    /* as published; weights were trained with it */

static int64_t bucket_of(const struct op_positions_conf *c, float query, float time)
{
    float buckets = (float)(c->times - 1);
    float d = query - time;
    d = (d > TIME_LEAST ? d : TIME_LEAST) / c->c.increments;
    d = (c->c.log ? logf(d) : sqrtf(d)) / buckets;
    d = d > 0.0f ? d : 0.0f;
    return (int64_t)((d < 1.0f ? d : 1.0f) * buckets);
}

static void positions_row(const struct op_run *r, int64_t b)
{
    const struct op_positions_conf *c = r->conf;
    const int64_t *at = r->env->rows.offsets[r->out_axis[0]];
    const int64_t *targets = c->c.targets > 0 ? r->env->rows.offsets[c->c.targets] : NULL;
    int64_t n = at[b + 1] - at[b], width = r->out[0].width;
    int64_t behind = targets ? targets[b + 1] - targets[b] : 0;
    float query = 0;
    if (c->query)
        query = *view_row(&r->in[POSITIONS_QUERY], b);
    else if (c->times && n)
        query = *view_row(&r->in[POSITIONS_TIME], at[b + 1] - 1);
    for (int64_t p = 0; p < n; p++) {
        float *y = view_row(&r->out[0], at[b] + p), *keep = view_row(&r->keep, at[b] + p);
        int64_t row = op_position_of(c, p, n, behind);
        kernels()->times(y, c->c.scale, view_row(&r->in[0], at[b] + p), width);
        kernels()->add(y, r->params[0]->value + row * width, width);
        keep[0] = (float)row;
        if (!c->times)
            continue;
        row = bucket_of(c, query, *view_row(&r->in[POSITIONS_TIME], at[b] + p));
        kernels()->add(y, r->params[1]->value + row * width, width);
        keep[1] = (float)row;
    }
}

static void positions_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    for (int64_t b = begin; b < end; b++)
        positions_row(r, b);
}

static void positions_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct op_positions_conf *c = r->conf;
    int64_t from, to;
    nn_cpu_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t k = from; r->d_in[0].data && k < to; k++)
        kernels()->axpy(view_row(&r->d_in[0], k), c->c.scale, view_row(&r->d_out[0], k),
                        r->out[0].width);
}

/* Some columns of both tables, all rows in their order. */
static void add_columns(void *arg, int64_t begin, int64_t end, int64_t chunk)
{
    const struct op_run *r = arg;
    int64_t width = r->out[0].width;
    for (int64_t k = 0; k < r->out[0].rows; k++)
        for (int i = 0; i < r->n_params; i++)
            if (r->params[i]->grad)
                kernels()->add(r->params[i]->grad +
                                   (int64_t)view_row(&r->keep, k)[i] * width + begin,
                               view_row(&r->d_out[0], k) + begin, end - begin);
}

static void positions_grads(const struct op_run *r)
{
    struct op_run copy = *r;
    pool_for(r->env->pool, r->out[0].width, COLUMNS, add_columns, &copy);
}

const struct nn_cpu_op nn_cpu_add_positions = {
    .forward = positions_forward,
    .backward = positions_backward,
    .grads = positions_grads,
};

/* a / b rounded down, without the error of the division. */
static float floor_divide(float a, float b)
{
    float rest = fmodf(a, b), y = (a - rest) / b, down;
    if (rest != 0 && (b < 0) != (rest < 0))
        y -= 1;
    down = floorf(y);
    return y - down > 0.5f ? down + 1 : down;
}

static float positive_rest(float a, float b)
{
    float rest = fmodf(a, b);
    return rest != 0 && (b < 0) != (rest < 0) ? rest + b : rest;
}

static void waves_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct op_waves_conf *c = r->conf;
    int64_t from, to;
    nn_cpu_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t k = from; k < to; k++) {
        float time = *view_row(&r->in[0], k), *y = view_row(&r->out[0], k);
        for (int64_t i = 0; i < c->n; i++) {
            float units = positive_rest(floor_divide(time, c->unit[i]), c->per[i]);
            float angle = units / c->per[i] * 2 * WAVE_PI;
            y[2 * i] = cosf(angle);
            y[2 * i + 1] = sinf(angle);
        }
    }
}

const struct nn_cpu_op nn_cpu_time_waves = {
    .flags = CPU_STRIDED,
    .forward = waves_forward,
};
