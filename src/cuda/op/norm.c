/* SPDX-License-Identifier: Apache-2.0 */
/* Norms. What batch norm keeps for its way back (means, deviations) is the op's own memory; padded
 * sequences, whose padding counts as well, are left to the CPU.
 */
#include "cuda/op/op.h"
#include "nn/op/batch_norm.h"
#include "nn/op/layer_norm.h"
#include "nn/op/softmax.h"

enum { KEPT_MEAN, KEPT_INV, KEPT_D_MEAN, KEPT_D_DOT, KEPT };

static bool batch_fits(const void *conf, const struct nn_shape *in, int n_in)
{
    return n_in == 1;
}

static float *grad_of(const struct cuda_run *r, int i)
{
    return r->op->params[i] ? r->op->params[i]->grad : NULL;
}

static struct cuda_batch_norm batch_norm_of(const struct cuda_run *r)
{
    const struct op_norm_conf *c = r->op->conf;
    struct param *const *p = r->op->params;
    float *kept = r->kept->at;
    return (struct cuda_batch_norm){
        .n = c->n,
        .eps = EPS,
        .weight = c->affine ? p[BATCH_NORM_WEIGHT]->value : NULL,
        .bias = c->affine ? p[BATCH_NORM_BIAS]->value : NULL,
        .running_mean = p[BATCH_NORM_MEAN]->value,
        .running_var = p[BATCH_NORM_VAR]->value,
        .batches = p[BATCH_NORM_COUNT]->value,
        .mean = kept + KEPT_MEAN * c->n,
        .inv = kept + KEPT_INV * c->n,
        .d_mean = kept + KEPT_D_MEAN * c->n,
        .d_dot = kept + KEPT_D_DOT * c->n,
        .d_weight = c->affine ? grad_of(r, BATCH_NORM_WEIGHT) : NULL,
        .d_bias = c->affine ? grad_of(r, BATCH_NORM_BIAS) : NULL,
    };
}

static void batch_forward(const struct cuda_run *r)
{
    const struct op_norm_conf *c = r->op->conf;
    float *scratch = cuda_scratch(r->cuda, cuda_column_scratch(c->n));
    if (scratch && cuda_room_card(r->kept, (size_t)(KEPT * c->n) * sizeof(float)))
        cuda_batch_norm_forward(r->cuda->stream, batch_norm_of(r), r->op->env->training,
                                cuda_in(r, 0), scratch, cuda_out(r));
}

static void batch_backward(const struct cuda_run *r)
{
    const struct op_norm_conf *c = r->op->conf;
    float *scratch = cuda_scratch(r->cuda, cuda_column_scratch(c->n));
    if (scratch && r->kept->at)
        cuda_batch_norm_back(r->cuda->stream, batch_norm_of(r), r->op->env->training,
                             cuda_in(r, 0), cuda_d_out(r), scratch, cuda_d_in(r, 0),
                             cuda_adds(r, 0));
}

const struct cuda_op cuda_op_batch_norm = {
    .fits = batch_fits, .forward = batch_forward, .backward = batch_backward};

static void layer_forward(const struct cuda_run *r)
{
    const struct op_layer_norm_conf *c = r->op->conf;
    cuda_layer_norm(r->cuda->stream, c->n, c->eps, r->op->params[0]->value,
                    r->op->params[1]->value, cuda_in(r, 0), cuda_view(&r->op->keep),
                    cuda_out(r));
}

static void layer_backward(const struct cuda_run *r)
{
    const struct op_layer_norm_conf *c = r->op->conf;
    struct cuda_rows keep = cuda_view(&r->op->keep);
    float *scratch = cuda_scratch(r->cuda, cuda_column_scratch(c->n));
    if (cuda_wants(r, 0))
        cuda_layer_norm_back(r->cuda->stream, c->n, r->op->params[0]->value,
                             cuda_in(r, 0), keep, cuda_d_out(r), cuda_d_in(r, 0),
                             cuda_adds(r, 0));
    if (scratch)
        cuda_layer_norm_grads(r->cuda->stream, c->n, cuda_in(r, 0), keep, cuda_d_out(r),
                              scratch, grad_of(r, 0), grad_of(r, 1));
}

const struct cuda_op cuda_op_layer_norm = {.forward = layer_forward,
                                           .backward = layer_backward};

static void length_forward(const struct cuda_run *r)
{
    const struct op_l2_conf *c = r->op->conf;
    cuda_l2_normalise(r->cuda->stream, c->eps, cuda_in(r, 0), cuda_view(&r->op->keep),
                      cuda_out(r));
}

static void length_backward(const struct cuda_run *r)
{
    const struct op_l2_conf *c = r->op->conf;
    if (cuda_wants(r, 0))
        cuda_l2_normalise_back(r->cuda->stream, c->eps, cuda_out(r),
                               cuda_view(&r->op->keep), cuda_d_out(r), cuda_d_in(r, 0),
                               cuda_adds(r, 0));
}

const struct cuda_op cuda_op_l2_normalise = {.forward = length_forward,
                                             .backward = length_backward};
