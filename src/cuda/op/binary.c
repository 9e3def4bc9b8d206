/* SPDX-License-Identifier: Apache-2.0 */
#include "nn/op/binary.h"

#include "cuda/op/op.h"

static void binary_forward(const struct cuda_run *r)
{
    static const enum cuda_binary_kind kinds[] = {
        [BINARY_ADD] = CUDA_ADD,
        [BINARY_SUB] = CUDA_SUB,
        [BINARY_MUL] = CUDA_MUL,
        [BINARY_ADD_RELU] = CUDA_ADD_RELU,
    };
    const struct op_binary_conf *c = r->op->conf;
    cuda_binary(r->cuda->stream, kinds[c->kind], c->by, cuda_in(r, 0), cuda_in(r, 1),
                cuda_out(r));
}

static void binary_backward(const struct cuda_run *r)
{
    const struct op_binary_conf *c = r->op->conf;
    cuda_stream s = r->cuda->stream;
    if (c->kind == BINARY_ADD_RELU)
        cuda_act_from_out(s, CUDA_ACT_RELU, cuda_out(r), cuda_d_out(r));
    for (int i = 0; i < 2; i++) {
        float by = c->kind == BINARY_MUL             ? c->by
                   : c->kind == BINARY_SUB && i == 1 ? -1
                                                     : 1;
        struct cuda_rows other =
            c->kind == BINARY_MUL ? cuda_in(r, 1 - i) : (struct cuda_rows){0};
        if (cuda_wants(r, i))
            cuda_product_back(s, by, other, cuda_d_out(r), cuda_d_in(r, i),
                              cuda_adds(r, i));
    }
}

const struct cuda_op cuda_op_add = {.forward = binary_forward,
                                    .backward = binary_backward};
const struct cuda_op cuda_op_add_relu = {.forward = binary_forward,
                                         .backward = binary_backward};
const struct cuda_op cuda_op_multiply = {.forward = binary_forward,
                                         .backward = binary_backward};

static void scale_forward(const struct cuda_run *r)
{
    const struct op_scale_conf *c = r->op->conf;
    cuda_scale(r->cuda->stream, c->by, c->plus, cuda_in(r, 0), cuda_out(r), false);
}

static void scale_backward(const struct cuda_run *r)
{
    const struct op_scale_conf *c = r->op->conf;
    if (cuda_wants(r, 0))
        cuda_scale(r->cuda->stream, c->by, 0, cuda_d_out(r), cuda_d_in(r, 0),
                   cuda_adds(r, 0));
}

const struct cuda_op cuda_op_scale = {.forward = scale_forward,
                                      .backward = scale_backward};
