/* SPDX-License-Identifier: Apache-2.0 */
/* Sums over many rows: of columns (sums.cuh), and of everything, in parts as those. */
#include "sums.cuh"

int64_t cuda_column_scratch(int64_t columns)
{
    return SUM_PARTS * columns;
}

void cuda_column_sums(cuda_stream s, cuda_rows x, cuda_rows y, float *scratch, float *out)
{
    if (x.rows == 0)
        return;
    column_sums(
        s, x.rows, x.width, scratch,
        [=] __device__(int64_t r, int64_t c) {
            double v = (double)row_of(x, r)[c];
            return y.at ? v * (double)row_of(y, r)[c] : v;
        },
        [=] __device__(int64_t c, double sum) { out[c] += (float)sum; });
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
