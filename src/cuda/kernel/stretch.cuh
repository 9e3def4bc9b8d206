/* SPDX-License-Identifier: Apache-2.0 */
/* cuda/kernel/stretch.cuh - how the occurrences of a row are cut: a function of how many
 * there are, which the order of sums depends on.
 */
#ifndef CUDA_KERNEL_STRETCH_CUH
#define CUDA_KERNEL_STRETCH_CUH

#include "lookup.h"

#define STRETCHES_MANY 128

static __device__ __forceinline__ uint32_t stretch_of(uint32_t n)
{
    return n <= CUDA_RUN_MAX * STRETCHES_MANY ? CUDA_RUN_MAX : CUDA_RUN_MAX * 2;
}

#endif
