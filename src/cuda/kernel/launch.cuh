/* SPDX-License-Identifier: Apache-2.0 */
/* cuda/kernel/launch.cuh - how kernels over rows are launched: a thread per element, or a
 * warp per row.
 */
#ifndef CUDA_KERNEL_LAUNCH_CUH
#define CUDA_KERNEL_LAUNCH_CUH

#include "kernels.h"

#define THREADS 256
#define WARP 32
#define BLOCKS_MAX 65535

static inline unsigned blocks_for(int64_t n, int64_t per_block)
{
    int64_t blocks = (n + per_block - 1) / per_block;
    return (unsigned)(blocks > BLOCKS_MAX ? BLOCKS_MAX : blocks < 1 ? 1 : blocks);
}

static __device__ __forceinline__ float *row_of(const cuda_rows &v, int64_t row)
{
    return v.at + row * v.ld;
}

/* fn(row, column) for each element. */
template <class Fn> __global__ void each_element(int64_t rows, int64_t width, Fn fn)
{
    int64_t n = rows * width, step = (int64_t)gridDim.x * blockDim.x;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        int64_t row = width == 1 ? i : i / width;
        fn(row, i - row * width);
    }
}

/* The same in 32 bits, whose division is quick. */
template <class Fn> __global__ void each_element_small(uint32_t n, uint32_t width, Fn fn)
{
    uint32_t step = gridDim.x * blockDim.x;
    for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        uint32_t row = width == 1 ? i : i / width;
        fn((int64_t)row, (int64_t)(i - row * width));
    }
}

template <class Fn>
static void for_elements(cuda_stream s, int64_t rows, int64_t width, Fn fn)
{
    if (rows * width > 0 && rows * width <= INT32_MAX)
        each_element_small<<<blocks_for(rows * width, THREADS), THREADS, 0, s>>>(
            (uint32_t)(rows * width), (uint32_t)width, fn);
    else if (rows * width > 0)
        each_element<<<blocks_for(rows * width, THREADS), THREADS, 0, s>>>(rows, width, fn);
}

/* fn(row, lane) for each row, by the lanes of a warp together. */
template <class Fn> __global__ void each_row(int64_t rows, Fn fn)
{
    int64_t warps = (int64_t)gridDim.x * (blockDim.x / WARP);
    int64_t first = (int64_t)blockIdx.x * (blockDim.x / WARP) + threadIdx.x / WARP;
    for (int64_t row = first; row < rows; row += warps)
        fn(row, (int)(threadIdx.x % WARP));
}

template <class Fn> static void for_rows(cuda_stream s, int64_t rows, Fn fn)
{
    if (rows > 0)
        each_row<<<blocks_for(rows, THREADS / WARP), THREADS, 0, s>>>(rows, fn);
}

/* The sum over the lanes of a warp, the same in all of them. */
template <class T> static __device__ __forceinline__ T warp_sum(T v)
{
    for (int by = WARP / 2; by > 0; by /= 2)
        v += __shfl_xor_sync(0xffffffffu, v, by);
    return v;
}

static __device__ __forceinline__ float warp_max(float v)
{
    for (int by = WARP / 2; by > 0; by /= 2)
        v = fmaxf(v, __shfl_xor_sync(0xffffffffu, v, by));
    return v;
}

static __device__ __forceinline__ void put(float *to, float v, bool add)
{
    *to = add ? *to + v : v;
}

#endif
