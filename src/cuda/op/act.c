/* SPDX-License-Identifier: Apache-2.0 */
#include "nn/op/act.h"

#include "cuda/op/op.h"

static enum cuda_act_kind kind_of(enum nn_act act)
{
    static const enum cuda_act_kind kinds[] = {
        [ACT_NONE] = CUDA_ACT_NONE,           [ACT_RELU] = CUDA_ACT_RELU,
        [ACT_LEAKY_RELU] = CUDA_ACT_LEAKY,    [ACT_ELU] = CUDA_ACT_ELU,
        [ACT_SELU] = CUDA_ACT_SELU,           [ACT_GELU] = CUDA_ACT_GELU,
        [ACT_GELU_TANH] = CUDA_ACT_GELU_TANH, [ACT_SILU] = CUDA_ACT_SILU,
        [ACT_SIGMOID] = CUDA_ACT_SIGMOID,     [ACT_TANH] = CUDA_ACT_TANH,
        [ACT_SOFTPLUS] = CUDA_ACT_SOFTPLUS,   [ACT_MISH] = CUDA_ACT_MISH,
        [ACT_HARDSWISH] = CUDA_ACT_HARDSWISH, [ACT_RELU6] = CUDA_ACT_RELU6,
    };
    return kinds[act];
}

static void act_forward(const struct cuda_run *r)
{
    const struct op_act_conf *c = r->op->conf;
    cuda_act(r->cuda->stream, kind_of(c->act), c->param, cuda_in(r, 0), cuda_out(r));
}

static void act_backward(const struct cuda_run *r)
{
    const struct op_act_conf *c = r->op->conf;
    if (cuda_wants(r, 0))
        cuda_act_back(r->cuda->stream, kind_of(c->act), c->param, cuda_in(r, 0),
                      cuda_d_out(r), cuda_d_in(r, 0), cuda_adds(r, 0));
}

const struct cuda_op cuda_op_act = {.forward = act_forward, .backward = act_backward};
