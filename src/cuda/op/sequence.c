/* SPDX-License-Identifier: Apache-2.0 */
#include "nn/op/sequence.h"

#include "cuda/op/op.h"

static void expand_forward(const struct cuda_run *r)
{
    cuda_expand(r->cuda->stream, r->offsets[r->op->out_axis[0]], cuda_in(r, 0),
                cuda_out(r));
}

static void expand_backward(const struct cuda_run *r)
{
    if (cuda_wants(r, 0))
        cuda_expand_back(r->cuda->stream, r->offsets[r->op->out_axis[0]], cuda_d_out(r),
                         cuda_d_in(r, 0), cuda_adds(r, 0));
}

const struct cuda_op cuda_op_expand = {.forward = expand_forward,
                                       .backward = expand_backward};

static void last_forward(const struct cuda_run *r)
{
    cuda_seq_last(r->cuda->stream, r->offsets[r->op->in_axis[0]], cuda_in(r, 0),
                  cuda_out(r));
}

static void last_backward(const struct cuda_run *r)
{
    if (cuda_wants(r, 0))
        cuda_seq_last_back(r->cuda->stream, r->offsets[r->op->in_axis[0]], cuda_d_out(r),
                           cuda_d_in(r, 0), cuda_adds(r, 0));
}

const struct cuda_op cuda_op_seq_last = {.forward = last_forward,
                                         .backward = last_backward};

static void prepend_forward(const struct cuda_run *r)
{
    cuda_seq_prepend(r->cuda->stream, r->offsets[r->op->in_axis[1]],
                     r->offsets[r->op->out_axis[0]], cuda_in(r, 0), cuda_in(r, 1),
                     cuda_out(r));
}

static void prepend_backward(const struct cuda_run *r)
{
    const int64_t *at = r->offsets[r->op->in_axis[1]];
    const int64_t *to = r->offsets[r->op->out_axis[0]];
    if (cuda_wants(r, 0))
        cuda_seq_prepend_back_first(r->cuda->stream, to, cuda_d_out(r), cuda_d_in(r, 0),
                                    cuda_adds(r, 0));
    if (cuda_wants(r, 1))
        cuda_seq_prepend_back(r->cuda->stream, at, to, cuda_d_out(r),
                              r->op->env->rows.n[AXIS_BATCH], cuda_d_in(r, 1),
                              cuda_adds(r, 1));
}

const struct cuda_op cuda_op_seq_prepend = {.forward = prepend_forward,
                                            .backward = prepend_backward};

static struct cuda_rows weights_of(const struct cuda_run *r)
{
    return r->op->n_in == 2 ? cuda_in(r, 1) : (struct cuda_rows){0};
}

static void seq_sum_forward(const struct cuda_run *r)
{
    const struct op_pool_conf *c = r->op->conf;
    cuda_seq_sum(r->cuda->stream, r->offsets[r->op->in_axis[0]], c->mean, cuda_in(r, 0),
                 weights_of(r), cuda_out(r));
}

static void seq_sum_backward(const struct cuda_run *r)
{
    const struct op_pool_conf *c = r->op->conf;
    const int64_t *at = r->offsets[r->op->in_axis[0]];
    cuda_stream s = r->cuda->stream;
    if (cuda_wants(r, 0))
        cuda_seq_sum_back(s, at, c->mean, weights_of(r), cuda_d_out(r), cuda_d_in(r, 0),
                          cuda_adds(r, 0));
    if (r->op->n_in == 2 && cuda_wants(r, 1))
        cuda_seq_sum_back_weights(s, at, cuda_in(r, 0), cuda_d_out(r), cuda_d_in(r, 1),
                                  cuda_adds(r, 1));
}

const struct cuda_op cuda_op_seq_sum = {.forward = seq_sum_forward,
                                        .backward = seq_sum_backward};
