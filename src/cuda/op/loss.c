/* SPDX-License-Identifier: Apache-2.0 */
#include "nn/op/loss.h"

#include "cuda/op/op.h"

static void losses(const struct cuda_run *r, enum cuda_loss_kind kind)
{
    const struct op_loss_conf *c = r->op->conf;
    struct cuda_loss_conf conf = {kind, c->smoothing, c->gamma, c->alpha,
                                  1.0f / (float)op_total(r->op)};
    cuda_losses(r->cuda->stream, conf, cuda_in(r, 0), cuda_in(r, 1),
                r->op->n_in == 3 ? cuda_in(r, 2) : (struct cuda_rows){0},
                cuda_view(&r->op->keep), cuda_out(r));
}

static void loss_backward(const struct cuda_run *r)
{
    if (cuda_wants(r, 0))
        cuda_rows_times(r->cuda->stream, cuda_view(&r->op->keep), cuda_d_out(r),
                        cuda_d_in(r, 0), cuda_adds(r, 0));
}

static void bce_forward(const struct cuda_run *r)
{
    losses(r, CUDA_BCE);
}

static void focal_forward(const struct cuda_run *r)
{
    losses(r, CUDA_FOCAL);
}

static void squared_forward(const struct cuda_run *r)
{
    losses(r, CUDA_SQUARED);
}

static void cross_entropy_forward(const struct cuda_run *r)
{
    losses(r, CUDA_CROSS_ENTROPY);
}

const struct cuda_op cuda_op_bce_loss = {.forward = bce_forward,
                                         .backward = loss_backward};
const struct cuda_op cuda_op_focal_loss = {.forward = focal_forward,
                                           .backward = loss_backward};
const struct cuda_op cuda_op_l2_loss = {.forward = squared_forward,
                                        .backward = loss_backward};
const struct cuda_op cuda_op_softmax_loss = {.forward = cross_entropy_forward,
                                             .backward = loss_backward};
