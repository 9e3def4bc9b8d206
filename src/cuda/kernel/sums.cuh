/* SPDX-License-Identifier: Apache-2.0 */
/* cuda/kernel/sums.cuh - sums over rows, column by column. The rows are cut into a fixed number
 * of parts; each part is summed by one block in one order, then the parts one after the other:
 * the same bytes on every card and in every run.
 */
#ifndef CUDA_KERNEL_SUMS_CUH
#define CUDA_KERNEL_SUMS_CUH

#include "launch.cuh"

#define SUM_PARTS 128 /* of the rows */
#define SUM_LANES 8   /* threads that share a column of a part */

template <class Fn>
__global__ void column_parts(int64_t rows, int64_t width, Fn fn, float *parts)
{
    __shared__ double sums[SUM_LANES][WARP];
    int64_t col = (int64_t)blockIdx.x * WARP + threadIdx.x;
    int64_t part = (rows + SUM_PARTS - 1) / SUM_PARTS, from = blockIdx.y * part;
    int64_t to = from + part < rows ? from + part : rows;
    double sum = 0;
    for (int64_t r = from + threadIdx.y; col < width && r < to; r += SUM_LANES)
        sum += fn(r, col);
    sums[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y != 0 || col >= width)
        return;
    for (int i = 1; i < SUM_LANES; i++)
        sum += sums[i][threadIdx.x];
    parts[blockIdx.y * width + col] = (float)sum;
}

template <class Then>
__global__ void column_join(const float *parts, int64_t width, Then then)
{
    int64_t col = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    double sum = 0;
    if (col >= width)
        return;
    for (int i = 0; i < SUM_PARTS; i++)
        sum += (double)parts[i * width + col];
    then(col, sum);
}

/* then(column, sum of fn(row, column) over the rows), once for each column; both are of type
 * double. parts: cuda_column_scratch(width) floats.
 */
template <class Fn, class Then>
static void column_sums(cuda_stream s, int64_t rows, int64_t width, float *parts, Fn fn,
                        Then then)
{
    if (width == 0)
        return;
    dim3 grid((unsigned)((width + WARP - 1) / WARP), SUM_PARTS), block(WARP, SUM_LANES);
    column_parts<<<grid, block, 0, s>>>(rows, width, fn, parts);
    column_join<<<blocks_for(width, THREADS), THREADS, 0, s>>>(parts, width, then);
}

#endif
