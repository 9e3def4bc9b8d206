/* SPDX-License-Identifier: Apache-2.0 */
/* Attention of sequential transduction units: weights silu(alpha q . k) / n of the tokens
 * that a token may see, and no softmax. Rows are worked off in tiles of BLOCK tokens by
 * BLOCK others, which stay in the first cache; nothing of the size of a whole row squared
 * exists. What a token sees is two stretches of its row (op/stu.h), found by arithmetic:
 * tiles that nobody sees are left out, so with a window the work grows with the window.
 * The backward pass works the weights out again. A bias of distances is laid out once per
 * step as a line, so that the biases of a token lie side by side in it; its gradients are
 * summed along such a line per row of the batch, then over rows in order. One thread does a row of the batch, in
 * one order, so results depend on nothing else.
 */
#include "nn/op/stu.h"

#include <string.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "nn/cpu/cpu.h"
#include "tensor/gemm.h"
#include "tensor/kernel.h"

#define BLOCK 64

/* One head of one row of the batch. */
struct stu_head {
    const struct nn_stu_conf *c;
    int64_t n, targets;
    int64_t ld, ld_out; /* of tokens, and of what they get */
    const float *value, *query, *key;
    float *out;         /* forward */
    const float *d_out; /* backward */
    float *d_value, *d_query, *d_key;
    /* Of the bias: line[j - i] is that of columns j to token i; slopes likewise. */
    const float *line;
    float *d_line;
};

/* Of an attention with a bias of distances. */
struct stu_state {
    float *line; /* [2 * most + 1], the middle is distance 0 */
    float *sums; /* [rows][2 * most + 1] */
    int64_t most, rows;
    int64_t line_room, sums_room;
    bool training;
};

/* Where a token stands: all candidates right behind the history. */
static int64_t place_of(const struct stu_head *h, int64_t token)
{
    int64_t last = h->n - h->targets;
    return token < last ? token : last;
}

/* BLOCK tokens from `first` on. */
struct stu_block {
    int64_t first, n;
    struct op_stu_span spans[BLOCK];
    int64_t low[2], high[2]; /* of all of them */
};

static void set_block(const struct stu_head *h, int64_t first, struct stu_block *b)
{
    b->first = first;
    b->n = h->n - first < BLOCK ? h->n - first : BLOCK;
    for (int k = 0; k < 2; k++) {
        b->low[k] = INT64_MAX;
        b->high[k] = 0;
    }
    for (int64_t i = 0; i < b->n; i++) {
        b->spans[i] = op_stu_span_of(h->c, first + i, h->n, h->targets);
        for (int k = 0; k < 2; k++) {
            const struct op_stu_span *s = &b->spans[i];
            if (s->from[k] >= s->to[k])
                continue;
            b->low[k] = s->from[k] < b->low[k] ? s->from[k] : b->low[k];
            b->high[k] = s->to[k] > b->high[k] ? s->to[k] : b->high[k];
        }
    }
}

static bool sees(const struct stu_block *b, int64_t from, int64_t to)
{
    return (b->low[0] < to && b->high[0] > from) || (b->low[1] < to && b->high[1] > from);
}

/* The part of a span in columns [from, from + n), counted from there. */
static void cut(const struct op_stu_span *s, int k, int64_t from, int64_t n,
                int64_t *begin, int64_t *end)
{
    int64_t a = s->from[k] - from, b = s->to[k] - from;
    *begin = a < 0 ? 0 : a > n ? n : a;
    *end = b < *begin ? *begin : b > n ? n : b;
}

/* y[m][BLOCK] = alpha * a b^T; heads are up to NN_STU_WIDTH_MAX wide. */
static void dots(const float *a, int64_t lda, int64_t m, const float *b, int64_t ldb,
                 int64_t n, int64_t k, float *y)
{
    for (int64_t at = 0; at < k; at += GEMM_SMALL_K) {
        struct gemm_small p = {.a = a + at,
                               .lda = lda,
                               .b = b + at,
                               .ldb = ldb,
                               .m = m,
                               .n = n,
                               .k = k - at < GEMM_SMALL_K ? k - at : GEMM_SMALL_K,
                               .turned = true};
        gemm_small(&p, at > 0, y, BLOCK);
    }
}

/* y += w[m][BLOCK] x, with n rows of x. */
static void mix(const float *w, int64_t m, int64_t n, const float *x, int64_t ld_x,
                int64_t width, float *y, int64_t ld_y)
{
    struct gemm_small p = {
        .a = w, .lda = BLOCK, .b = x, .ldb = ld_x, .m = m, .n = width, .k = n};
    gemm_small(&p, true, y, ld_y);
}

/* Adds biases to scores of columns [from, from + n) of a token. */
static void add_bias(const struct stu_head *h, int64_t token, int64_t from, int64_t n,
                     float *x)
{
    int64_t at = place_of(h, token), last = h->n - h->targets;
    int64_t plain = last - from < 0 ? 0 : last - from < n ? last - from : n;
    kernels()->add(x, h->line + from - at, plain);
    for (int64_t j = plain; j < n; j++) /* a candidate sees no other than itself */
        x[j] += h->line[0];
}

static void add_slopes(const struct stu_head *h, int64_t token, int64_t from, int64_t n,
                       const float *d)
{
    int64_t at = place_of(h, token), last = h->n - h->targets;
    int64_t plain = last - from < 0 ? 0 : last - from < n ? last - from : n;
    kernels()->axpy(h->d_line + from - at, 1.0f / h->c->alpha, d, plain);
    for (int64_t j = plain; j < n; j++)
        h->d_line[0] += d[j] / h->c->alpha;
}

/* x -> silu(alpha x) * scale; and, with slope, alpha * scale * silu'(alpha x) in place of x. */
CLONED static void weigh(float *restrict w, float *restrict x,
                         const float *restrict sigmoid, float alpha, float scale,
                         bool slope, int64_t n)
{
    for (int64_t j = 0; j < n; j++) {
        float s = sigmoid[j], z = x[j];
        w[j] = z * s * scale;
        if (slope)
            x[j] = s * (1.0f + z * (1.0f - s)) * alpha * scale;
    }
}

/* Scores x[b->n][BLOCK] of columns [from, from + n) become weights w; outside of what a
 * token sees they are 0. With `slope` x becomes their derivative, 0 as well.
 */
static void weights(const struct stu_head *h, const struct stu_block *b, int64_t from,
                    int64_t n, bool slope, float *x, float *w)
{
    float sigmoid[BLOCK];
    for (int64_t i = 0; i < b->n; i++) {
        float *xi = x + i * BLOCK, *wi = w + i * BLOCK;
        int64_t done = 0;
        for (int k = 0; k < 2; k++) {
            int64_t begin, end;
            cut(&b->spans[i], k, from, n, &begin, &end);
            begin = begin < done ? done : begin;
            if (end <= begin)
                continue;
            memset(wi + done, 0, (size_t)(begin - done) * sizeof(float));
            if (slope)
                memset(xi + done, 0, (size_t)(begin - done) * sizeof(float));
            kernels()->scale(xi + begin, h->c->alpha, end - begin);
            if (h->line)
                add_bias(h, b->first + i, from + begin, end - begin, xi + begin);
            kernels()->act[KERNEL_SIGMOID].value(sigmoid, xi + begin, 0, end - begin);
            weigh(wi + begin, xi + begin, sigmoid, h->c->alpha, h->c->scale, slope,
                  end - begin);
            done = end;
        }
        memset(wi + done, 0, (size_t)(n - done) * sizeof(float));
        if (slope)
            memset(xi + done, 0, (size_t)(n - done) * sizeof(float));
    }
}

static int64_t at_most(int64_t n)
{
    return n < BLOCK ? n : BLOCK;
}

static void head_forward(const struct stu_head *h)
{
    const struct nn_stu_conf *c = h->c;
    _Alignas(64) float x[BLOCK * BLOCK], w[BLOCK * BLOCK];
    for (int64_t first = 0; first < h->n; first += BLOCK) {
        struct stu_block b;
        set_block(h, first, &b);
        for (int64_t i = 0; i < b.n; i++)
            memset(h->out + (first + i) * h->ld_out, 0,
                   (size_t)c->hidden * sizeof(float));
        for (int64_t from = 0; from < h->n; from += BLOCK) {
            int64_t n = at_most(h->n - from);
            if (!sees(&b, from, from + n))
                continue;
            dots(h->query + first * h->ld, h->ld, b.n, h->key + from * h->ld, h->ld, n,
                 c->attention, x);
            weights(h, &b, from, n, false, x, w);
            mix(w, b.n, n, h->value + from * h->ld, h->ld, c->hidden,
                h->out + first * h->ld_out, h->ld_out);
        }
    }
}

static void turn(float *restrict y, const float *restrict x, int64_t m, int64_t n)
{
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++)
            y[j * BLOCK + i] = x[i * BLOCK + j];
}

static void head_backward(const struct stu_head *h)
{
    const struct nn_stu_conf *c = h->c;
    _Alignas(64) float x[BLOCK * BLOCK], w[BLOCK * BLOCK], d[BLOCK * BLOCK],
        turned[BLOCK * BLOCK];
    for (int64_t first = 0; first < h->n; first += BLOCK) {
        struct stu_block b;
        set_block(h, first, &b);
        const float *q = h->query + first * h->ld, *dy = h->d_out + first * h->ld_out;
        for (int64_t from = 0; from < h->n; from += BLOCK) {
            int64_t n = at_most(h->n - from);
            if (!sees(&b, from, from + n))
                continue;
            const float *k = h->key + from * h->ld, *v = h->value + from * h->ld;
            dots(q, h->ld, b.n, k, h->ld, n, c->attention, x);
            weights(h, &b, from, n, true, x, w);
            turn(turned, w, b.n, n);
            mix(turned, n, b.n, dy, h->ld_out, c->hidden, h->d_value + from * h->ld,
                h->ld);
            dots(dy, h->ld_out, b.n, v, h->ld, n, c->hidden, d);
            for (int64_t i = 0; i < b.n; i++) {
                kernels()->mul(d + i * BLOCK, d + i * BLOCK, x + i * BLOCK, n);
                if (h->d_line)
                    add_slopes(h, first + i, from, n, d + i * BLOCK);
            }
            mix(d, b.n, n, k, h->ld, c->attention, h->d_query + first * h->ld, h->ld);
            turn(turned, d, b.n, n);
            mix(turned, n, b.n, q, h->ld, c->attention, h->d_key + from * h->ld, h->ld);
        }
    }
}

/* Row b of the batch; the heads' columns are set by head_at(). */
static struct stu_head row_of(const struct op_run *r, int64_t b, int64_t *from)
{
    const struct op_stu_conf *x = r->conf;
    const int64_t *at = r->env->rows.offsets[r->out_axis[0]];
    const int64_t *targets = x->c.targets > 0 ? r->env->rows.offsets[x->c.targets] : NULL;
    *from = at[b];
    return (struct stu_head){.c = &x->c,
                             .n = at[b + 1] - at[b],
                             .targets = targets ? targets[b + 1] - targets[b] : 0,
                             .ld = r->in[0].ld,
                             .ld_out = r->out[0].ld};
}

static int64_t value_col(const struct nn_stu_conf *c, int64_t head)
{
    return (c->heads + head) * c->hidden;
}

static int64_t query_col(const struct nn_stu_conf *c, int64_t head)
{
    return 2 * c->heads * c->hidden + head * c->attention;
}

static void head_at(const struct op_run *r, int64_t from, int64_t head,
                    struct stu_head *h)
{
    const struct nn_stu_conf *c = h->c;
    const float *x = view_row(&r->in[0], from);
    h->value = x + value_col(c, head);
    h->query = x + query_col(c, head);
    h->key = h->query + c->heads * c->attention;
}

static enum rc stu_setup(const void *conf, const struct nn_shape *in,
                         const struct nn_shape *out, bool training, void **state,
                         struct err *err)
{
    struct stu_state *s = mem_calloc(1, sizeof(*s));
    s->training = training;
    *state = s;
    return RC_OK;
}

static void stu_teardown(void *state)
{
    struct stu_state *s = state;
    if (!s)
        return;
    mem_free(s->line);
    mem_free(s->sums);
    mem_free(s);
}

/* Room that never shrinks; a step has no way to fail. */
static void make_room(float **at, int64_t *room, int64_t n)
{
    if (n <= *room)
        return;
    mem_free(*at);
    *at = mem_alloc((size_t)n * sizeof(**at));
    *room = n;
}

static int64_t longest_row(const struct op_run *r)
{
    const int64_t *at = r->env->rows.offsets[r->out_axis[0]];
    int64_t most = 0;
    for (int64_t b = 0; b < r->env->rows.n[AXIS_BATCH]; b++)
        most = at[b + 1] - at[b] > most ? at[b + 1] - at[b] : most;
    return most;
}

static void stu_begin(const struct op_run *r)
{
    struct stu_state *s = r->state;
    if (!r->n_params)
        return;
    const float *bias = r->params[0]->value;
    int64_t n = r->params[0]->n;
    s->most = longest_row(r);
    s->rows = r->env->rows.n[AXIS_BATCH];
    make_room(&s->line, &s->line_room, 2 * s->most + 1);
    if (s->training)
        make_room(&s->sums, &s->sums_room, s->rows * (2 * s->most + 1));
    for (int64_t d = 0; d <= s->most; d++)
        s->line[s->most - d] = s->line[s->most + d] = bias[d < n ? d : n - 1];
}

static void stu_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct stu_state *s = r->state;
    for (int64_t b = begin; b < end; b++) {
        int64_t from;
        struct stu_head h = row_of(r, b, &from);
        h.line = r->n_params ? s->line + s->most : NULL;
        for (int64_t k = 0; h.n && k < h.c->heads; k++) {
            head_at(r, from, k, &h);
            h.out = view_row(&r->out[0], from) + k * h.c->hidden;
            head_forward(&h);
        }
    }
}

static void stu_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct stu_state *s = r->state;
    int64_t width = 2 * s->most + 1;
    for (int64_t b = begin; r->d_in[0].data && b < end; b++) {
        int64_t from;
        struct stu_head h = row_of(r, b, &from);
        if (r->n_params) {
            h.line = s->line + s->most;
            h.d_line = s->sums + b * width + s->most;
            memset(s->sums + b * width, 0, (size_t)width * sizeof(float));
        }
        for (int64_t k = 0; h.n && k < h.c->heads; k++) {
            float *d = view_row(&r->d_in[0], from);
            head_at(r, from, k, &h);
            h.d_out = view_row(&r->d_out[0], from) + k * h.c->hidden;
            h.ld_out = r->d_out[0].ld;
            h.d_value = d + value_col(h.c, k);
            h.d_query = d + query_col(h.c, k);
            h.d_key = h.d_query + h.c->heads * h.c->attention;
            head_backward(&h);
        }
    }
}

/* Slopes of distances, those of both signs, over all rows. */
static void stu_grads(const struct op_run *r)
{
    const struct stu_state *s = r->state;
    if (!r->n_params || !r->params[0]->grad || !r->d_in[0].data)
        return;
    int64_t n = r->params[0]->n;
    for (int64_t d = 0; d <= s->most; d++) {
        double sum = 0;
        for (int64_t b = 0; b < s->rows; b++) {
            const float *middle = s->sums + b * (2 * s->most + 1) + s->most;
            sum += (double)middle[d] + (d ? (double)middle[-d] : 0);
        }
        r->params[0]->grad[d < n ? d : n - 1] += (float)sum;
    }
}

const struct nn_cpu_op nn_cpu_stu_attention = {
    .setup = stu_setup,
    .teardown = stu_teardown,
    .begin = stu_begin,
    .forward = stu_forward,
    .backward = stu_backward,
    .grads = stu_grads,
};

/* --- the gate --- */

#define GRAD_PARTS 64
#define GRAD_ROWS 256

struct gate_state {
    float *weight, *bias; /* [width]: of each value */
    double *parts;
};

static void gate_teardown(void *state)
{
    struct gate_state *s = state;
    if (!s)
        return;
    mem_free(s->weight);
    mem_free(s->bias);
    mem_free(s->parts);
    mem_free(s);
}

static enum rc gate_setup(const void *conf, const struct nn_shape *in,
                          const struct nn_shape *out, bool training, void **state,
                          struct err *err)
{
    const struct op_stu_gate_conf *c = conf;
    struct gate_state *s = mem_calloc(1, sizeof(*s));
    s->weight = mem_try_alloc((size_t)c->width, sizeof(float));
    s->bias = mem_try_alloc((size_t)c->width, sizeof(float));
    s->parts = mem_try_alloc((size_t)c->width, GRAD_PARTS * 2 * sizeof(double));
    if (!s->weight || !s->bias || !s->parts) {
        gate_teardown(s);
        return err_set(err, RC_NOMEM, "no memory for %jd weights", (intmax_t)c->width);
    }
    *state = s;
    return RC_OK;
}

static void gate_begin(const struct op_run *r)
{
    const struct op_stu_gate_conf *c = r->conf;
    struct gate_state *s = r->state;
    int64_t each = c->width / c->weights;
    for (int64_t i = 0; i < c->width; i++) {
        s->weight[i] = r->params[0]->value[i / each];
        s->bias[i] = r->params[1]->value[i / each];
    }
}

static void gate_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct op_stu_gate_conf *c = r->conf;
    const struct gate_state *s = r->state;
    int64_t from, to, n = c->width, each = c->width / c->groups;
    nn_cpu_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t k = from; k < to; k++) {
        float *y = view_row(&r->out[0], k);
        const float *o = view_row(&r->in[1], k);
        kernels()->act[KERNEL_SILU].value(y, view_row(&r->in[0], k), 0, n);
        memcpy(y + n, o, (size_t)n * sizeof(float));
        for (int64_t g = 0; g < c->groups; g++)
            kernels()->layer_norm(y + 2 * n + g * each, o + g * each,
                                  s->weight + g * each, s->bias + g * each, NN_STU_EPS,
                                  view_row(&r->keep, k) + 2 * g, each);
        kernels()->mul(y + 2 * n, y + 2 * n, y, n);
    }
}

/* d[0 .. n) becomes the gradient of the gate behind silu, d[2 n .. 3 n) that of the norm. */
CLONED static void through_product(float *restrict d, float *restrict dn,
                                   const float *restrict gate, const float *restrict o,
                                   const float *restrict weight,
                                   const float *restrict bias, float mean, float inverse,
                                   int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        d[i] += dn[i] * ((o[i] - mean) * inverse * weight[i] + bias[i]);
        dn[i] *= gate[i];
    }
}

/* d_out is ours: what is behind the product takes its place, which gate_grads() reads. */
static void gate_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct op_stu_gate_conf *c = r->conf;
    const struct gate_state *s = r->state;
    int64_t from, to, n = c->width, each = c->width / c->groups;
    nn_cpu_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t k = from; k < to; k++) {
        float *d = view_row(&r->d_out[0], k), *dn = d + 2 * n;
        const float *o = view_row(&r->in[1], k), *y = view_row(&r->out[0], k);
        for (int64_t g = 0; g < c->groups; g++) {
            const float *stats = view_row(&r->keep, k) + 2 * g;
            int64_t at = g * each;
            through_product(d + at, dn + at, y + at, o + at, s->weight + at, s->bias + at,
                            stats[0], stats[1], each);
            if (r->d_in[1].data)
                kernels()->layer_norm_grad(view_row(&r->d_in[1], k) + at, dn + at, o + at,
                                           s->weight + at, stats, each);
        }
        if (r->d_in[1].data)
            kernels()->add(view_row(&r->d_in[1], k), d + n, n);
        if (r->d_in[0].data)
            kernels()->act[KERNEL_SILU].grad(view_row(&r->d_in[0], k), d,
                                             view_row(&r->in[0], k), 0, n);
    }
}

CLONED static void add_to_part(double *restrict p, const float *restrict dn,
                               const float *restrict o, const float *restrict stats,
                               int64_t n, int64_t width)
{
    for (int64_t i = 0; i < n; i++) {
        p[i] += (double)dn[i] * (double)((o[i] - stats[0]) * stats[1]);
        p[width + i] += (double)dn[i];
    }
}

static void gate_part(void *arg, int64_t begin, int64_t end, void *part)
{
    const struct op_run *r = arg;
    const struct op_stu_gate_conf *c = r->conf;
    int64_t each = c->width / c->groups;
    memset(part, 0, (size_t)(2 * c->width) * sizeof(double));
    for (int64_t k = begin; k < end; k++)
        for (int64_t g = 0; g < c->groups; g++)
            add_to_part((double *)part + g * each,
                        view_row(&r->d_out[0], k) + 2 * c->width + g * each,
                        view_row(&r->in[1], k) + g * each, view_row(&r->keep, k) + 2 * g,
                        each, c->width);
}

static void gate_join(void *arg, const void *part)
{
    const struct op_run *r = arg;
    const struct op_stu_gate_conf *c = r->conf;
    const double *p = part;
    int64_t each = c->width / c->weights;
    for (int w = 0; w < 2; w++)
        for (int64_t at = 0; r->params[w]->grad && at < c->width; at += each) {
            double sum = 0;
            for (int64_t i = at; i < at + each; i++)
                sum += p[w * c->width + i];
            r->params[w]->grad[at / each] += (float)sum;
        }
}

static void gate_grads(const struct op_run *r)
{
    const struct op_stu_gate_conf *c = r->conf;
    struct gate_state *s = r->state;
    struct op_run copy = *r;
    int64_t rows = r->out[0].rows, least = (rows + GRAD_PARTS - 1) / GRAD_PARTS;
    pool_reduce(r->env->pool, rows, least > GRAD_ROWS ? least : GRAD_ROWS, gate_part,
                gate_join, &copy, s->parts, (size_t)(2 * c->width) * sizeof(double));
}

const struct nn_cpu_op nn_cpu_stu_gate = {
    .setup = gate_setup,
    .teardown = gate_teardown,
    .begin = gate_begin,
    .forward = gate_forward,
    .backward = gate_backward,
    .grads = gate_grads,
};
