/* SPDX-License-Identifier: Apache-2.0 */
/* Capsules, but for their routing, which the CPU does. */
#include "nn/op/capsule.h"

#include "cuda/op/op.h"
#include "nn/ops.h"

static void mix_forward(const struct cuda_run *r)
{
    struct cuda_rows w = cuda_in(r, 0), x = cuda_in(r, 1);
    cuda_seq_mix(r->cuda->stream, r->offsets[r->op->in_axis[0]], w.width, x.width, w, x,
                 cuda_out(r));
}

static void mix_backward(const struct cuda_run *r)
{
    struct cuda_rows w = cuda_in(r, 0), x = cuda_in(r, 1);
    const int64_t *at = r->offsets[r->op->in_axis[0]];
    if (cuda_wants(r, 1))
        cuda_seq_mix_back_x(r->cuda->stream, at, w.width, w, cuda_d_out(r),
                            cuda_d_in(r, 1), cuda_adds(r, 1));
    if (cuda_wants(r, 0))
        cuda_seq_mix_back_weights(r->cuda->stream, at, w.width, x, cuda_d_out(r),
                                  cuda_d_in(r, 0), cuda_adds(r, 0));
}

const struct cuda_op cuda_op_seq_mix = {.forward = mix_forward, .backward = mix_backward};

static void squash_forward(const struct cuda_run *r)
{
    const struct op_squash_conf *c = r->op->conf;
    cuda_squash(r->cuda->stream, c->n, c->power, c->least, cuda_in(r, 0), cuda_out(r));
}

static void squash_backward(const struct cuda_run *r)
{
    const struct op_squash_conf *c = r->op->conf;
    if (cuda_wants(r, 0))
        cuda_squash_back(r->cuda->stream, c->n, c->power, c->least, cuda_in(r, 0),
                         cuda_d_out(r), cuda_d_in(r, 0), cuda_adds(r, 0));
}

const struct cuda_op cuda_op_squash = {.forward = squash_forward,
                                       .backward = squash_backward};

static void mask_forward(const struct cuda_run *r)
{
    const struct nn_capsule_conf *c = r->op->conf;
    cuda_capsule_mask(r->cuda->stream, r->offsets[r->op->in_axis[0]], c->constant,
                      cuda_out(r));
}

const struct cuda_op cuda_op_capsule_mask = {.forward = mask_forward};

static struct cuda_rows front_of(const struct cuda_run *r)
{
    return r->op->n_in > JOIN_FRONT ? cuda_in(r, JOIN_FRONT) : (struct cuda_rows){0};
}

static void join_forward(const struct cuda_run *r)
{
    struct cuda_rows mask = cuda_in(r, JOIN_MASK);
    cuda_masked_rows(r->cuda->stream, mask.width, mask, cuda_in(r, JOIN_X), front_of(r),
                     cuda_out(r));
}

static void join_backward(const struct cuda_run *r)
{
    struct cuda_rows mask = cuda_in(r, JOIN_MASK), x = cuda_in(r, JOIN_X);
    int64_t n = mask.width;
    if (cuda_wants(r, JOIN_X))
        cuda_masked_rows_back(r->cuda->stream, n, front_of(r).width, mask, cuda_d_out(r),
                              cuda_d_in(r, JOIN_X), cuda_adds(r, JOIN_X));
    if (r->op->n_in > JOIN_FRONT && cuda_wants(r, JOIN_FRONT))
        cuda_masked_rows_back_front(r->cuda->stream, n, x.width / n, mask, cuda_d_out(r),
                                    cuda_d_in(r, JOIN_FRONT), cuda_adds(r, JOIN_FRONT));
}

const struct cuda_op cuda_op_masked_rows = {.forward = join_forward,
                                            .backward = join_backward};

static void interest_forward(const struct cuda_run *r)
{
    struct cuda_rows mask = cuda_in(r, PICK_MASK);
    cuda_interest(r->cuda->stream, *(const float *)r->op->conf, mask.width, mask,
                  cuda_in(r, PICK_X), cuda_in(r, PICK_TARGET), cuda_view(&r->op->keep),
                  cuda_out(r));
}

static void interest_backward(const struct cuda_run *r)
{
    cuda_interest_back(r->cuda->stream, *(const float *)r->op->conf,
                       r->op->in[PICK_MASK].width, cuda_in(r, PICK_X),
                       cuda_in(r, PICK_TARGET), cuda_view(&r->op->keep), cuda_d_out(r),
                       cuda_d_in(r, PICK_X), cuda_adds(r, PICK_X),
                       cuda_d_in(r, PICK_TARGET), cuda_adds(r, PICK_TARGET));
}

const struct cuda_op cuda_op_interest_attention = {.forward = interest_forward,
                                                   .backward = interest_backward};
