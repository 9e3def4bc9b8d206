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

/* A block has a row: its fields lie in shared memory, from multiples of 16 bytes on, while all
 * pairs are multiplied. Which two fields a pair has is worked out once per block.
 */
#define PAIR_THREADS 128
#define PAIR_BLOCKS 4096

static __device__ void list_pairs(int n, unsigned char (*pairs)[2])
{
    for (int k = (int)threadIdx.x; k < n * n; k += PAIR_THREADS) {
        int i = k / n, j = k % n;
        if (j > i) {
            int at = i * n - i * (i + 1) / 2 + j - i - 1;
            pairs[at][0] = (unsigned char)i;
            pairs[at][1] = (unsigned char)j;
        }
    }
}

/* Fields of a row; columns up to `ld` that it has not are 0. */
static __device__ void load_fields(int n, int d, int ld, const float *x, float *fields)
{
    for (int k = (int)threadIdx.x; k < n * ld; k += PAIR_THREADS) {
        int i = k / ld, c = k - i * ld;
        fields[k] = c < d ? x[i * d + c] : 0;
    }
}

static __device__ float4 axpy4(float a, float4 x, float4 y)
{
    return make_float4(fmaf(a, x.x, y.x), fmaf(a, x.y, y.y), fmaf(a, x.z, y.z),
                       fmaf(a, x.w, y.w));
}

static __global__ void __launch_bounds__(PAIR_THREADS)
    dots_rows(int n, int d, int ld, cuda_rows x, cuda_rows y)
{
    extern __shared__ float4 room[]; /* fields [n][ld], then the pairs */
    float *fields = (float *)room;
    unsigned char(*pairs)[2] = (unsigned char(*)[2])(fields + n * ld);
    list_pairs(n, pairs);
    for (int64_t r = blockIdx.x; r < x.rows; r += gridDim.x) {
        __syncthreads();
        load_fields(n, d, ld, row_of(x, r), fields);
        __syncthreads();
        for (int k = (int)threadIdx.x; k < n * (n - 1) / 2; k += PAIR_THREADS) {
            const float4 *a = (const float4 *)(fields + pairs[k][0] * ld);
            const float4 *b = (const float4 *)(fields + pairs[k][1] * ld);
            float dot = 0;
            for (int c = 0; c < (d + 3) / 4; c++) {
                float4 u = a[c], v = b[c];
                dot = fmaf(u.x, v.x, dot);
                dot = fmaf(u.y, v.y, dot);
                dot = fmaf(u.z, v.z, dot);
                dot = fmaf(u.w, v.w, dot);
            }
            row_of(y, r)[k] = dot;
        }
    }
}

static __global__ void __launch_bounds__(PAIR_THREADS)
    dots_rows_back(int n, int d, int ld, cuda_rows x, cuda_rows dy, cuda_rows dx, bool add)
{
    extern __shared__ float4 room[]; /* fields [n][ld], slopes [n][n], then the pairs */
    float *fields = (float *)room, *slopes = fields + n * ld;
    unsigned char(*pairs)[2] = (unsigned char(*)[2])(slopes + n * n);
    int parts = (d + 3) / 4;
    list_pairs(n, pairs);
    for (int i = (int)threadIdx.x; i < n; i += PAIR_THREADS)
        slopes[i * n + i] = 0;
    for (int64_t r = blockIdx.x; r < x.rows; r += gridDim.x) {
        __syncthreads();
        load_fields(n, d, ld, row_of(x, r), fields);
        for (int k = (int)threadIdx.x; k < n * (n - 1) / 2; k += PAIR_THREADS) {
            float slope = row_of(dy, r)[k];
            slopes[pairs[k][0] * n + pairs[k][1]] = slope;
            slopes[pairs[k][1] * n + pairs[k][0]] = slope;
        }
        __syncthreads();
        for (int k = (int)threadIdx.x; k < n * parts; k += PAIR_THREADS) {
            int i = k / parts, c = k - i * parts;
            float4 sum = make_float4(0, 0, 0, 0);
            for (int j = 0; j < n; j++)
                sum = axpy4(slopes[i * n + j], ((const float4 *)(fields + j * ld))[c], sum);
            const float parts_of[4] = {sum.x, sum.y, sum.z, sum.w};
            for (int v = 0; v < 4 && 4 * c + v < d; v++)
                put(row_of(dx, r) + i * d + 4 * c + v, parts_of[v], add);
        }
    }
}

static void allow_shared(const void *kernel, size_t bytes)
{
    if (bytes > 48 << 10)
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             (int)bytes);
}

/* Floats from one field to the next: four more than it has keep lanes in different banks. */
static int field_ld(int64_t d)
{
    return (int)((d + 3) / 4 * 4 + 4);
}

static unsigned pair_blocks(int64_t rows)
{
    return (unsigned)(rows < PAIR_BLOCKS ? rows : PAIR_BLOCKS);
}

void cuda_pair_dots(cuda_stream s, int64_t n, int64_t d, cuda_rows x, cuda_rows y)
{
    int ld = field_ld(d);
    size_t bytes = (size_t)(n * ld) * sizeof(float) + (size_t)(n * (n - 1));
    if (x.rows == 0)
        return;
    allow_shared((const void *)dots_rows, bytes);
    dots_rows<<<pair_blocks(x.rows), PAIR_THREADS, bytes, s>>>((int)n, (int)d, ld, x, y);
}

void cuda_pair_dots_back(cuda_stream s, int64_t n, int64_t d, cuda_rows x, cuda_rows dy,
                         cuda_rows dx, bool add)
{
    int ld = field_ld(d);
    size_t bytes = (size_t)(n * ld + n * n) * sizeof(float) + (size_t)(n * (n - 1));
    if (x.rows == 0)
        return;
    allow_shared((const void *)dots_rows_back, bytes);
    dots_rows_back<<<pair_blocks(x.rows), PAIR_THREADS, bytes, s>>>((int)n, (int)d, ld, x, dy,
                                                                    dx, add);
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

/* Four columns of each expert at once. */
static void mix_back_x_wide(cuda_stream s, int64_t n, int64_t d, cuda_rows gate, cuda_rows dy,
                            cuda_rows dx, bool add)
{
    for_elements(s, dx.rows, d / 4, [=] __device__(int64_t r, int64_t c) {
        float4 slope = ((const float4 *)row_of(dy, r))[c];
        for (int64_t e = 0; e < n; e++) {
            float4 *to = (float4 *)(row_of(dx, r) + e * d) + c, old = make_float4(0, 0, 0, 0);
            float by = row_of(gate, r)[e];
            if (add)
                old = *to;
            *to = make_float4(old.x + by * slope.x, old.y + by * slope.y,
                              old.z + by * slope.z, old.w + by * slope.w);
        }
    });
}

static bool is_wide(cuda_rows v)
{
    return (uintptr_t)v.at % 16 == 0 && v.ld % 4 == 0;
}

void cuda_mix_back_x(cuda_stream s, int64_t n, int64_t d, cuda_rows gate, cuda_rows dy,
                     cuda_rows dx, bool add)
{
    if (d % 4 == 0 && is_wide(dy) && is_wide(dx)) {
        mix_back_x_wide(s, n, d, gate, dy, dx, add);
        return;
    }
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
