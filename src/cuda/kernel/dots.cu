/* SPDX-License-Identifier: Apache-2.0 */
/* Dot products of all pairs of up to 32 fields by the tensor cores, factors rounded to TF32 and
 * sums in f32. A warp has a row of the batch: it is a matrix X of 32 x d (fields that are not
 * there count as 0), the products are the part of X X^T above the diagonal, and the gradient is
 * S X, S being the slopes as a symmetric matrix.
 *
 * An instruction multiplies 16 x 8 by 8 x 8. Which columns of X it takes together does not
 * matter as long as both factors agree, so that a lane reads 16 bytes of a row at once and uses
 * them in several instructions. Fragments, with g = lane / 4 and t = lane % 4:
 *
 *     a: (g, t) (g + 8, t) (g, t + 4) (g + 8, t + 4)    b: (t, g) (t + 4, g)
 *     c: (g, 2 t) (g, 2 t + 1) (g + 8, 2 t) (g + 8, 2 t + 1)
 */
#include "launch.cuh"

#define FIELDS 32
#define DOT_WARPS 4

static __device__ __forceinline__ uint32_t tf32(float v)
{
    uint32_t bits;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(v));
    return bits;
}

static __device__ __forceinline__ void multiply(float c[4], const uint32_t a[4], uint32_t b0,
                                                uint32_t b1)
{
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
        "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/* Where the pair (i, j), i < j, of n fields stands. */
static __device__ __forceinline__ int pair_at(int n, int i, int j)
{
    return i * n - i * (i + 1) / 2 + j - i - 1;
}

/* 16 columns of the fields g, g + 8, g + 16 and g + 24, from column `col` + 4 t on. */
static __device__ __forceinline__ void load_four(int n, int64_t d, const float *x, int g,
                                                 int64_t col, uint32_t out[4][4])
{
#pragma unroll
    for (int i = 0; i < 4; i++) {
        float4 v = make_float4(0, 0, 0, 0);
        if (g + 8 * i < n)
            v = *(const float4 *)(x + (g + 8 * i) * d + col);
        out[i][0] = tf32(v.x);
        out[i][1] = tf32(v.y);
        out[i][2] = tf32(v.z);
        out[i][3] = tf32(v.w);
    }
}

/* The six tiles of 16 x 8 that touch the upper triangle: rows 0-15 by all columns, rows 16-31
 * by the columns from 16 on.
 */
static __device__ __forceinline__ void multiply_four(const uint32_t f[4][4], int k,
                                                     float c[6][4])
{
    uint32_t low[4] = {f[0][k], f[1][k], f[0][k + 1], f[1][k + 1]};
    uint32_t high[4] = {f[2][k], f[3][k], f[2][k + 1], f[3][k + 1]};
#pragma unroll
    for (int i = 0; i < 4; i++)
        multiply(c[i], low, f[i][k], f[i][k + 1]);
    multiply(c[4], high, f[2][k], f[2][k + 1]);
    multiply(c[5], high, f[3][k], f[3][k + 1]);
}

static __device__ __forceinline__ void put_pairs(int n, int g, int t, const float c[6][4],
                                                 float *pairs)
{
#pragma unroll
    for (int tile = 0; tile < 6; tile++)
#pragma unroll
        for (int v = 0; v < 4; v++) {
            int i = (tile < 4 ? 0 : 16) + g + (v / 2) * 8;
            int j = (tile < 4 ? tile : tile - 2) * 8 + 2 * t + v % 2;
            if (i < j && j < n)
                pairs[pair_at(n, i, j)] = c[tile][v];
        }
}

static __global__ void __launch_bounds__(DOT_WARPS *WARP, 8)
    dots_tensor(int n, int64_t d, cuda_rows x, cuda_rows y)
{
    __shared__ float room[DOT_WARPS][FIELDS * (FIELDS - 1) / 2];
    int lane = (int)(threadIdx.x % WARP), g = lane / 4, t = lane % 4;
    float *pairs = room[threadIdx.x / WARP];
    int64_t step = (int64_t)gridDim.x * DOT_WARPS;
    for (int64_t r = (int64_t)blockIdx.x * DOT_WARPS + threadIdx.x / WARP; r < x.rows;
         r += step) {
        float c[6][4] = {};
#pragma unroll 2
        for (int64_t col = 0; col < d; col += 16) {
            uint32_t f[4][4];
            load_four(n, d, row_of(x, r), g, col + 4 * t, f);
            multiply_four(f, 0, c);
            multiply_four(f, 2, c);
        }
        put_pairs(n, g, t, c, pairs);
        __syncwarp();
        for (int k = lane; k < n * (n - 1) / 2; k += WARP)
            row_of(y, r)[k] = pairs[k];
        __syncwarp();
    }
}

/* Slopes as fragments: a[m][k] has rows 16 m to 16 m + 15, columns 8 k to 8 k + 7. */
static __device__ __forceinline__ void load_slopes(int n, int g, int t, const float *pairs,
                                                   uint32_t a[2][4][4])
{
#pragma unroll
    for (int m = 0; m < 2; m++)
#pragma unroll
        for (int k = 0; k < 4; k++)
#pragma unroll
            for (int v = 0; v < 4; v++) {
                int i = 16 * m + g + v % 2 * 8, j = 8 * k + t + v / 2 * 4;
                int low = i < j ? i : j, high = i < j ? j : i;
                a[m][k][v] = low < high && high < n ? tf32(pairs[pair_at(n, low, high)]) : 0;
            }
}

template <int V> struct floats {
    float x[V];
};

template <int V>
static __device__ __forceinline__ floats<V> read(const float *at, bool there)
{
    floats<V> v = {};
    if constexpr (V == 4) {
        float4 four = there ? *(const float4 *)at : make_float4(0, 0, 0, 0);
        v = {four.x, four.y, four.z, four.w};
    } else {
        float2 two = there ? *(const float2 *)at : make_float2(0, 0);
        v = {two.x, two.y};
    }
    return v;
}

/* 2 V columns of a row, those of c[tile][half] being first + tile, then V + first + tile. */
template <int V>
static __device__ __forceinline__ void write(float *at, const float c[V][4], int half, bool add)
{
    float all[2 * V];
#pragma unroll
    for (int v = 0; v < V; v++) {
        all[v] = c[v][2 * half];
        all[V + v] = c[v][2 * half + 1];
    }
#pragma unroll
    for (int k = 0; k < 2 * V; k += 4) {
        float4 *to = (float4 *)(at + k), old = make_float4(0, 0, 0, 0);
        if (add)
            old = *to;
        *to = make_float4(old.x + all[k], old.y + all[k + 1], old.z + all[k + 2],
                          old.w + all[k + 3]);
    }
}

/* 8 V columns of the gradient, from `col` on: column V g + v is column g of tile v. */
template <int V>
static __device__ __forceinline__ void slopes_times(int n, int64_t d, int g, int t,
                                                    const uint32_t a[2][4][4], const float *x,
                                                    float *dx, int64_t col, bool add)
{
    float c[2][V][4] = {};
#pragma unroll
    for (int k = 0; k < 4; k++) {
        int low = 8 * k + t, high = low + 4;
        floats<V> b0 = read<V>(x + low * d + col + V * g, low < n);
        floats<V> b1 = read<V>(x + high * d + col + V * g, high < n);
#pragma unroll
        for (int v = 0; v < V; v++)
#pragma unroll
            for (int m = 0; m < 2; m++)
                multiply(c[m][v], a[m][k], tf32(b0.x[v]), tf32(b1.x[v]));
    }
#pragma unroll
    for (int m = 0; m < 2; m++)
#pragma unroll
        for (int half = 0; half < 2; half++) {
            int field = 16 * m + g + 8 * half;
            if (field < n)
                write<V>(dx + field * d + col + 2 * V * t, c[m], half, add);
        }
}

template <int V>
static __global__ void __launch_bounds__(DOT_WARPS *WARP, 5)
    dots_tensor_back(int n, int64_t d, cuda_rows x, cuda_rows dy, cuda_rows dx, bool add)
{
    __shared__ float room[DOT_WARPS][FIELDS * (FIELDS - 1) / 2];
    int lane = (int)(threadIdx.x % WARP), g = lane / 4, t = lane % 4;
    float *pairs = room[threadIdx.x / WARP];
    int64_t step = (int64_t)gridDim.x * DOT_WARPS;
    for (int64_t r = (int64_t)blockIdx.x * DOT_WARPS + threadIdx.x / WARP; r < x.rows;
         r += step) {
        uint32_t a[2][4][4];
        for (int k = lane; k < n * (n - 1) / 2; k += WARP)
            pairs[k] = row_of(dy, r)[k];
        __syncwarp();
        load_slopes(n, g, t, pairs, a);
        __syncwarp();
        for (int64_t col = 0; col < d; col += 8 * V)
            slopes_times<V>(n, d, g, t, a, row_of(x, r), row_of(dx, r), col, add);
    }
}

static bool is_aligned(cuda_rows v)
{
    return (uintptr_t)v.at % 16 == 0 && v.ld % 4 == 0;
}

static unsigned dot_blocks(int64_t rows)
{
    return blocks_for(rows, DOT_WARPS);
}

bool cuda_pair_dots_tensor(cuda_stream s, int64_t n, int64_t d, cuda_rows x, cuda_rows y)
{
    if (n > FIELDS || d % 16 != 0 || !is_aligned(x))
        return false;
    if (x.rows > 0)
        dots_tensor<<<dot_blocks(x.rows), DOT_WARPS * WARP, 0, s>>>((int)n, d, x, y);
    return true;
}

bool cuda_pair_dots_tensor_back(cuda_stream s, int64_t n, int64_t d, cuda_rows x,
                                cuda_rows dy, cuda_rows dx, bool add)
{
    if (n > FIELDS || d % 16 != 0 || !is_aligned(x) || !is_aligned(dx))
        return false;
    if (x.rows > 0)
        (d % 32 == 0 ? dots_tensor_back<4> : dots_tensor_back<2>)<<<
            dot_blocks(x.rows), DOT_WARPS * WARP, 0, s>>>((int)n, d, x, dy, dx, add);
    return true;
}
