/* SPDX-License-Identifier: Apache-2.0 */
/* Linear layers: three products by cuBLAS; bias and activation in a pass behind the first. */
#include "nn/op/linear.h"

#include "cuda/op/op.h"

static enum cuda_act_kind kind_of(enum gemm_act act)
{
    static const enum cuda_act_kind kinds[] = {
        [GEMM_ACT_NONE] = CUDA_ACT_NONE,
        [GEMM_ACT_RELU] = CUDA_ACT_RELU,
        [GEMM_ACT_SIGMOID] = CUDA_ACT_SIGMOID,
        [GEMM_ACT_TANH] = CUDA_ACT_TANH,
    };
    return kinds[act];
}

/* A row of dims [.., n] is several rows of n to the product. */
static struct cuda_rows flat(struct cuda_rows v, int64_t n)
{
    int64_t per_row = v.width / n;
    return per_row == 1 ? v : (struct cuda_rows){v.at, v.rows * per_row, n, n};
}

static void multiply(const struct cuda_run *r, struct blas_matrix x, struct blas_matrix y,
                     int64_t k, bool add, struct cuda_rows out)
{
    const struct op_linear_conf *c = r->op->conf;
    enum blas_precision p = c->precision == GEMM_BF16 ? BLAS_BF16
                            : r->tf32                 ? BLAS_TF32
                                                      : BLAS_F32;
    cuda_note(r->cuda, blas_product(&r->cuda->blas, p, x, y, out.rows, out.width, k, add,
                                    out.at, out.ld));
}

static void linear_forward(const struct cuda_run *r)
{
    const struct op_linear_conf *c = r->op->conf;
    const struct param *w = r->op->params[0];
    int64_t in = w->dims[1];
    struct cuda_rows x = flat(cuda_in(r, 0), in), y = flat(cuda_out(r), c->out);
    multiply(r, (struct blas_matrix){x.at, x.ld, false},
             (struct blas_matrix){w->value + c->from * in, in, true}, in, false, y);
    cuda_bias_act(r->cuda->stream, c->bias ? r->op->params[1]->value + c->from : NULL,
                  kind_of(c->act), y);
}

static void linear_grads(const struct cuda_run *r, struct cuda_rows x,
                         struct cuda_rows dy)
{
    const struct op_linear_conf *c = r->op->conf;
    const struct param *w = r->op->params[0];
    const struct param *b = c->bias ? r->op->params[1] : NULL;
    struct cuda_rows dw = {w->grad ? w->grad + c->from * x.width : NULL, c->out, x.width,
                           x.width};
    if (w->grad)
        multiply(r, (struct blas_matrix){dy.at, dy.ld, true},
                 (struct blas_matrix){x.at, x.ld, false}, dy.rows, true, dw);
    float *scratch =
        b && b->grad ? cuda_scratch(r->cuda, cuda_column_scratch(dy.width)) : NULL;
    if (scratch)
        cuda_column_sums(r->cuda->stream, dy, (struct cuda_rows){0}, scratch,
                         b->grad + c->from);
}

/* d_out becomes the gradient before the activation, in place: nobody else reads it. */
static void linear_backward(const struct cuda_run *r)
{
    const struct op_linear_conf *c = r->op->conf;
    const struct param *w = r->op->params[0];
    int64_t in = w->dims[1];
    struct cuda_rows x = flat(cuda_in(r, 0), in), dy = flat(cuda_d_out(r), c->out);
    cuda_act_from_out(r->cuda->stream, kind_of(c->act), flat(cuda_out(r), c->out), dy);
    if (cuda_wants(r, 0))
        multiply(r, (struct blas_matrix){dy.at, dy.ld, false},
                 (struct blas_matrix){w->value + c->from * in, in, false}, c->out,
                 cuda_adds(r, 0), flat(cuda_d_in(r, 0), in));
    linear_grads(r, x, dy);
}

const struct cuda_op cuda_op_linear = {.forward = linear_forward,
                                       .backward = linear_backward};
