/* SPDX-License-Identifier: Apache-2.0 */
/* Gated recurrent units, one step or along the positions of a row. */
#include "nn/op/gru.h"

#include "cuda/op/op.h"
#include "cuda/op/product.h"

static void cell_forward(const struct cuda_run *r)
{
    cuda_gru_cell(r->cuda->stream, cuda_in(r, CELL_A), cuda_in(r, CELL_B),
                  cuda_in(r, CELL_H), cuda_view(&r->op->keep), cuda_out(r));
}

static void cell_backward(const struct cuda_run *r)
{
    cuda_gru_cell_back(r->cuda->stream, cuda_view(&r->op->keep), cuda_d_out(r),
                       cuda_d_in(r, CELL_A), cuda_adds(r, CELL_A), cuda_d_in(r, CELL_B),
                       cuda_adds(r, CELL_B), cuda_d_in(r, CELL_H), cuda_adds(r, CELL_H));
}

const struct cuda_op cuda_op_gru_cell = {.forward = cell_forward,
                                         .backward = cell_backward};

static struct cuda_gru gru_of(const struct cuda_run *r)
{
    return (struct cuda_gru){
        .at = r->offsets[r->op->in_axis[0]],
        .width = r->op->out[0].width,
        .w = r->op->params[GRU_W]->value,
        .bias = r->op->params[GRU_BIAS]->value,
        .weights = r->op->n_in == 2 ? cuda_in(r, 1) : (struct cuda_rows){0},
    };
}

static void gru_forward(const struct cuda_run *r)
{
    cuda_gru_forward(r->cuda->stream, gru_of(r), r->op->env->rows.n[AXIS_BATCH],
                     cuda_in(r, 0), cuda_view(&r->op->keep), cuda_out(r));
}

static void gru_grads(const struct cuda_run *r)
{
    const struct op_gru_conf *c = r->op->conf;
    const struct param *w = r->op->params[GRU_W], *bias = r->op->params[GRU_BIAS];
    struct cuda_rows keep = cuda_view(&r->op->keep);
    struct cuda_rows db = cuda_cols(keep, GRU_KEEP_DB * c->width, 3 * c->width);
    struct cuda_rows h = cuda_cols(keep, GRU_KEEP_H * c->width, c->width);
    float *scratch = cuda_scratch(r->cuda, cuda_column_scratch(db.width));
    if (w->grad && keep.rows > 0)
        cuda_multiply(r, c->precision, cuda_turned(db), cuda_plain(h), keep.rows, true,
                      (struct cuda_rows){w->grad, db.width, h.width, h.width});
    if (bias->grad && scratch)
        cuda_column_sums(r->cuda->stream, db, (struct cuda_rows){0}, scratch, bias->grad);
}

static void gru_backward(const struct cuda_run *r)
{
    bool weighted = r->op->n_in == 2 && cuda_wants(r, 1);
    struct cuda_gru_back d = {
        .keep = cuda_view(&r->op->keep),
        .dy = cuda_d_out(r),
        .da = cuda_d_in(r, 0),
        .add_a = cuda_adds(r, 0),
        .d_weights = weighted ? cuda_d_in(r, 1) : (struct cuda_rows){0},
        .add_weights = weighted && cuda_adds(r, 1),
    };
    cuda_gru_backward(r->cuda->stream, gru_of(r), r->op->env->rows.n[AXIS_BATCH], d);
    gru_grads(r);
}

const struct cuda_op cuda_op_gru = {.forward = gru_forward, .backward = gru_backward};
const struct cuda_op cuda_op_weighted_gru = {.forward = gru_forward,
                                             .backward = gru_backward};
