/* SPDX-License-Identifier: Apache-2.0 */
/* Linear layers in bf16: factors are rounded into memory of the layer, or come as bf16 from the
 * layer before; sums are f32. The rounded input and weight of the forward pass serve the backward
 * pass, too. Columns of zeros fill rows up to 16 bytes; a layer with an odd number of outputs has
 * outputs of zeros behind them, which nobody reads.
 */
#include <cuda_runtime_api.h>

#include "cuda/op/linear.h"
#include "nn/op/linear.h"

#define MULTIPLE 8 /* of elements: 16 bytes */

static int64_t rounded_up(int64_t n)
{
    return (n + MULTIPLE - 1) / MULTIPLE * MULTIPLE;
}

/* A view whose rows hold two values in the place of a float. */
static struct cuda_rows16 halves_of(const struct view *v)
{
    return (struct cuda_rows16){(uint16_t *)v->data, v->rows, v->width, 2 * v->ld};
}

static struct blas_matrix plain(struct cuda_rows16 v)
{
    return (struct blas_matrix){v.at, v.ld, false, true};
}

static struct blas_matrix turned(struct cuda_rows16 v)
{
    return (struct blas_matrix){v.at, v.ld, true, true};
}

static struct blas_out result(const struct view *v)
{
    bool half = v->dtype == DT_BF16;
    return (struct blas_out){v->data, v->rows, v->width, half ? 2 * v->ld : v->ld, half};
}

/* Where the factors are; they are made by the forward pass. */
struct factors {
    struct cuda_rows16 x, w, bias;
};

static struct factors factors_of(const struct cuda_run *r)
{
    const struct op_linear_conf *c = r->op->conf;
    const struct cuda_linear *l = r->op->state;
    int64_t wide = rounded_up(r->op->params[0]->dims[1]), out = rounded_up(c->out);
    const struct cuda_room *x = l->same ? &l->same->x : &l->x;
    struct factors f = {.w = {l->w.at, out, wide, wide}};
    f.bias = (struct cuda_rows16){f.w.at + out * wide, 1, c->out, c->out};
    f.x = l->in16 ? halves_of(&r->op->in[0])
                  : (struct cuda_rows16){x->at, r->op->in[0].rows, wide, wide};
    return f;
}

static bool reserve(const struct cuda_run *r)
{
    const struct op_linear_conf *c = r->op->conf;
    struct cuda_linear *l = r->op->state;
    size_t wide = (size_t)rounded_up(r->op->params[0]->dims[1]);
    size_t rows = l->in16 || l->same ? 0 : (size_t)r->op->in[0].rows;
    size_t out = (size_t)rounded_up(c->out);
    bool there = cuda_room_card(&l->w, (out * wide + out) * 2) &&
                 cuda_room_card(&l->x, rows * wide * 2);
    if (!there)
        cuda_note(r->cuda, cudaErrorMemoryAllocation);
    return there;
}

static void round_factors(const struct cuda_run *r, const struct factors *f)
{
    const struct op_linear_conf *c = r->op->conf;
    const struct cuda_linear *l = r->op->state;
    const struct param *w = r->op->params[0];
    int64_t in = w->dims[1];
    cuda_stream s = r->cuda->stream;
    struct cuda_rows16 used = f->w;
    used.rows = c->out;
    cuda_to_bf16(s, (struct cuda_rows){w->value + c->from * in, c->out, in, in}, used);
    if (f->w.rows > c->out)
        cuda_note(r->cuda,
                  (int)cudaMemsetAsync(f->w.at + c->out * f->w.ld, 0,
                                       (size_t)((f->w.rows - c->out) * f->w.ld) * 2, s));
    if (c->bias && l->out16)
        cuda_to_bf16(
            s, (struct cuda_rows){r->op->params[1]->value + c->from, 1, c->out, c->out},
            f->bias);
    if (!l->in16 && !l->same)
        cuda_to_bf16(s, cuda_in(r, 0), f->x);
}

/* A result in bf16 has a bias and no activation but ReLU (linear_plan.c). */
static bool forward_at_once(const struct cuda_run *r, const struct factors *f)
{
    const struct op_linear_conf *c = r->op->conf;
    const struct cuda_linear *l = r->op->state;
    bool relu = c->act == GEMM_ACT_RELU;
    if (!c->bias || f->w.rows > c->out || (!relu && c->act != GEMM_ACT_NONE))
        return false;
    const void *bias =
        l->out16 ? (const void *)f->bias.at : r->op->params[1]->value + c->from;
    return blas_product_then(&r->cuda->blas, BLAS_BF16, plain(f->x), turned(f->w),
                             f->x.width, result(&r->op->out[0]),
                             (struct blas_after){bias, relu});
}

/* The product into y, by way of rows of 16 bytes where its own are shorter. */
static void product(const struct cuda_run *r, const struct factors *f)
{
    const struct op_linear_conf *c = r->op->conf;
    struct blas_out to = result(&r->op->out[0]);
    int64_t wide = f->w.rows;
    if (wide > c->out) {
        float *room = cuda_scratch(r->cuda, to.rows * wide);
        if (!room)
            return;
        to = (struct blas_out){room, to.rows, wide, wide, false};
    }
    cuda_note(r->cuda, blas_product(&r->cuda->blas, BLAS_BF16, plain(f->x), turned(f->w),
                                    f->x.width, false, to));
    if (wide > c->out)
        cuda_put(r->cuda->stream, (struct cuda_rows){to.at, to.rows, c->out, wide},
                 cuda_out(r), false);
}

void cuda_linear_bf16_forward(const struct cuda_run *r)
{
    const struct op_linear_conf *c = r->op->conf;
    const struct cuda_linear *l = r->op->state;
    if (!reserve(r))
        return;
    struct factors f = factors_of(r);
    round_factors(r, &f);
    if (forward_at_once(r, &f))
        return;
    if (l->out16) {
        cuda_note(r->cuda, cudaErrorNotSupported);
        return;
    }
    product(r, &f);
    cuda_bias_act(r->cuda->stream, c->bias ? r->op->params[1]->value + c->from : NULL,
                  cuda_act_of(c->act), cuda_out(r));
}

/* The gradient before the activation as bf16, and the bias's. `scratch` has room for both. */
static struct cuda_rows16 back_to_product(const struct cuda_run *r, float *scratch)
{
    const struct op_linear_conf *c = r->op->conf;
    const struct cuda_linear *l = r->op->state;
    const struct view *y = &r->op->out[0], *dy = &r->op->d_out[0];
    enum cuda_act_kind act = cuda_act_of(c->act);
    float *grad = c->bias ? r->op->params[1]->grad : NULL;
    float *sums = grad ? grad + c->from : NULL;
    float *parts = scratch, *room = scratch + cuda_back_scratch(c->out);
    int64_t wide = rounded_up(c->out);
    struct cuda_rows16 to = {(uint16_t *)room, dy->rows, c->out, wide};
    if (wide > c->out)
        cuda_note(r->cuda, (int)cudaMemsetAsync(room, 0, (size_t)(dy->rows * wide) * 2,
                                                r->cuda->stream));
    if (l->out16) {
        to = halves_of(dy);
        cuda_act_back_sums16(r->cuda->stream, act, halves_of(y), to, to, parts, sums);
    } else {
        cuda_act_back_sums_to16(r->cuda->stream, act, cuda_view(y), cuda_view(dy), to,
                                parts, sums);
        to.width = wide;
    }
    return to;
}

/* Columns behind a row of its own are written, too: products of whole 16 bytes are faster. */
static void input_grad(const struct cuda_run *r, const struct factors *f,
                       struct cuda_rows16 dy)
{
    const struct cuda_linear *l = r->op->state;
    struct blas_out to = result(&r->op->d_in[0]);
    if (l->own_stride && to.ld <= f->w.width)
        to.width = to.ld;
    cuda_note(r->cuda, blas_product(&r->cuda->blas, BLAS_BF16, plain(dy), plain(f->w),
                                    dy.width, cuda_adds(r, 0), to));
}

static void weight_grad(const struct cuda_run *r, const struct factors *f,
                        struct cuda_rows16 dy, float *room)
{
    const struct op_linear_conf *c = r->op->conf;
    const struct param *w = r->op->params[0];
    int64_t in = w->dims[1], wide = f->x.width;
    if (!w->grad)
        return;
    struct cuda_rows dw = {w->grad + c->from * in, c->out, in, in};
    struct cuda_rows padded = {room, dy.width, wide, wide};
    bool direct = wide == in && dy.width == c->out;
    struct cuda_rows to = direct ? dw : padded;
    cuda_note(r->cuda,
              blas_product(&r->cuda->blas, BLAS_BF16, turned(dy), plain(f->x), dy.rows,
                           direct,
                           (struct blas_out){to.at, to.rows, to.width, to.ld, false}));
    padded.rows = c->out;
    if (!direct)
        cuda_put(r->cuda->stream, cuda_cols(padded, 0, in), dw, true);
}

void cuda_linear_bf16_backward(const struct cuda_run *r)
{
    const struct op_linear_conf *c = r->op->conf;
    const struct factors f = factors_of(r);
    int64_t sums = cuda_back_scratch(c->out), rows = r->op->d_out[0].rows;
    int64_t out = rounded_up(c->out);
    int64_t halves = rows * out / 2 + MULTIPLE, padded = out * f.x.width;
    float *scratch = cuda_scratch(r->cuda, sums + halves + padded + 4);
    if (!scratch)
        return;
    struct cuda_rows16 dy = back_to_product(r, scratch);
    if (cuda_wants(r, 0))
        input_grad(r, &f, dy);
    weight_grad(r, &f, dy, scratch + sums + (halves + 3) / 4 * 4);
}
