/* SPDX-License-Identifier: Apache-2.0 */
/* cuda/op/linear.h - what the files of linear layers share. */
#ifndef CUDA_OP_LINEAR_H
#define CUDA_OP_LINEAR_H

#include "cuda/cuda_private.h"
#include "tensor/gemm.h"

/* linear_bf16.c: layers whose state says so. */
void cuda_linear_bf16_forward(const struct cuda_run *r);
void cuda_linear_bf16_backward(const struct cuda_run *r);

static inline enum cuda_act_kind cuda_act_of(enum gemm_act act)
{
    static const enum cuda_act_kind kinds[] = {
        [GEMM_ACT_NONE] = CUDA_ACT_NONE,
        [GEMM_ACT_RELU] = CUDA_ACT_RELU,
        [GEMM_ACT_SIGMOID] = CUDA_ACT_SIGMOID,
        [GEMM_ACT_TANH] = CUDA_ACT_TANH,
    };
    return kinds[act];
}

#endif
