/* SPDX-License-Identifier: Apache-2.0 */
/* Attention of the positions of a row to each other, several heads; positions of a
 * sequence, or the fields of a row. The weights are not stored: the backward pass finds
 * them again. A row of up to SMALL positions is done as products of small matrices; a
 * longer one (or one whose weights are dropped) one position after the other, from the
 * logarithm of the sum of the weights, which is kept per position and head. So memory
 * grows with the positions, not with their square.
 */
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "nn/cpu/cpu.h"
#include "nn/op/attention.h"
#include "tensor/gemm.h"
#include "tensor/kernel.h"

#define SMALL 64 /* and heads up to GEMM_SMALL_K wide */

/* Everything with a row per position. */
struct attention {
    const struct op_run *r;
    struct view in[ATTENTION_N_IN], out, d_in[ATTENTION_N_IN], d_out, keep;
    int64_t width; /* of a head */
};

static struct view positions(const struct op_attention_conf *c, const struct view *v)
{
    if (!c->fields || !v->data)
        return *v;
    int64_t width = v->width / c->fields;
    return (struct view){
        .data = v->data, .rows = v->rows * c->fields, .width = width, .ld = width};
}

static struct attention attention_of(const struct op_run *r, bool backward)
{
    const struct op_attention_conf *c = r->conf;
    struct attention a = {
        .r = r, .out = positions(c, &r->out[0]), .keep = positions(c, &r->keep)};
    for (int i = 0; i < ATTENTION_N_IN; i++) {
        a.in[i] = positions(c, &r->in[i]);
        if (backward)
            a.d_in[i] = positions(c, &r->d_in[i]);
    }
    if (backward)
        a.d_out = positions(c, &r->d_out[0]);
    a.width = a.in[0].width / c->heads;
    return a;
}

/* The positions of row b of the batch. */
static void row_of(const struct attention *a, int64_t b, int64_t *from, int64_t *to)
{
    const struct op_attention_conf *c = a->r->conf;
    if (c->fields) {
        *from = b * c->fields;
        *to = *from + c->fields;
    } else {
        nn_cpu_rows(a->r->env, a->r->out_axis[0], b, b + 1, from, to);
    }
}

static bool drops(const struct op_run *r)
{
    const struct op_attention_conf *c = r->conf;
    return r->env->training && c->below > 0;
}

static bool is_small(const struct attention *a, int64_t n)
{
    return n <= SMALL && a->width <= GEMM_SMALL_K && !drops(a->r);
}

/* Columns from `col` on of n positions from `from` on, as an operand. */
static const float *operand(const struct view *v, int64_t from, int64_t col)
{
    return view_row(v, from) + col;
}

/* y [n][SMALL] = a b^T of one head. */
static void small_dots(const struct view *a, const struct view *b, int64_t from,
                       int64_t n, int64_t col, int64_t width, float *y)
{
    struct gemm_small p = {.a = operand(a, from, col),
                           .lda = a->ld,
                           .b = operand(b, from, col),
                           .ldb = b->ld,
                           .m = n,
                           .n = n,
                           .k = width,
                           .turned = true};
    gemm_small(&p, false, y, SMALL);
}

/* y (+)= w [n][SMALL] times the values of one head. */
static void small_mix(const float *w, const struct view *x, int64_t from, int64_t n,
                      int64_t col, int64_t width, bool add, const struct view *y)
{
    struct gemm_small p = {.a = w,
                           .lda = SMALL,
                           .b = operand(x, from, col),
                           .ldb = x->ld,
                           .m = n,
                           .n = width,
                           .k = n};
    if (y->data)
        gemm_small(&p, add, view_row(y, from) + col, y->ld);
}

static void small_weights(const struct attention *a, int64_t from, int64_t n, int64_t col,
                          float *w)
{
    const struct op_attention_conf *c = a->r->conf;
    small_dots(&a->in[ATTENTION_QUERY], &a->in[ATTENTION_KEY], from, n, col, a->width, w);
    for (int64_t i = 0; i < n; i++) {
        kernels()->scale(w + i * SMALL, c->scale, n);
        kernels()->softmax(w + i * SMALL, w + i * SMALL, n, n);
    }
}

static void small_forward(const struct attention *a, int64_t from, int64_t to)
{
    float w[SMALL * SMALL];
    for (int64_t col = 0; from < to && col < a->out.width; col += a->width) {
        small_weights(a, from, to - from, col, w);
        small_mix(w, &a->in[ATTENTION_VALUE], from, to - from, col, a->width, false,
                  &a->out);
    }
}

static void turn(float *y, const float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++)
            y[j * SMALL + i] = x[i * SMALL + j];
}

static void small_backward(const struct attention *a, int64_t from, int64_t to)
{
    const struct op_attention_conf *c = a->r->conf;
    float w[SMALL * SMALL], d[SMALL * SMALL], turned[SMALL * SMALL];
    int64_t n = to - from;
    for (int64_t col = 0; n > 0 && col < a->out.width; col += a->width) {
        small_weights(a, from, n, col, w);
        turn(turned, w, n);
        small_mix(turned, &a->d_out, from, n, col, a->width, true,
                  &a->d_in[ATTENTION_VALUE]);
        small_dots(&a->d_out, &a->in[ATTENTION_VALUE], from, n, col, a->width, d);
        for (int64_t i = 0; i < n; i++) {
            float *di = d + i * SMALL, *wi = w + i * SMALL;
            float mean = kernels()->dot(di, wi, n);
            for (int64_t j = 0; j < n; j++)
                di[j] = c->scale * wi[j] * (di[j] - mean);
        }
        small_mix(d, &a->in[ATTENTION_KEY], from, n, col, a->width, true,
                  &a->d_in[ATTENTION_QUERY]);
        turn(turned, d, n);
        small_mix(turned, &a->in[ATTENTION_QUERY], from, n, col, a->width, true,
                  &a->d_in[ATTENTION_KEY]);
    }
}

/* What one head of one position looks at. */
struct head {
    const struct attention *a;
    int64_t position, from, to; /* the row's positions */
    int64_t col;
    struct rng rng; /* of the dropped weights */
    bool drops;
};

static struct head head_of(const struct attention *a, int64_t position, int64_t from,
                           int64_t to)
{
    const struct op_run *r = a->r;
    struct head h = {
        .a = a, .position = position, .from = from, .to = to, .drops = drops(r)};
    rng_init(&h.rng, r->env->seed, r->id + 1, r->env->step, (uint64_t)position);
    return h;
}

static float score(const struct head *h, int64_t j)
{
    const struct op_attention_conf *c = h->a->r->conf;
    return c->scale *
           kernels()->dot(operand(&h->a->in[ATTENTION_QUERY], h->position, h->col),
                          operand(&h->a->in[ATTENTION_KEY], j, h->col), h->a->width);
}

/* The factor of the next weight; both passes ask in the same order. */
static float factor(struct head *h)
{
    const struct op_attention_conf *c = h->a->r->conf;
    if (!h->drops)
        return 1.0f;
    return rng_u32(&h->rng) < c->below ? 0.0f : c->kept;
}

/* One pass: what has been added up is scaled down when a larger score comes. */
static void head_forward(struct head *h, float *y, float *log_sum)
{
    float max = -INFINITY;
    double sum = 0;
    memset(y, 0, (size_t)h->a->width * sizeof(float));
    for (int64_t j = h->from; j < h->to; j++) {
        float s = score(h, j);
        if (s > max) {
            float shrink = expf(max - s);
            kernels()->scale(y, shrink, h->a->width);
            sum *= (double)shrink;
            max = s;
        }
        float e = expf(s - max);
        sum += (double)e;
        kernels()->axpy(y, e * factor(h), operand(&h->a->in[ATTENTION_VALUE], j, h->col),
                        h->a->width);
    }
    kernels()->scale(y, (float)(1.0 / sum), h->a->width);
    *log_sum = max + (float)log(sum);
}

static void attention_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct op_attention_conf *c = r->conf;
    struct attention a = attention_of(r, false);
    for (int64_t b = begin; b < end; b++) {
        int64_t from, to;
        row_of(&a, b, &from, &to);
        if (is_small(&a, to - from)) {
            small_forward(&a, from, to);
            continue;
        }
        for (int64_t i = from; i < to; i++) {
            struct head h = head_of(&a, i, from, to);
            for (int64_t k = 0; k < c->heads; k++, h.col += a.width)
                head_forward(&h, view_row(&a.out, i) + h.col, view_row(&a.keep, i) + k);
        }
    }
}

static void add_to(const struct head *h, int input, int64_t row, float by, const float *x)
{
    const struct view *d = &h->a->d_in[input];
    if (d->data)
        kernels()->axpy(view_row(d, row) + h->col, by, x, h->a->width);
}

static void head_backward(struct head *h, float log_sum)
{
    const struct attention *a = h->a;
    const struct op_attention_conf *c = a->r->conf;
    const float *dy = operand(&a->d_out, h->position, h->col);
    const float *q = operand(&a->in[ATTENTION_QUERY], h->position, h->col);
    float mean = kernels()->dot(dy, operand(&a->out, h->position, h->col), a->width);
    for (int64_t j = h->from; j < h->to; j++) {
        const float *v = operand(&a->in[ATTENTION_VALUE], j, h->col);
        const float *k = operand(&a->in[ATTENTION_KEY], j, h->col);
        float p = expf(score(h, j) - log_sum), f = factor(h);
        float d = c->scale * p * (f * kernels()->dot(dy, v, a->width) - mean);
        add_to(h, ATTENTION_QUERY, h->position, d, k);
        add_to(h, ATTENTION_KEY, j, d, q);
        add_to(h, ATTENTION_VALUE, j, p * f, dy);
    }
}

static void attention_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct op_attention_conf *c = r->conf;
    struct attention a = attention_of(r, true);
    for (int64_t b = begin; b < end; b++) {
        int64_t from, to;
        row_of(&a, b, &from, &to);
        if (is_small(&a, to - from)) {
            small_backward(&a, from, to);
            continue;
        }
        for (int64_t i = from; i < to; i++) {
            struct head h = head_of(&a, i, from, to);
            for (int64_t k = 0; k < c->heads; k++, h.col += a.width)
                head_backward(&h, view_row(&a.keep, i)[k]);
        }
    }
}

const struct nn_cpu_op nn_cpu_attention = {
    .flags = CPU_STRIDED,
    .forward = attention_forward,
    .backward = attention_backward,
};
