/* SPDX-License-Identifier: Apache-2.0 */
/* Cross layers of DCN: x0 (w . x) + b + x. The products of rows with w are kept. */
#include "cuda/op/op.h"

static struct cuda_rows one_row(float *at, int64_t width)
{
    return (struct cuda_rows){at, 1, width, 0};
}

static void cross_forward(const struct cuda_run *r)
{
    cuda_stream s = r->cuda->stream;
    struct cuda_rows x = cuda_in(r, 1), dot = cuda_view(&r->op->keep);
    cuda_row_dots(s, x, one_row(r->op->params[0]->value, x.width), dot);
    cuda_cross(s, cuda_in(r, 0), x, dot, r->op->params[1]->value, cuda_out(r));
}

/* Sum over rows of d_dot * x: columns of x times a column. */
static void cross_grads(const struct cuda_run *r, struct cuda_rows d_dot, float *scratch)
{
    struct cuda_rows dy = cuda_d_out(r), x = cuda_in(r, 1);
    const struct param *w = r->op->params[0], *b = r->op->params[1];
    if (w->grad)
        cuda_note(r->cuda,
                  blas_product(&r->cuda->blas, BLAS_F32,
                               (struct blas_matrix){d_dot.at, 1, true, false},
                               (struct blas_matrix){x.at, x.ld, false, false}, x.rows,
                               true,
                               (struct blas_out){w->grad, 1, x.width, x.width, false}));
    if (b->grad)
        cuda_column_sums(r->cuda->stream, dy, (struct cuda_rows){0}, scratch, b->grad);
}

static void cross_backward(const struct cuda_run *r)
{
    cuda_stream s = r->cuda->stream;
    struct cuda_rows dy = cuda_d_out(r);
    float *scratch = cuda_scratch(r->cuda, dy.rows + cuda_column_scratch(dy.width));
    struct cuda_rows d_dot = {scratch, dy.rows, 1, 1};
    if (!scratch)
        return;
    cuda_row_dots(s, dy, cuda_in(r, 0), d_dot);
    if (cuda_wants(r, 0))
        cuda_cross_back_first(s, dy, cuda_view(&r->op->keep), cuda_d_in(r, 0),
                              cuda_adds(r, 0));
    /* a first layer has the same value twice: the other one was written just now */
    if (cuda_wants(r, 1))
        cuda_cross_back(s, dy, d_dot, r->op->params[0]->value, cuda_d_in(r, 1),
                        cuda_adds(r, 1));
    cross_grads(r, d_dot, scratch + dy.rows);
}

const struct cuda_op cuda_op_cross = {.forward = cross_forward,
                                      .backward = cross_backward};
