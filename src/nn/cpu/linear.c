/* SPDX-License-Identifier: Apache-2.0 */
/* Linear layer with a fused activation. The activation's derivative is taken from the
 * output, which holds for the four that are fused.
 *
 * Where columns of the input are equal in all rows (a user beside many candidates), their
 * product is worked out once and is the bias of that of the others.
 */
#include "nn/op/linear.h"

#include <string.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "nn/cpu/cpu.h"
#include "tensor/gemm.h"
#include "tensor/kernel.h"

#define ONCE_LEAST 16    /* columns, and rows, that are worth it */
#define ROOM_FLOATS 8192 /* of the other columns, laid beside each other */

struct linear_state {
    struct gemm_weight *all;
    /* The weight taken apart, by columns that are equal in all rows and others. */
    struct gemm_weight *once, *rest;
    struct nn_columns *at;   /* [n_at]: those columns; what the weights were made for */
    struct nn_columns *runs; /* [n_runs]: the others */
    int n_at, n_runs;
    int64_t n_once, n_rest;
    float *columns; /* of the weight: [out][the wider of both]; then a row of them */
    float *base;    /* [out]: the product of columns that are equal, and the bias */
    bool on;        /* in this pass */
};

/* A row of dims [.., n] is several rows of n to the product. */
static struct view flat(struct view v, int64_t n)
{
    int64_t per_row = v.width / n;
    if (per_row == 1)
        return v;
    return (struct view){.data = v.data, .rows = v.rows * per_row, .width = n, .ld = n};
}

static void forget_parts(struct linear_state *s)
{
    gemm_weight_destroy(s->once);
    gemm_weight_destroy(s->rest);
    mem_free(s->at);
    mem_free(s->runs);
    mem_free(s->columns);
    mem_free(s->base);
    *s = (struct linear_state){.all = s->all};
}

static void linear_teardown(void *state)
{
    struct linear_state *s = state;
    if (!s)
        return;
    forget_parts(s);
    gemm_weight_destroy(s->all);
    mem_free(s);
}

static enum rc linear_setup(const void *conf, const struct nn_shape *in,
                            const struct nn_shape *out, bool training, void **state,
                            struct err *err)
{
    const struct op_linear_conf *c = conf;
    struct linear_state *s = mem_calloc(1, sizeof(*s));
    enum rc rc = gemm_weight_create(c->out, in[0].dims[in[0].n_dims - 1], c->precision,
                                    training, &s->all, err);
    if (rc)
        mem_free(s);
    else
        *state = s;
    return rc;
}

static unsigned linear_bf16(const void *conf, const void *state)
{
    const struct op_linear_conf *c = conf;
    const struct linear_state *s = state;
    bool out = c->act == GEMM_ACT_NONE || c->act == GEMM_ACT_RELU;
    return (gemm_bf16_in(s->all) ? CPU_BF16_IN : 0) |
           (out && gemm_bf16_out(s->all) ? CPU_BF16_OUT : 0);
}

static void linear_begin(const struct op_run *r)
{
    const struct op_linear_conf *c = r->conf;
    const struct linear_state *s = r->state;
    gemm_pack(s->all, r->params[0]->value + c->from * r->params[0]->dims[1]);
}

/* Columns of a row beside each other; returns behind the last. */
static float *take_columns(float *to, const float *row, const struct nn_columns *at,
                           int n)
{
    for (int i = 0; i < n; i++) {
        memcpy(to, row + at[i].from, (size_t)(at[i].to - at[i].from) * sizeof(float));
        to += at[i].to - at[i].from;
    }
    return to;
}

/* What lies between the ranges. */
static void find_runs(struct linear_state *s, int64_t width)
{
    int64_t col = 0;
    for (int i = 0; i <= s->n_at; i++) {
        int64_t end = i < s->n_at ? s->at[i].from : width;
        if (end > col)
            s->runs[s->n_runs++] = (struct nn_columns){col, end};
        s->n_rest += end - col;
        col = i < s->n_at ? s->at[i].to : width;
    }
    s->n_once = width - s->n_rest;
}

static enum rc pack_part(const struct op_run *r, struct linear_state *s,
                         const struct nn_columns *at, int n, int64_t width,
                         struct gemm_weight **out)
{
    const struct op_linear_conf *c = r->conf;
    const struct param *w = r->params[0];
    enum rc rc = gemm_weight_create(c->out, width, c->precision, false, out, NULL);
    float *to = s->columns;
    for (int64_t u = 0; !rc && u < c->out; u++)
        to = take_columns(to, w->value + (c->from + u) * w->dims[1], at, n);
    if (!rc)
        gemm_pack(*out, s->columns);
    return rc;
}

/* Takes the weight apart for other columns than before; false: there is no memory. */
static bool make_parts(const struct op_run *r, struct linear_state *s,
                       const struct nn_columns *at, int n)
{
    const struct op_linear_conf *c = r->conf;
    int64_t width = r->params[0]->dims[1];
    forget_parts(s);
    s->at = mem_calloc((size_t)n, sizeof(*s->at));
    s->runs = mem_calloc((size_t)n + 1, sizeof(*s->runs));
    memcpy(s->at, at, (size_t)n * sizeof(*at));
    s->n_at = n;
    find_runs(s, width);
    s->columns = mem_try_alloc((size_t)(c->out * width), sizeof(float));
    s->base = mem_try_alloc((size_t)c->out, sizeof(float));
    return s->columns && s->base && s->n_rest > 0 &&
           pack_part(r, s, s->at, s->n_at, s->n_once, &s->once) == RC_OK &&
           pack_part(r, s, s->runs, s->n_runs, s->n_rest, &s->rest) == RC_OK;
}

/* With few columns or rows it is not worth a second product. */
static bool is_worth_it(const struct op_run *r, const struct nn_columns *at, int n)
{
    int64_t width = 0, all = r->params[0]->dims[1];
    for (int i = 0; i < n; i++)
        width += at[i].to - at[i].from;
    return width >= ONCE_LEAST && all - width <= ROOM_FLOATS &&
           r->in[0].rows >= ONCE_LEAST && r->in[0].width == all &&
           r->in[0].dtype == DT_F32;
}

static void linear_once(const struct op_run *r, const struct nn_columns *at, int n)
{
    const struct op_linear_conf *c = r->conf;
    struct linear_state *s = r->state;
    s->on = n > 0 && is_worth_it(r, at, n);
    if (!s->on)
        return;
    bool same = s->n_at == n && memcmp(s->at, at, (size_t)n * sizeof(*at)) == 0;
    if (!same && !make_parts(r, s, at, n)) {
        forget_parts(s);
        return;
    }
    if (r->out[0].dtype == DT_BF16 && !gemm_bf16_out(s->rest)) {
        s->on = false;
        return;
    }
    take_columns(s->columns, r->in[0].data, s->at, s->n_at);
    struct view x = {.data = s->columns, .rows = 1, .width = s->n_once, .ld = s->n_once};
    struct view y = {.data = s->base, .rows = 1, .width = c->out, .ld = c->out};
    gemm_forward(s->once, x, c->bias ? r->params[1]->value + c->from : NULL,
                 GEMM_ACT_NONE, y);
    s->on = true;
}

/* The other columns, as they lie or a block of rows at a time beside each other. */
static void forward_rest(const struct op_run *r, int64_t from, int64_t to)
{
    const struct op_linear_conf *c = r->conf;
    const struct linear_state *s = r->state;
    _Alignas(64) float room[ROOM_FLOATS];
    int64_t rows = s->n_runs == 1 ? to - from : ROOM_FLOATS / s->n_rest;
    for (; from < to; from += rows) {
        int64_t end = from + rows < to ? from + rows : to;
        struct view x = view_rows(&r->in[0], from, end);
        if (s->n_runs == 1) {
            x = view_cols(&x, s->runs[0].from, s->n_rest);
        } else {
            float *at = room;
            for (int64_t i = 0; i < x.rows; i++)
                at = take_columns(at, view_row(&x, i), s->runs, s->n_runs);
            x = (struct view){
                .data = room, .rows = x.rows, .width = s->n_rest, .ld = s->n_rest};
        }
        gemm_forward(s->rest, x, s->base, c->act, view_rows(&r->out[0], from, end));
    }
}

static void linear_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct op_linear_conf *c = r->conf;
    const struct linear_state *s = r->state;
    int64_t from, to;
    nn_cpu_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    if (s->on) {
        forward_rest(r, from, to);
        return;
    }
    struct view x = flat(view_rows(&r->in[0], from, to), r->params[0]->dims[1]);
    struct view y = flat(view_rows(&r->out[0], from, to), c->out);
    gemm_forward(s->all, x, c->bias ? r->params[1]->value + c->from : NULL, c->act, y);
}

CLONED static void relu_through_bf16(const uint16_t *restrict y, uint16_t *restrict dy,
                                     int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        dy[i] = (int16_t)y[i] > 0 ? dy[i] : 0;
}

/* d_out becomes the gradient before the activation, in place: nobody else reads it. */
static void through_act(const struct op_linear_conf *c, struct view y, struct view dy)
{
    const struct kernels *k = kernels();
    for (int64_t i = 0; i < y.rows && c->act != GEMM_ACT_NONE; i++)
        if (y.dtype == DT_BF16)
            relu_through_bf16((const uint16_t *)view_row(&y, i),
                              (uint16_t *)view_row(&dy, i), y.width);
        else
            k->act_grad_from_out[c->act](view_row(&y, i), view_row(&dy, i), y.width);
}

static void linear_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct op_linear_conf *c = r->conf;
    const struct linear_state *s = r->state;
    int64_t from, to;
    nn_cpu_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    struct view dy = flat(view_rows(&r->d_out[0], from, to), c->out);
    through_act(c, flat(view_rows(&r->out[0], from, to), c->out), dy);
    if (!r->d_in[0].data)
        return;
    struct view dx = flat(view_rows(&r->d_in[0], from, to), r->params[0]->dims[1]);
    gemm_backward(s->all, dy, !r->d_in_fresh[0], dx);
}

static void linear_grads(const struct op_run *r)
{
    const struct op_linear_conf *c = r->conf;
    const struct linear_state *s = r->state;
    if (!r->params[0]->grad)
        return;
    gemm_gradient(s->all, flat(r->d_out[0], c->out),
                  flat(r->in[0], r->params[0]->dims[1]),
                  r->params[0]->grad + c->from * r->params[0]->dims[1],
                  c->bias ? r->params[1]->grad + c->from : NULL, r->env->pool);
}

const struct nn_cpu_op nn_cpu_linear = {
    .flags = CPU_WRITES | CPU_STRIDED,
    .setup = linear_setup,
    .teardown = linear_teardown,
    .bf16 = linear_bf16,
    .begin = linear_begin,
    .once = linear_once,
    .forward = linear_forward,
    .backward = linear_backward,
    .grads = linear_grads,
};
