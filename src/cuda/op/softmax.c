/* SPDX-License-Identifier: Apache-2.0 */
#include "nn/op/softmax.h"

#include "cuda/op/op.h"

static void softmax_forward(const struct cuda_run *r)
{
    const struct op_softmax_conf *c = r->op->conf;
    cuda_softmax(r->cuda->stream, c->n, cuda_in(r, 0), cuda_out(r));
}

static void softmax_backward(const struct cuda_run *r)
{
    const struct op_softmax_conf *c = r->op->conf;
    if (cuda_wants(r, 0))
        cuda_softmax_back(r->cuda->stream, c->n, cuda_out(r), cuda_d_out(r),
                          cuda_d_in(r, 0), cuda_adds(r, 0));
}

const struct cuda_op cuda_op_softmax = {.forward = softmax_forward,
                                        .backward = softmax_backward};

static int64_t batch_of(const struct cuda_run *r)
{
    return r->op->env->rows.n[AXIS_BATCH];
}

static void seq_forward(const struct cuda_run *r)
{
    const struct op_seq_conf *c = r->op->conf;
    cuda_seq_softmax(r->cuda->stream, r->offsets[r->op->out_axis[0]], batch_of(r),
                     c->but_last, cuda_in(r, 0), cuda_out(r));
}

/* A position that took no part has a share of 0, and so a slope of 0. */
static void seq_backward(const struct cuda_run *r)
{
    if (cuda_wants(r, 0))
        cuda_seq_softmax_back(r->cuda->stream, r->offsets[r->op->out_axis[0]],
                              batch_of(r), cuda_out(r), cuda_d_out(r), cuda_d_in(r, 0),
                              cuda_adds(r, 0));
}

const struct cuda_op cuda_op_seq_softmax = {.forward = seq_forward,
                                            .backward = seq_backward};
const struct cuda_op cuda_op_seq_softmax_before = {.forward = seq_forward,
                                                   .backward = seq_backward};
