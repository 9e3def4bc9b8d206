/* SPDX-License-Identifier: Apache-2.0 */
/* Linear layers: three products by cuBLAS. Bias and ReLU are part of the first where cuBLAS has one
 * that does it; what goes back through the activation is summed for the bias in the same pass.
 * Rows whose floats are no multiple of four are multiplied with columns of zeros behind them,
 * which the tensor cores are several times faster with. Layers in bf16 are in linear_bf16.c.
 */
#include "nn/op/linear.h"

#include "cuda/op/linear.h"
#include "cuda/op/op.h"
#include "cuda/op/product.h"

static void multiply(const struct cuda_run *r, struct blas_matrix x, struct blas_matrix y,
                     int64_t k, bool add, struct cuda_rows out)
{
    const struct op_linear_conf *c = r->op->conf;
    cuda_multiply(r, c->precision, x, y, k, add, out);
}

/* The factors of a layer, with columns of zeros where their width is no multiple of four. */
struct factors {
    struct cuda_rows x, w;
    float *rest; /* of the scratch */
};

static bool is_padded(const struct cuda_run *r, struct cuda_rows x)
{
    const struct cuda_linear *l = r->op->state;
    return l->own_stride && x.ld == cuda_padded(x.width);
}

/* Scratch of a pass: padded factors, the gradient of the weight, sums. */
static int64_t scratch_floats(const struct op_linear_conf *c, struct cuda_rows x)
{
    int64_t wide = cuda_padded(x.width);
    int64_t factors = wide == x.width ? 0 : wide * (2 * c->out + x.rows);
    return factors + cuda_back_scratch(c->out);
}

/* False: the card has no memory, which is noted. */
static bool take_factors(const struct cuda_run *r, struct factors *f)
{
    const struct op_linear_conf *c = r->op->conf;
    int64_t in = r->op->params[0]->dims[1], wide = cuda_padded(in);
    cuda_stream s = r->cuda->stream;
    f->x = cuda_flat(cuda_in(r, 0), in);
    f->w = (struct cuda_rows){r->op->params[0]->value + c->from * in, c->out, in, in};
    f->rest = cuda_scratch(r->cuda, scratch_floats(c, f->x));
    if (!f->rest || wide == in)
        return f->rest != NULL;
    struct cuda_rows w = {f->rest, c->out, wide, wide};
    struct cuda_rows x = {f->rest + c->out * wide, f->x.rows, wide, wide};
    cuda_pad(s, f->w, w);
    if (is_padded(r, f->x))
        x = (struct cuda_rows){f->x.at, f->x.rows, wide, wide};
    else
        cuda_pad(s, f->x, x);
    f->rest += wide * (c->out + x.rows);
    f->w = w;
    f->x = x;
    return true;
}

static bool forward_at_once(const struct cuda_run *r, const struct factors *f,
                            struct cuda_rows y)
{
    const struct op_linear_conf *c = r->op->conf;
    bool relu = c->act == GEMM_ACT_RELU;
    if (!c->bias || (!relu && c->act != GEMM_ACT_NONE))
        return false;
    return blas_product_then(
        &r->cuda->blas, cuda_precision(r, c->precision), cuda_plain(f->x),
        cuda_turned(f->w), f->x.width,
        (struct blas_out){y.at, y.rows, y.width, y.ld, false},
        (struct blas_after){r->op->params[1]->value + c->from, relu});
}

static void linear_forward(const struct cuda_run *r)
{
    const struct op_linear_conf *c = r->op->conf;
    struct cuda_rows y = cuda_flat(cuda_out(r), c->out);
    struct cuda_rows x = cuda_flat(cuda_in(r, 0), r->op->params[0]->dims[1]);
    struct factors f;
    if (((const struct cuda_linear *)r->op->state)->bf16) {
        cuda_linear_bf16_forward(r);
        return;
    }
    if (is_padded(r, x) && x.ld > x.width)
        cuda_fill(r->cuda->stream, cuda_cols(x, x.width, x.ld - x.width), 0);
    if (!take_factors(r, &f) || forward_at_once(r, &f, y))
        return;
    multiply(r, cuda_plain(f.x), cuda_turned(f.w), f.x.width, false, y);
    cuda_bias_act(r->cuda->stream, c->bias ? r->op->params[1]->value + c->from : NULL,
                  cuda_act_of(c->act), y);
}

static void input_grad(const struct cuda_run *r, const struct factors *f,
                       struct cuda_rows dy)
{
    const struct op_linear_conf *c = r->op->conf;
    const struct param *w = r->op->params[0];
    int64_t in = w->dims[1];
    struct cuda_rows dx = cuda_flat(cuda_d_in(r, 0), in);
    if (!cuda_wants(r, 0))
        return;
    if (is_padded(r, dx))
        multiply(r, cuda_plain(dy), cuda_plain(f->w), c->out, cuda_adds(r, 0),
                 (struct cuda_rows){dx.at, dx.rows, dx.ld, dx.ld});
    else
        multiply(r, cuda_plain(dy),
                 (struct blas_matrix){w->value + c->from * in, in, false, false}, c->out,
                 cuda_adds(r, 0), dx);
}

static void weight_grad(const struct cuda_run *r, const struct factors *f,
                        struct cuda_rows dy)
{
    const struct op_linear_conf *c = r->op->conf;
    const struct param *w = r->op->params[0];
    int64_t in = w->dims[1], wide = f->x.width;
    if (!w->grad)
        return;
    struct cuda_rows dw = {w->grad + c->from * in, c->out, in, in};
    struct cuda_rows padded = {f->rest, c->out, wide, wide};
    multiply(r, cuda_turned(dy), cuda_plain(f->x), dy.rows, wide == in,
             wide == in ? dw : padded);
    if (wide != in)
        cuda_put(r->cuda->stream, cuda_cols(padded, 0, in), dw, true);
}

/* d_out becomes the gradient before the activation, in place: nobody else reads it. */
static void linear_backward(const struct cuda_run *r)
{
    const struct op_linear_conf *c = r->op->conf;
    struct cuda_rows y = cuda_flat(cuda_out(r), c->out),
                     dy = cuda_flat(cuda_d_out(r), c->out);
    float *sums = c->bias ? r->op->params[1]->grad : NULL;
    struct factors f;
    if (((const struct cuda_linear *)r->op->state)->bf16) {
        cuda_linear_bf16_backward(r);
        return;
    }
    if (!take_factors(r, &f))
        return;
    if (sums || c->act != GEMM_ACT_NONE)
        cuda_act_back_sums(r->cuda->stream, cuda_act_of(c->act), y, dy, dy, f.rest,
                           sums ? sums + c->from : NULL);
    input_grad(r, &f, dy);
    weight_grad(r, &f, dy);
}

const struct cuda_op cuda_op_linear = {.forward = linear_forward,
                                       .backward = linear_backward};
