/* SPDX-License-Identifier: Apache-2.0 */
/* How the CPU multiplies pairs of fields: for each row the fields i, then all j > i, whose
 * results lie behind each other, so that the inner loops run over several pairs at once. The
 * backward pass goes through the pairs in the same order.
 */
#include <string.h>

#include "base/compiler.h"
#include "nn/cpu/cpu.h"
#include "nn/op/field_pairs.h"
#include "tensor/kernel.h"

/* y = u * v of n vectors v of d floats, where u is the same for all. */
CLONED static void times_each(float *y, const float *u, const float *v, int64_t n,
                              int64_t d)
{
    for (int64_t j = 0; j < n; j++, y += d, v += d) {
        int64_t e = 0;
        for (; e + 16 <= d; e += 16)
            *(floats16 *)(y + e) =
                *(const floats16 *)(u + e) * *(const floats16 *)(v + e);
        for (; e < d; e++)
            y[e] = u[e] * v[e];
    }
}

/* du += the sum of dy * v */
CLONED static void add_products(float *du, const float *dy, const float *v, int64_t n,
                                int64_t d)
{
    int64_t e = 0;
    for (; e + 16 <= d; e += 16) {
        floats16 sum = *(floats16 *)(du + e);
        for (int64_t j = 0; j < n; j++)
            sum +=
                *(const floats16 *)(dy + j * d + e) * *(const floats16 *)(v + j * d + e);
        *(floats16 *)(du + e) = sum;
    }
    for (; e < d; e++)
        for (int64_t j = 0; j < n; j++)
            du[e] += dy[j * d + e] * v[j * d + e];
}

/* dv += u * dy, for each of them */
CLONED static void add_each(float *dv, const float *u, const float *dy, int64_t n,
                            int64_t d)
{
    for (int64_t j = 0; j < n; j++, dv += d, dy += d) {
        int64_t e = 0;
        for (; e + 16 <= d; e += 16)
            *(floats16 *)(dv + e) +=
                *(const floats16 *)(u + e) * *(const floats16 *)(dy + e);
        for (; e < d; e++)
            dv[e] += u[e] * dy[e];
    }
}

/* Pairs of parts, one at a time. */
static void aware_forward(const struct op_pairs_conf *c, const float *x, float *y)
{
    for (int64_t i = 0, p = 0; i < c->n; i++)
        for (int64_t j = i + 1; j < c->n; j++, p++) {
            const float *u = x + op_left_at(c, i, j, p), *v = x + op_right_at(c, i, j);
            if (c->dots)
                y[p] = kernels()->dot(u, v, c->d);
            else
                kernels()->mul(y + p * c->d, u, v, c->d);
        }
}

static void pairs_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct op_pairs_conf *c = r->conf;
    const struct view *b = &r->in[r->n_in - 1];
    int64_t from, to, d = c->d;
    nn_cpu_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t k = from; k < to; k++) {
        const float *left = view_row(&r->in[0], k), *right = view_row(b, k);
        float *y = view_row(&r->out[0], k);
        if (c->left == LEFT_AWARE) {
            aware_forward(c, left, y);
            continue;
        }
        /* all pairs (i, ..) at once: the others of them lie side by side */
        for (int64_t i = 0; i + 1 < c->n; i++) {
            int64_t n = c->n - 1 - i;
            const float *v = right + (i + 1) * d;
            if (c->left == LEFT_PAIR)
                kernels()->mul(y, left, v, n * d);
            else
                times_each(y, left, v, n, d);
            left += c->left == LEFT_PAIR ? n * d : d;
            y += n * d;
        }
    }
}

/* dx += dy * other, where dy is one number or as many as there are. */
static void spread(const struct op_pairs_conf *c, float *dx, const float *dy,
                   const float *other)
{
    if (c->dots)
        kernels()->axpy(dx, *dy, other, c->d);
    else
        kernels()->mul_add(dx, dy, other, c->d);
}

static void aware_backward(const struct op_pairs_conf *c, const float *x, const float *dy,
                           float *dx)
{
    int64_t step = c->dots ? 1 : c->d;
    for (int64_t i = 0, p = 0; i < c->n; i++)
        for (int64_t j = i + 1; j < c->n; j++, p++, dy += step) {
            int64_t u = op_left_at(c, i, j, p), v = op_right_at(c, i, j);
            spread(c, dx + u, dy, x + v);
            spread(c, dx + v, dy, x + u);
        }
}

/* Row k, whose slopes hold numbers already: d_left or d_right are NULL when nobody wants
 * them.
 */
static void row_backward(const struct op_run *r, int64_t k, float *d_left, float *d_right)
{
    const struct op_pairs_conf *c = r->conf;
    const float *left = view_row(&r->in[0], k), *dy = view_row(&r->d_out[0], k);
    int64_t d = c->d, step = d;
    for (int64_t i = 0; i + 1 < c->n; i++, left += step) {
        int64_t n = c->n - 1 - i, at = (i + 1) * d;
        const float *v = view_row(&r->in[1], k) + at;
        bool pairs = c->left == LEFT_PAIR;
        step = pairs ? n * d : d;
        if (d_right && pairs)
            kernels()->mul_add(d_right + at, dy, left, n * d);
        else if (d_right)
            add_each(d_right + at, left, dy, n, d);
        if (d_left && pairs)
            (r->d_in_fresh[0] ? kernels()->mul : kernels()->mul_add)(d_left, dy, v,
                                                                     n * d);
        else if (d_left)
            add_products(d_left, dy, v, n, d);
        d_left = d_left ? d_left + step : NULL;
        dy += n * d;
    }
}

static void pairs_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct op_pairs_conf *c = r->conf;
    int64_t from, to;
    nn_cpu_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t k = from; k < to; k++) {
        float *dx[2] = {NULL};
        for (int i = 0; i < r->n_in; i++) {
            dx[i] = r->d_in[i].data ? view_row(&r->d_in[i], k) : NULL;
            bool written = c->left == LEFT_PAIR && i == 0;
            if (dx[i] && r->d_in_fresh[i] && !written)
                memset(dx[i], 0, (size_t)r->in[i].width * sizeof(float));
        }
        if (c->left != LEFT_AWARE)
            row_backward(r, k, dx[0], dx[1]);
        else if (dx[0])
            aware_backward(c, view_row(&r->in[0], k), view_row(&r->d_out[0], k), dx[0]);
    }
}

const struct nn_cpu_op nn_cpu_field_pairs = {
    .flags = CPU_WRITES | CPU_STRIDED,
    .forward = pairs_forward,
    .backward = pairs_backward,
};
