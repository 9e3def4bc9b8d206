/* SPDX-License-Identifier: Apache-2.0 */
/* A matrix of its own for each field, or for each pair of fields: a product by cuBLAS for each
 * field, with all matrices that it meets below each other.
 */
#include "nn/op/field_linear.h"

#include "cuda/op/op.h"
#include "cuda/op/product.h"

/* Of the matrices from row `from` on: n rows of d. */
static struct cuda_rows matrices(const struct op_own_conf *c, float *all, int64_t from,
                                 int64_t n)
{
    return (struct cuda_rows){all + from * c->d, n, c->d, c->d};
}

static void own_forward(const struct cuda_run *r)
{
    const struct op_own_conf *c = r->op->conf;
    float *w = r->op->params[0]->value;
    int64_t from = 0;
    for (int64_t i = 0; i < c->n; i++) {
        int64_t n = op_matrices(c, i) * c->out;
        cuda_multiply(r, c->precision,
                      cuda_plain(cuda_cols(cuda_in(r, 0), i * c->d, c->d)),
                      cuda_turned(matrices(c, w, from, n)), c->d, false,
                      cuda_cols(cuda_out(r), from, n));
        from += n;
    }
    if (r->op->n_params > 1)
        cuda_bias_act(r->cuda->stream, r->op->params[1]->value, CUDA_ACT_NONE,
                      cuda_out(r));
}

static void field_slopes(const struct cuda_run *r, int64_t i, int64_t from, int64_t n)
{
    const struct op_own_conf *c = r->op->conf;
    struct cuda_rows dx = cuda_cols(cuda_d_in(r, 0), i * c->d, c->d);
    if (n > 0)
        cuda_multiply(r, c->precision, cuda_plain(cuda_cols(cuda_d_out(r), from, n)),
                      cuda_plain(matrices(c, r->op->params[0]->value, from, n)), n,
                      cuda_adds(r, 0), dx);
    else if (!cuda_adds(r, 0))
        cuda_fill(r->cuda->stream, dx, 0);
}

static void bias_grads(const struct cuda_run *r)
{
    struct cuda_rows dy = cuda_d_out(r);
    float *scratch = cuda_scratch(r->cuda, cuda_column_scratch(dy.width));
    if (scratch && r->op->params[1]->grad)
        cuda_column_sums(r->cuda->stream, dy, (struct cuda_rows){0}, scratch,
                         r->op->params[1]->grad);
}

static void own_backward(const struct cuda_run *r)
{
    const struct op_own_conf *c = r->op->conf;
    float *dw = r->op->params[0]->grad;
    int64_t from = 0;
    for (int64_t i = 0; i < c->n; i++) {
        int64_t n = op_matrices(c, i) * c->out;
        if (cuda_wants(r, 0))
            field_slopes(r, i, from, n);
        if (dw && n > 0)
            cuda_multiply(r, c->precision, cuda_turned(cuda_cols(cuda_d_out(r), from, n)),
                          cuda_plain(cuda_cols(cuda_in(r, 0), i * c->d, c->d)),
                          r->op->in[0].rows, true, matrices(c, dw, from, n));
        from += n;
    }
    if (r->op->n_params > 1)
        bias_grads(r);
}

const struct cuda_op cuda_op_field_linear = {.forward = own_forward,
                                             .backward = own_backward};
