/* SPDX-License-Identifier: Apache-2.0 */
/* How the CPU routes positions to capsules and mixes them (op/capsule.c says what that is).
 * A row of the batch is worked on by itself. Its logits lie in the output of the routing op
 * from the start and become its shares there; one over the length of each position's vector
 * is kept for the iterations. Loops over positions are kernels on strided columns.
 */
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "nn/cpu/cpu.h"
#include "nn/op/capsule.h"
#include "nn/ops.h"
#include "tensor/kernel.h"

#define CHUNK 256 /* floats of some positions; at least CAPSULES_MAX */

/* Capsules of a row with so many positions. */
static int64_t capsules_of(const struct nn_capsule_conf *c, int64_t length)
{
    if (c->constant || length < 1)
        return c->constant ? c->capsules : 1;
    double n = ceil(log2((double)length));
    return n < 1 ? 1 : n > (double)c->capsules ? c->capsules : (int64_t)n;
}

/* Softmax over the capsules that the row has; the others get nothing. A few capsules are
 * less than a vector, so the exponentials are those of many positions at once.
 */
static void shares(struct view b, int64_t n, float scale)
{
    float part[CHUNK];
    int64_t some = CHUNK / n;
    for (int64_t from = 0; from < b.rows; from += some) {
        int64_t rows = b.rows - from < some ? b.rows - from : some;
        for (int64_t t = 0; t < rows; t++) {
            const float *x = view_row(&b, from + t);
            float most = x[0] * scale;
            for (int64_t k = 1; k < n; k++)
                most = x[k] * scale > most ? x[k] * scale : most;
            for (int64_t k = 0; k < n; k++)
                part[t * n + k] = x[k] * scale - most;
        }
        kernels()->exp(part, part, rows * n);
        for (int64_t t = 0; t < rows; t++) {
            float *y = view_row(&b, from + t), sum = 0;
            for (int64_t k = 0; k < n; k++)
                sum += part[t * n + k];
            for (int64_t k = 0; k < b.width; k++)
                y[k] = k < n ? part[t * n + k] / sum : 0.0f;
        }
    }
}

static void first_logits(const struct op_run *r, int64_t row, int64_t positions,
                         struct view b)
{
    const struct nn_capsule_conf *c = r->conf;
    struct rng rng;
    rng_init(&rng, r->env->seed, r->id, r->env->step, (uint64_t)row);
    for (int64_t t = 0; t < positions; t++)
        for (int64_t k = 0; k < c->capsules; k++)
            view_row(&b, t)[k] = c->zeros ? 0.0f : (float)rng_normal(&rng) * c->deviation;
}

/* One over the length of each vector, at least NORM_MIN. */
static void find_lengths(struct view x, struct view inverse)
{
    for (int64_t t = 0; t < x.rows; t++) {
        double length = sqrt(kernels()->sum_squares(view_row(&x, t), x.width));
        *view_row(&inverse, t) = (float)(1.0 / (length > NORM_MIN ? length : NORM_MIN));
    }
}

/* One round: capsules from shares, then shares plus how near each position is. */
static void route(struct view x, struct view inverse, struct view b, int64_t n)
{
    float capsule[WIDTH_MAX], near[CHUNK];
    for (int64_t k = 0; k < n; k++) {
        memset(capsule, 0, (size_t)x.width * sizeof(float));
        kernels()->add_rows(capsule, x.data, x.ld, x.rows, b.data + k, b.ld, x.width);
        for (int64_t from = 0; from < x.rows; from += CHUNK) {
            int64_t rows = x.rows - from < CHUNK ? x.rows - from : CHUNK;
            kernels()->dot_rows(near, view_row(&x, from), x.ld, rows, capsule, x.width);
            for (int64_t t = 0; t < rows; t++)
                view_row(&b, from + t)[k] += *view_row(&inverse, from + t) * near[t];
        }
    }
}

static void routing_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct nn_capsule_conf *c = r->conf;
    const int64_t *at = r->env->rows.offsets[r->in_axis[0]];
    for (int64_t row = begin; row < end; row++) {
        int64_t n = capsules_of(c, at[row + 1] - at[row]), end_at = at[row + 1];
        if (c->most > 0 && end_at - at[row] > c->most)
            end_at = at[row] + c->most;
        struct view x = view_rows(&r->in[0], at[row], end_at);
        struct view b = view_rows(&r->out[0], at[row], end_at);
        for (int64_t t = end_at; t < at[row + 1]; t++)
            memset(view_row(&r->out[0], t), 0, (size_t)c->capsules * sizeof(float));
        struct view inverse = view_rows(&r->keep, at[row], end_at);
        first_logits(r, row, x.rows, b);
        find_lengths(x, inverse);
        for (int64_t i = 0; i < c->iterations; i++) {
            shares(b, n, c->scale);
            if (i + 1 < c->iterations)
                route(x, inverse, b, n);
        }
    }
}

const struct nn_cpu_op nn_cpu_capsule_routing = {
    .flags = CPU_DRAWS,
    .forward = routing_forward,
};

static void mix_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    const int64_t *at = r->env->rows.offsets[r->in_axis[0]];
    int64_t n = r->in[0].width, d = r->in[1].width;
    for (int64_t row = begin; row < end; row++) {
        float *y = view_row(&r->out[0], row);
        struct view w = view_rows(&r->in[0], at[row], at[row + 1]);
        struct view x = view_rows(&r->in[1], at[row], at[row + 1]);
        memset(y, 0, (size_t)(n * d) * sizeof(float));
        for (int64_t k = 0; k < n && x.rows > 0; k++)
            kernels()->add_rows(y + k * d, x.data, x.ld, x.rows, w.data + k, w.ld, d);
    }
}

/* The slope of a position's values is one row of weights times the slopes. */
static void mix_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    const int64_t *at = r->env->rows.offsets[r->in_axis[0]];
    int64_t n = r->in[0].width, d = r->in[1].width;
    for (int64_t row = begin; row < end; row++) {
        const float *dy = view_row(&r->d_out[0], row);
        for (int64_t t = at[row]; t < at[row + 1]; t++) {
            const float *w = view_row(&r->in[0], t), *x = view_row(&r->in[1], t);
            if (r->d_in[1].data)
                kernels()->add_rows(view_row(&r->d_in[1], t), dy, d, n, w, 1, d);
            for (int64_t k = 0; r->d_in[0].data && k < n; k++)
                view_row(&r->d_in[0], t)[k] += kernels()->dot(dy + k * d, x, d);
        }
    }
}

const struct nn_cpu_op nn_cpu_seq_mix = {
    .forward = mix_forward,
    .backward = mix_backward,
};

static int64_t last_of(const struct op_run *r)
{
    return ((const struct op_squash_conf *)r->conf)->n;
}

/* The factor, and its slope over the length divided by the length. */
static double squash_factor(const struct op_squash_conf *c, double length, double *slope)
{
    bool small = length <= c->least;
    double n = small ? c->least : length, q = n * n / (1 + n * n);
    double f = (c->power == 0 ? 1 : pow(q, c->power)) / n;
    *slope = small ? 0 : f * (2 * c->power / (1 + n * n) - 1) / (n * n);
    return f;
}

static void squash_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct op_squash_conf *c = r->conf;
    int64_t d = last_of(r);
    for (int64_t row = begin; row < end; row++)
        for (int64_t at = 0; at < r->in[0].width; at += d) {
            const float *x = view_row(&r->in[0], row) + at;
            double slope,
                f = squash_factor(c, sqrt(kernels()->sum_squares(x, d)), &slope);
            for (int64_t i = 0; i < d; i++)
                view_row(&r->out[0], row)[at + i] = (float)f * x[i];
        }
}

static void squash_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct op_squash_conf *c = r->conf;
    int64_t d = last_of(r);
    for (int64_t row = begin; r->d_in[0].data && row < end; row++)
        for (int64_t at = 0; at < r->in[0].width; at += d) {
            const float *x = view_row(&r->in[0], row) + at;
            const float *dy = view_row(&r->d_out[0], row) + at;
            float *dx = view_row(&r->d_in[0], row) + at;
            double slope,
                f = squash_factor(c, sqrt(kernels()->sum_squares(x, d)), &slope);
            double dot = (double)kernels()->dot(x, dy, d);
            for (int64_t i = 0; i < d; i++)
                dx[i] += (float)(f * (double)dy[i] + slope * dot * (double)x[i]);
        }
}

const struct nn_cpu_op nn_cpu_squash = {
    .forward = squash_forward,
    .backward = squash_backward,
};

static void mask_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct nn_capsule_conf *c = r->conf;
    const int64_t *at = r->env->rows.offsets[r->in_axis[0]];
    for (int64_t row = begin; row < end; row++) {
        int64_t n = capsules_of(c, at[row + 1] - at[row]);
        for (int64_t k = 0; k < c->capsules; k++)
            view_row(&r->out[0], row)[k] = k < n ? 1.0f : 0.0f;
    }
}

const struct nn_cpu_op nn_cpu_capsule_mask = {
    .forward = mask_forward,
};

static void join_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    int64_t n = r->in[JOIN_MASK].width, d = r->in[JOIN_X].width / n;
    int64_t e = r->n_in > JOIN_FRONT ? r->in[JOIN_FRONT].width : 0;
    for (int64_t row = begin; row < end; row++)
        for (int64_t k = 0; k < n; k++) {
            float *y = view_row(&r->out[0], row) + k * (e + d);
            float mask = view_row(&r->in[JOIN_MASK], row)[k];
            if (e)
                memcpy(y, view_row(&r->in[JOIN_FRONT], row), (size_t)e * sizeof(float));
            memcpy(y + e, view_row(&r->in[JOIN_X], row) + k * d,
                   (size_t)d * sizeof(float));
            kernels()->scale(y, mask, e + d);
        }
}

static void join_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    int64_t n = r->in[JOIN_MASK].width, d = r->in[JOIN_X].width / n;
    int64_t e = r->n_in > JOIN_FRONT ? r->in[JOIN_FRONT].width : 0;
    for (int64_t row = begin; row < end; row++)
        for (int64_t k = 0; k < n; k++) {
            const float *dy = view_row(&r->d_out[0], row) + k * (e + d);
            float mask = view_row(&r->in[JOIN_MASK], row)[k];
            if (e && r->d_in[JOIN_FRONT].data)
                kernels()->axpy(view_row(&r->d_in[JOIN_FRONT], row), mask, dy, e);
            if (r->d_in[JOIN_X].data)
                kernels()->axpy(view_row(&r->d_in[JOIN_X], row) + k * d, mask, dy + e, d);
        }
}

const struct nn_cpu_op nn_cpu_masked_rows = {
    .forward = join_forward,
    .backward = join_backward,
};

static void pick_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    const float power = *(const float *)r->conf;
    int64_t n = r->in[PICK_MASK].width, d = r->in[PICK_TARGET].width;
    for (int64_t row = begin; row < end; row++) {
        const float *x = view_row(&r->in[PICK_X], row);
        const float *mask = view_row(&r->in[PICK_MASK], row);
        float *w = view_row(&r->keep, row), *y = view_row(&r->out[0], row);
        int64_t valid = 0;
        while (valid < n && mask[valid] > 0)
            valid++;
        for (int64_t k = 0; k < valid; k++)
            w[k] =
                power * kernels()->dot(x + k * d, view_row(&r->in[PICK_TARGET], row), d);
        kernels()->softmax(w, w, valid, n);
        memset(y, 0, (size_t)d * sizeof(float));
        for (int64_t k = 0; k < n; k++)
            kernels()->axpy(y, w[k], x + k * d, d);
    }
}

static void pick_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    const float power = *(const float *)r->conf;
    int64_t n = r->in[PICK_MASK].width, d = r->in[PICK_TARGET].width;
    for (int64_t row = begin; row < end; row++) {
        const float *x = view_row(&r->in[PICK_X], row), *w = view_row(&r->keep, row);
        const float *dy = view_row(&r->d_out[0], row);
        float mean = 0;
        for (int64_t k = 0; k < n; k++)
            mean += w[k] * kernels()->dot(dy, x + k * d, d);
        for (int64_t k = 0; k < n; k++) {
            float ds = power * w[k] * (kernels()->dot(dy, x + k * d, d) - mean);
            if (r->d_in[PICK_X].data) {
                float *dx = view_row(&r->d_in[PICK_X], row) + k * d;
                kernels()->axpy(dx, w[k], dy, d);
                kernels()->axpy(dx, ds, view_row(&r->in[PICK_TARGET], row), d);
            }
            if (r->d_in[PICK_TARGET].data)
                kernels()->axpy(view_row(&r->d_in[PICK_TARGET], row), ds, x + k * d, d);
        }
    }
}

const struct nn_cpu_op nn_cpu_interest_attention = {
    .forward = pick_forward,
    .backward = pick_backward,
};
