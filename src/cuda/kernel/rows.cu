/* SPDX-License-Identifier: Apache-2.0 */
/* Rows by themselves: interactions of fields, softmax, cross layers. A warp has a row; its
 * lanes take every 32nd column and are joined in a fixed tree.
 */
#include "launch.cuh"

void cuda_row_sum(cuda_stream s, cuda_rows x, cuda_rows y)
{
    for_rows(s, x.rows, [=] __device__(int64_t r, int lane) {
        float sum = 0;
        for (int64_t c = lane; c < x.width; c += WARP)
            sum += row_of(x, r)[c];
        sum = warp_sum(sum);
        if (lane == 0)
            *row_of(y, r) = sum;
    });
}

void cuda_row_spread(cuda_stream s, cuda_rows dy, cuda_rows dx, bool add)
{
    for_elements(s, dx.rows, dx.width, [=] __device__(int64_t r, int64_t c) {
        put(row_of(dx, r) + c, *row_of(dy, r), add);
    });
}

void cuda_fm(cuda_stream s, int64_t n, int64_t d, cuda_rows x, cuda_rows sum, cuda_rows y)
{
    for_elements(s, x.rows, d, [=] __device__(int64_t r, int64_t c) {
        float all = 0, squares = 0;
        for (int64_t f = 0; f < n; f++) {
            float v = row_of(x, r)[f * d + c];
            all += v;
            squares += v * v;
        }
        row_of(sum, r)[c] = all;
        row_of(y, r)[c] = 0.5f * (all * all - squares);
    });
}

void cuda_fm_back(cuda_stream s, int64_t n, int64_t d, cuda_rows x, cuda_rows sum,
                  cuda_rows dy, cuda_rows dx, bool add)
{
    for_elements(s, x.rows, n * d, [=] __device__(int64_t r, int64_t c) {
        int64_t i = c % d;
        put(row_of(dx, r) + c,
            row_of(dy, r)[i] * (row_of(sum, r)[i] - row_of(x, r)[c]), add);
    });
}

/* A block has a row: its fields lie in shared memory while all pairs are multiplied. */
static __global__ void dots_rows(int64_t n, int64_t d, cuda_rows x, cuda_rows y)
{
    extern __shared__ float fields[]; /* [n][d + 1] */
    for (int64_t r = blockIdx.x; r < x.rows; r += gridDim.x) {
        for (int64_t i = threadIdx.x; i < n * d; i += blockDim.x)
            fields[i / d * (d + 1) + i % d] = row_of(x, r)[i];
        __syncthreads();
        for (int64_t k = threadIdx.x; k < n * n; k += blockDim.x) {
            int64_t i = k / n, j = k % n;
            if (j <= i)
                continue;
            float dot = 0;
            for (int64_t c = 0; c < d; c++)
                dot += fields[i * (d + 1) + c] * fields[j * (d + 1) + c];
            row_of(y, r)[i * n - i * (i + 1) / 2 + j - i - 1] = dot;
        }
        __syncthreads();
    }
}

static __global__ void dots_rows_back(int64_t n, int64_t d, cuda_rows x, cuda_rows dy,
                                      cuda_rows dx, bool add)
{
    extern __shared__ float fields[]; /* [n][d], then the slopes of pairs */
    int64_t pairs = n * (n - 1) / 2;
    float *slopes = fields + n * d;
    for (int64_t r = blockIdx.x; r < x.rows; r += gridDim.x) {
        for (int64_t i = threadIdx.x; i < n * d; i += blockDim.x)
            fields[i] = row_of(x, r)[i];
        for (int64_t i = threadIdx.x; i < pairs; i += blockDim.x)
            slopes[i] = row_of(dy, r)[i];
        __syncthreads();
        for (int64_t k = threadIdx.x; k < n * d; k += blockDim.x) {
            int64_t i = k / d, c = k % d;
            float sum = 0;
            for (int64_t j = 0; j < n; j++) {
                int64_t a = i < j ? i : j, b = i < j ? j : i;
                if (i != j)
                    sum += slopes[a * n - a * (a + 1) / 2 + b - a - 1] * fields[j * d + c];
            }
            put(row_of(dx, r) + k, sum, add);
        }
        __syncthreads();
    }
}

static void allow_shared(const void *kernel, size_t bytes)
{
    if (bytes > 48 << 10)
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             (int)bytes);
}

void cuda_pair_dots(cuda_stream s, int64_t n, int64_t d, cuda_rows x, cuda_rows y)
{
    size_t bytes = (size_t)(n * (d + 1)) * sizeof(float);
    if (x.rows == 0)
        return;
    allow_shared((const void *)dots_rows, bytes);
    dots_rows<<<blocks_for(x.rows, 1), THREADS, bytes, s>>>(n, d, x, y);
}

void cuda_pair_dots_back(cuda_stream s, int64_t n, int64_t d, cuda_rows x, cuda_rows dy,
                         cuda_rows dx, bool add)
{
    size_t bytes = (size_t)(n * d + n * (n - 1) / 2) * sizeof(float);
    if (x.rows == 0)
        return;
    allow_shared((const void *)dots_rows_back, bytes);
    dots_rows_back<<<blocks_for(x.rows, 1), THREADS, bytes, s>>>(n, d, x, dy, dx, add);
}

void cuda_mix(cuda_stream s, int64_t n, int64_t d, cuda_rows gate, cuda_rows x,
              cuda_rows y)
{
    for_elements(s, x.rows, d, [=] __device__(int64_t r, int64_t c) {
        float sum = 0;
        for (int64_t e = 0; e < n; e++)
            sum += row_of(gate, r)[e] * row_of(x, r)[e * d + c];
        row_of(y, r)[c] = sum;
    });
}

void cuda_mix_back_gate(cuda_stream s, int64_t n, int64_t d, cuda_rows x, cuda_rows dy,
                        cuda_rows d_gate, bool add)
{
    for_rows(s, x.rows, [=] __device__(int64_t r, int lane) {
        for (int64_t e = 0; e < n; e++) {
            float dot = 0;
            for (int64_t c = lane; c < d; c += WARP)
                dot += row_of(dy, r)[c] * row_of(x, r)[e * d + c];
            dot = warp_sum(dot);
            if (lane == 0)
                put(row_of(d_gate, r) + e, dot, add);
        }
    });
}

void cuda_mix_back_x(cuda_stream s, int64_t n, int64_t d, cuda_rows gate, cuda_rows dy,
                     cuda_rows dx, bool add)
{
    for_elements(s, dx.rows, n * d, [=] __device__(int64_t r, int64_t c) {
        put(row_of(dx, r) + c, row_of(gate, r)[c / d] * row_of(dy, r)[c % d], add);
    });
}

void cuda_softmax(cuda_stream s, int64_t n, cuda_rows x, cuda_rows y)
{
    int64_t groups = n ? x.width / n : 0;
    for_rows(s, x.rows * groups, [=] __device__(int64_t k, int lane) {
        const float *in = row_of(x, k / groups) + k % groups * n;
        float *out = row_of(y, k / groups) + k % groups * n, max = -INFINITY;
        double sum = 0;
        for (int64_t c = lane; c < n; c += WARP)
            max = fmaxf(max, in[c]);
        max = warp_max(max);
        for (int64_t c = lane; c < n; c += WARP) {
            out[c] = expf(in[c] - max);
            sum += (double)out[c];
        }
        float scale = (float)(1.0 / warp_sum(sum));
        for (int64_t c = lane; c < n; c += WARP)
            out[c] *= scale;
    });
}

void cuda_softmax_back(cuda_stream s, int64_t n, cuda_rows y, cuda_rows dy, cuda_rows dx,
                       bool add)
{
    int64_t groups = n ? y.width / n : 0;
    for_rows(s, y.rows * groups, [=] __device__(int64_t k, int lane) {
        int64_t r = k / groups, at = k % groups * n;
        double dot = 0;
        for (int64_t c = lane; c < n; c += WARP)
            dot += (double)row_of(y, r)[at + c] * (double)row_of(dy, r)[at + c];
        float less = (float)warp_sum(dot);
        for (int64_t c = lane; c < n; c += WARP)
            put(row_of(dx, r) + at + c,
                row_of(y, r)[at + c] * (row_of(dy, r)[at + c] - less), add);
    });
}

void cuda_row_dots(cuda_stream s, cuda_rows a, cuda_rows b, cuda_rows out)
{
    for_rows(s, a.rows, [=] __device__(int64_t r, int lane) {
        float dot = 0;
        for (int64_t c = lane; c < a.width; c += WARP)
            dot += row_of(a, r)[c] * row_of(b, r)[c];
        dot = warp_sum(dot);
        if (lane == 0)
            *row_of(out, r) = dot;
    });
}

void cuda_cross(cuda_stream s, cuda_rows x0, cuda_rows x, cuda_rows dot,
                const float *bias, cuda_rows y)
{
    for_elements(s, y.rows, y.width, [=] __device__(int64_t r, int64_t c) {
        row_of(y, r)[c] = row_of(x0, r)[c] * *row_of(dot, r) + bias[c] + row_of(x, r)[c];
    });
}

void cuda_cross_back_first(cuda_stream s, cuda_rows dy, cuda_rows dot, cuda_rows dx,
                           bool add)
{
    for_elements(s, dx.rows, dx.width, [=] __device__(int64_t r, int64_t c) {
        put(row_of(dx, r) + c, *row_of(dot, r) * row_of(dy, r)[c], add);
    });
}

void cuda_cross_back(cuda_stream s, cuda_rows dy, cuda_rows d_dot, const float *w,
                     cuda_rows dx, bool add)
{
    for_elements(s, dx.rows, dx.width, [=] __device__(int64_t r, int64_t c) {
        put(row_of(dx, r) + c, *row_of(d_dot, r) * w[c] + row_of(dy, r)[c], add);
    });
}
