/* SPDX-License-Identifier: Apache-2.0 */
/* Gated recurrent units (Cho et al. 2014), in the form of PyTorch:
 *
 *     r = sigmoid(a_r + b_r), z = sigmoid(a_z + b_z), n = tanh(a_n + r * b_n),
 *     h' = (1 - z) * n + z * h
 *
 * where a [3 * width] comes from the input and b [3 * width] from the state h, each as r,
 * z, n side by side. nn_gru_cell() does one such step for rows of any axis;
 * nn_seq_gru() runs along the positions of a row, with b = W h + bias of the position
 * before (the first has h = 0).
 *
 * Rows of a tile are taken some at a time, and one position of all of them at once, so
 * that the product with W has more than one row. Their states lie in scattered places:
 * they are gathered on the stack.
 */
#include <string.h>

#include "base/compiler.h"
#include "nn/cpu/cpu.h"
#include "nn/op/gru.h"
#include "nn/ops.h"
#include "tensor/gemm.h"
#include "tensor/kernel.h"

#define GRU_ROWS 16 /* that go side by side */

static void sigmoid(float *y, const float *x, int64_t n)
{
    kernels()->act[KERNEL_SIGMOID].value(y, x, 0, n);
}

static void tanh_of(float *y, const float *x, int64_t n)
{
    kernels()->act[KERNEL_TANH].value(y, x, 0, n);
}

/* How much of h stays where z is: less than z when the update counts for less. */
static inline float stays(float z, float weight)
{
    return 1.0f - weight * (1.0f - z);
}

/* One step of one row; a and b [3 * w], keep [5 * w]. */
static void cell_forward(const float *a, const float *b, const float *h, int64_t w,
                         float weight, float *keep, float *y)
{
    float *r = keep + GRU_KEEP_R * w, *n = keep + GRU_KEEP_N * w;
    const float *z = keep + GRU_KEEP_Z * w;
    memcpy(r, a, (size_t)(2 * w) * sizeof(float)); /* r and z lie side by side */
    kernels()->add(r, b, 2 * w);
    sigmoid(r, r, 2 * w);
    memcpy(keep + GRU_KEEP_BN * w, b + 2 * w, (size_t)w * sizeof(float));
    memcpy(n, a + 2 * w, (size_t)w * sizeof(float));
    kernels()->mul_add(n, r, b + 2 * w, w);
    tanh_of(n, n, w);
    memcpy(keep + GRU_KEEP_H * w, h, (size_t)w * sizeof(float));
    for (int64_t i = 0; i < w; i++)
        y[i] = n[i] + stays(z[i], weight) * (keep[GRU_KEEP_H * w + i] - n[i]);
}

/* dy [w] -> da and db [3 * w] are written, dh [w] too. */
CLONED static void cell_backward(const float *restrict keep, const float *restrict dy,
                                 int64_t w, float weight, float *restrict da,
                                 float *restrict db, float *restrict dh)
{
    const float *r = keep + GRU_KEEP_R * w, *z = keep + GRU_KEEP_Z * w,
                *n = keep + GRU_KEEP_N * w;
    const float *bn = keep + GRU_KEEP_BN * w, *h = keep + GRU_KEEP_H * w;
    for (int64_t i = 0; i < w; i++) {
        float keeps = stays(z[i], weight);
        float dz = dy[i] * (h[i] - n[i]) * weight * z[i] * (1 - z[i]);
        float dn = dy[i] * (1 - keeps) * (1 - n[i] * n[i]);
        float dr = dn * bn[i] * r[i] * (1 - r[i]);
        da[i] = db[i] = dr;
        da[w + i] = db[w + i] = dz;
        da[2 * w + i] = dn;
        db[2 * w + i] = dn * r[i];
        dh[i] = dy[i] * keeps;
    }
}

static float weight_slope(const float *keep, const float *dy, int64_t w)
{
    const float *z = keep + GRU_KEEP_Z * w, *n = keep + GRU_KEEP_N * w,
                *h = keep + GRU_KEEP_H * w;
    float sum = 0;
    for (int64_t i = 0; i < w; i++)
        sum += dy[i] * (h[i] - n[i]) * (z[i] - 1);
    return sum;
}

static void gru_cell_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    int64_t from, to;
    nn_cpu_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t k = from; k < to; k++)
        cell_forward(view_row(&r->in[CELL_A], k), view_row(&r->in[CELL_B], k),
                     view_row(&r->in[CELL_H], k), r->in[CELL_H].width, 1,
                     view_row(&r->keep, k), view_row(&r->out[0], k));
}

/* Whether slopes go straight to where they are wanted. */
static bool is_written(const struct op_run *r, int i)
{
    return r->d_in[i].data && r->d_in_fresh[i];
}

static void gru_cell_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    float da[3 * NN_GRU_WIDTH_MAX], db[3 * NN_GRU_WIDTH_MAX], dh[NN_GRU_WIDTH_MAX];
    float *const parts[] = {da, db, dh};
    int64_t from, to, w = r->in[CELL_H].width;
    nn_cpu_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t k = from; k < to; k++) {
        float *into[CELL_H + 1];
        for (int i = CELL_A; i <= CELL_H; i++)
            into[i] = is_written(r, i) ? view_row(&r->d_in[i], k) : parts[i];
        cell_backward(view_row(&r->keep, k), view_row(&r->d_out[0], k), w, 1,
                      into[CELL_A], into[CELL_B], into[CELL_H]);
        for (int i = CELL_A; i <= CELL_H; i++)
            if (r->d_in[i].data && !is_written(r, i))
                kernels()->add(view_row(&r->d_in[i], k), parts[i], r->in[i].width);
    }
}

const struct nn_cpu_op nn_cpu_gru_cell = {
    .flags = CPU_WRITES,
    .forward = gru_cell_forward,
    .backward = gru_cell_backward,
};

static enum rc gru_setup(const void *conf, const struct nn_shape *in,
                         const struct nn_shape *out, bool training, void **state,
                         struct err *err)
{
    const struct op_gru_conf *c = conf;
    struct gemm_weight *w = NULL;
    enum rc rc =
        gemm_weight_create(3 * c->width, c->width, c->precision, training, &w, err);
    *state = w;
    return rc;
}

static void gru_teardown(void *state)
{
    gemm_weight_destroy(state);
}

static void gru_begin(const struct op_run *r)
{
    gemm_pack(r->state, r->params[GRU_W]->value);
}

/* Rows [begin, end) of the batch that have a position `t`. */
static int64_t rows_at(const int64_t *at, int64_t begin, int64_t end, int64_t t,
                       int64_t *rows)
{
    int64_t n = 0;
    for (int64_t b = begin; b < end; b++)
        if (at[b + 1] - at[b] > t)
            rows[n++] = b;
    return n;
}

static int64_t longest_of(const int64_t *at, int64_t begin, int64_t end)
{
    int64_t longest = 0;
    for (int64_t b = begin; b < end; b++)
        longest = at[b + 1] - at[b] > longest ? at[b + 1] - at[b] : longest;
    return longest;
}

static float weight_at(const struct op_run *r, int64_t position)
{
    return r->n_in == 2 ? *view_row(&r->in[1], position) : 1.0f;
}

static void gru_rows_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    const int64_t *at = r->env->rows.offsets[r->in_axis[0]];
    int64_t w = r->out[0].width, rows[GRU_ROWS];
    int64_t longest = longest_of(at, begin, end);
    float h[GRU_ROWS * NN_GRU_WIDTH_MAX], b[GRU_ROWS * 3 * NN_GRU_WIDTH_MAX];
    for (int64_t t = 0; t < longest; t++) {
        int64_t n = rows_at(at, begin, end, t, rows);
        for (int64_t k = 0; k < n && t == 0; k++)
            memset(h + k * w, 0, (size_t)w * sizeof(float));
        for (int64_t k = 0; k < n && t > 0; k++)
            memcpy(h + k * w, view_row(&r->out[0], at[rows[k]] + t - 1),
                   (size_t)w * sizeof(float));
        gemm_forward(r->state, view_of(h, n, w), r->params[GRU_BIAS]->value,
                     GEMM_ACT_NONE, view_of(b, n, 3 * w));
        for (int64_t k = 0; k < n; k++) {
            int64_t p = at[rows[k]] + t;
            cell_forward(view_row(&r->in[0], p), b + k * 3 * w, h + k * w, w,
                         weight_at(r, p), view_row(&r->keep, p), view_row(&r->out[0], p));
        }
    }
}

static void gru_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    for (int64_t b = begin; b < end; b += GRU_ROWS)
        gru_rows_forward(r, b, b + GRU_ROWS < end ? b + GRU_ROWS : end);
}

/* Of a position's weight. */
static void add_slope(const struct op_run *r, int64_t p, float slope)
{
    float *to = view_row(&r->d_in[1], p);
    *to = r->d_in_fresh[1] ? slope : *to + slope;
}

/* From the last position to the first: dh[b - begin] is what a row's state owes to the
 * positions behind. The slopes of b stay with the position, for grads.
 */
static void gru_rows_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    const int64_t *at = r->env->rows.offsets[r->in_axis[0]];
    int64_t w = r->out[0].width, rows[GRU_ROWS];
    float dh[GRU_ROWS * NN_GRU_WIDTH_MAX] = {0}, db[GRU_ROWS * 3 * NN_GRU_WIDTH_MAX];
    float own[GRU_ROWS * NN_GRU_WIDTH_MAX], da[3 * NN_GRU_WIDTH_MAX];
    for (int64_t t = longest_of(at, begin, end) - 1; t >= 0; t--) {
        int64_t n = rows_at(at, begin, end, t, rows);
        for (int64_t k = 0; k < n; k++) {
            int64_t p = at[rows[k]] + t;
            float *carry = dh + (rows[k] - begin) * w, *keep = view_row(&r->keep, p);
            kernels()->add(carry, view_row(&r->d_out[0], p), w);
            cell_backward(keep, carry, w, weight_at(r, p),
                          is_written(r, 0) ? view_row(&r->d_in[0], p) : da,
                          db + k * 3 * w, own + k * w);
            if (r->n_in == 2 && r->d_in[1].data)
                add_slope(r, p, weight_slope(keep, carry, w));
            if (r->d_in[0].data && !r->d_in_fresh[0])
                kernels()->add(view_row(&r->d_in[0], p), da, 3 * w);
            memcpy(keep + GRU_KEEP_DB * w, db + k * 3 * w,
                   (size_t)(3 * w) * sizeof(float));
        }
        gemm_backward(r->state, view_of(db, n, 3 * w), true, view_of(own, n, w));
        for (int64_t k = 0; k < n; k++)
            memcpy(dh + (rows[k] - begin) * w, own + k * w, (size_t)w * sizeof(float));
    }
}

static void gru_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    for (int64_t b = begin; b < end; b += GRU_ROWS)
        gru_rows_backward(r, b, b + GRU_ROWS < end ? b + GRU_ROWS : end);
}

static void gru_grads(const struct op_run *r)
{
    int64_t w = r->out[0].width;
    if (r->params[GRU_W]->grad && r->keep.rows > 0)
        gemm_gradient(r->state, view_cols(&r->keep, GRU_KEEP_DB * w, 3 * w),
                      view_cols(&r->keep, GRU_KEEP_H * w, w), r->params[GRU_W]->grad,
                      r->params[GRU_BIAS]->grad, r->env->pool);
}

const struct nn_cpu_op nn_cpu_gru = {
    .flags = CPU_WRITES,
    .setup = gru_setup,
    .teardown = gru_teardown,
    .begin = gru_begin,
    .forward = gru_forward,
    .backward = gru_backward,
    .grads = gru_grads,
};

const struct nn_cpu_op nn_cpu_weighted_gru = {
    .setup = gru_setup,
    .teardown = gru_teardown,
    .begin = gru_begin,
    .forward = gru_forward,
    .backward = gru_backward,
    .grads = gru_grads,
};
