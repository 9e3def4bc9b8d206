/* SPDX-License-Identifier: Apache-2.0 */
/* Sums over many rows. The rows are cut into a fixed number of parts; each part is summed
 * by one block in one order, then the parts one after the other: the same bytes on every
 * card and in every run.
 */
#include "launch.cuh"

#define PARTS 128     /* of the rows, for sums of columns */
#define LANES 8       /* threads that share a column of a part */

int64_t cuda_column_scratch(int64_t columns)
{
    return PARTS * columns;
}

static __global__ void column_parts(cuda_rows x, cuda_rows y, float *parts)
{
    __shared__ double sums[LANES][WARP];
    int64_t col = (int64_t)blockIdx.x * WARP + threadIdx.x;
    int64_t part = (x.rows + PARTS - 1) / PARTS, from = blockIdx.y * part;
    int64_t to = from + part < x.rows ? from + part : x.rows;
    double sum = 0;
    for (int64_t r = from + threadIdx.y; col < x.width && r < to; r += LANES)
        sum += y.at ? (double)row_of(x, r)[col] * (double)row_of(y, r)[col]
                    : (double)row_of(x, r)[col];
    sums[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y != 0 || col >= x.width)
        return;
    for (int i = 1; i < LANES; i++)
        sum += sums[i][threadIdx.x];
    parts[blockIdx.y * x.width + col] = (float)sum;
}

static __global__ void join_parts(const float *parts, int64_t width, float *out)
{
    int64_t col = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    double sum = 0;
    if (col >= width)
        return;
    for (int i = 0; i < PARTS; i++)
        sum += (double)parts[i * width + col];
    out[col] += (float)sum;
}

void cuda_column_sums(cuda_stream s, cuda_rows x, cuda_rows y, float *scratch, float *out)
{
    if (x.rows == 0 || x.width == 0)
        return;
    dim3 grid((unsigned)((x.width + WARP - 1) / WARP), PARTS), block(WARP, LANES);
    column_parts<<<grid, block, 0, s>>>(x, y, scratch);
    join_parts<<<blocks_for(x.width, THREADS), THREADS, 0, s>>>(scratch, x.width, out);
}

static __device__ double join(enum cuda_total_kind what, double a, double b)
{
    if (what != CUDA_LARGEST)
        return a + b;
    return isnan(a) || a >= b ? a : b; /* NaN wins */
}

static __device__ double taken(enum cuda_total_kind what, float v)
{
    if (what == CUDA_SUM_SQUARES)
        return (double)v * (double)v;
    return what == CUDA_SUM ? (double)v : fabs((double)v);
}

static __device__ double join_block(enum cuda_total_kind what, double mine)
{
    __shared__ double all[THREADS];
    all[threadIdx.x] = mine;
    __syncthreads();
    for (int by = THREADS / 2; by > 0; by /= 2) {
        if (threadIdx.x < by)
            all[threadIdx.x] = join(what, all[threadIdx.x], all[threadIdx.x + by]);
        __syncthreads();
    }
    return all[0];
}

static __global__ void total_parts(enum cuda_total_kind what, cuda_rows x, double *parts)
{
    int64_t n = x.rows * x.width, part = (n + CUDA_TOTAL_PARTS - 1) / CUDA_TOTAL_PARTS;
    int64_t from = blockIdx.x * part, to = from + part < n ? from + part : n;
    double sum = 0;
    for (int64_t i = from + threadIdx.x; i < to; i += THREADS) {
        int64_t row = i / x.width;
        sum = join(what, sum, taken(what, row_of(x, row)[i - row * x.width]));
    }
    sum = join_block(what, sum);
    if (threadIdx.x == 0)
        parts[blockIdx.x] = sum;
}

static __global__ void total_join(enum cuda_total_kind what, const double *parts, double *out)
{
    double sum = join_block(what, threadIdx.x < CUDA_TOTAL_PARTS ? parts[threadIdx.x] : 0);
    if (threadIdx.x == 0)
        *out = sum;
}

void cuda_total(cuda_stream s, enum cuda_total_kind what, cuda_rows x, double *parts,
                double *out)
{
    total_parts<<<CUDA_TOTAL_PARTS, THREADS, 0, s>>>(what, x, parts);
    total_join<<<1, THREADS, 0, s>>>(what, parts, out);
}
