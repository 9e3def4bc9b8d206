/* SPDX-License-Identifier: Apache-2.0 */
/* Activations with learnt slopes. */
#include "cuda/op/op.h"
#include "nn/op/prelu.h"

static void prelu_forward(const struct cuda_run *r)
{
    struct cuda_rows x = cuda_in(r, 0);
    cuda_prelu(r->cuda->stream, r->op->params[0]->value, x, x, cuda_out(r), false);
}

static void prelu_backward(const struct cuda_run *r)
{
    struct cuda_rows x = cuda_in(r, 0), dy = cuda_d_out(r);
    const struct param *slope = r->op->params[0];
    float *scratch = cuda_scratch(r->cuda, cuda_column_scratch(x.width) + x.width);
    if (cuda_wants(r, 0))
        cuda_prelu(r->cuda->stream, slope->value, x, dy, cuda_d_in(r, 0),
                   cuda_adds(r, 0));
    if (slope->grad && scratch)
        cuda_prelu_grad(r->cuda->stream, x, dy, scratch,
                        scratch + cuda_column_scratch(x.width), slope->grad);
}

const struct cuda_op cuda_op_prelu = {.forward = prelu_forward,
                                      .backward = prelu_backward};

/* Inputs: x, and x normalised. */
static void dice_forward(const struct cuda_run *r)
{
    const struct op_slope_conf *c = r->op->conf;
    cuda_dice(r->cuda->stream, c->n, r->op->params[0]->value, cuda_in(r, 1),
              cuda_in(r, 0), cuda_out(r), false);
}

static void dice_backward(const struct cuda_run *r)
{
    const struct op_slope_conf *c = r->op->conf;
    const struct param *alpha = r->op->params[0];
    struct cuda_rows x = cuda_in(r, 0), z = cuda_in(r, 1), dy = cuda_d_out(r);
    float *scratch = cuda_scratch(r->cuda, cuda_column_scratch(c->n));
    cuda_stream s = r->cuda->stream;
    if (cuda_wants(r, 0))
        cuda_dice(s, c->n, alpha->value, z, dy, cuda_d_in(r, 0), cuda_adds(r, 0));
    if (cuda_wants(r, 1))
        cuda_dice_back_norm(s, c->n, alpha->value, x, z, dy, cuda_d_in(r, 1),
                            cuda_adds(r, 1));
    if (alpha->grad && scratch)
        cuda_dice_grad(s, c->n, x, z, dy, scratch, alpha->grad);
}

const struct cuda_op cuda_op_dice = {.forward = dice_forward, .backward = dice_backward};
