/* SPDX-License-Identifier: Apache-2.0 */
/* cuda/kernel/bf16.cuh - values of f32 and bf16, several of them at once. */
#ifndef CUDA_KERNEL_BF16_CUH
#define CUDA_KERNEL_BF16_CUH

#include <cuda_bf16.h>

#include "kernels.h"

typedef __nv_bfloat16 bf16;

static __device__ __forceinline__ float value(float v)
{
    return v;
}
static __device__ __forceinline__ float value(bf16 v)
{
    return __bfloat162float(v);
}
static __device__ __forceinline__ void set(float *to, float v)
{
    *to = v;
}
static __device__ __forceinline__ void set(bf16 *to, float v)
{
    *to = __float2bfloat16(v);
}

/* Values side by side, read and written at once where they are aligned. */
template <class T, int N> struct alignas(N * sizeof(T)) pack {
    T x[N];
};

/* act'(x) from y = act(x) */
static __device__ __forceinline__ float slope(enum cuda_act_kind act, float y)
{
    return act == CUDA_ACT_RELU      ? (y > 0 ? 1.0f : 0.0f)
           : act == CUDA_ACT_SIGMOID ? y * (1.0f - y)
           : act == CUDA_ACT_TANH    ? 1.0f - y * y
                                     : 1.0f;
}

#endif
