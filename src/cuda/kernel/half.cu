/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of bf16, and gradients on their way back through an activation: masked, perhaps rounded to
 * bf16, and summed by column, in one pass over them. A block has some columns, four of f32 or
 * eight of bf16 to a lane, and a part of the rows; a lane sums a few rows in f32, everything else
 * is summed in double, in a fixed order.
 */
#include "bf16.cuh"
#include "launch.cuh"

#define PARTS 512
#define LANES 8 /* warps of a block, which take turns at its rows */
#define AT_ONCE 4 /* rows of a lane that are asked for together */
#define RUNS 4    /* of them that are summed in f32 */

template <class T> struct matrix {
    T *at;
    int64_t rows, width, ld;
};

static matrix<float> floats(cuda_rows v)
{
    return {v.at, v.rows, v.width, v.ld};
}
static matrix<bf16> halves(cuda_rows16 v)
{
    return {(bf16 *)v.at, v.rows, v.width, v.ld};
}

template <int N, class T> static bool is_aligned(const matrix<T> &m)
{
    return (uintptr_t)m.at % 16 == 0 && m.ld % N == 0 && m.width % N == 0;
}

template <int N, class T>
static __device__ __forceinline__ pack<T, N> load(const matrix<T> &m, int64_t r, int64_t c,
                                                  bool aligned)
{
    const T *at = m.at + r * m.ld + c;
    pack<T, N> v;
    if (aligned)
        return *(const pack<T, N> *)at;
#pragma unroll
    for (int i = 0; i < N; i++)
        if (c + i < m.width)
            v.x[i] = at[i];
    return v;
}

template <int N, class T>
static __device__ __forceinline__ void store(const matrix<T> &m, int64_t r, int64_t c,
                                             bool aligned, const pack<T, N> &v)
{
    T *at = m.at + r * m.ld + c;
    if (aligned)
        *(pack<T, N> *)at = v;
    else
#pragma unroll
        for (int i = 0; i < N; i++)
            if (c + i < m.width)
                at[i] = v.x[i];
}

/* d * act', which is also added to `few`. */
template <class To, class T, int N>
static __device__ __forceinline__ pack<To, N> gone_back(enum cuda_act_kind act,
                                                        const pack<T, N> &y,
                                                        const pack<T, N> &d, float (&few)[N])
{
    pack<To, N> out;
#pragma unroll
    for (int i = 0; i < N; i++) {
        float g = act == CUDA_ACT_NONE ? value(d.x[i])
                                       : value(d.x[i]) * slope(act, value(y.x[i]));
        set(&out.x[i], g);
        few[i] += g;
    }
    return out;
}

template <int N>
static __device__ __forceinline__ void empty(float (&few)[N], double (&sums)[N])
{
#pragma unroll
    for (int i = 0; i < N; i++) {
        sums[i] += (double)few[i];
        few[i] = 0;
    }
}

template <int N, class T, class To>
static __global__ void __launch_bounds__(LANES *WARP)
    back_parts(enum cuda_act_kind act, matrix<T> y, matrix<T> dy, matrix<To> to, bool aligned,
               float *parts)
{
    __shared__ double all[LANES][WARP * N];
    int64_t col = ((int64_t)blockIdx.x * WARP + threadIdx.x) * N;
    int64_t part = (dy.rows + PARTS - 1) / PARTS, from = blockIdx.y * part;
    int64_t end = from + part < dy.rows ? from + part : dy.rows;
    double sums[N] = {};
    float few[N] = {};
    int64_t r = from + threadIdx.y;
    for (int run = 1; col < dy.width && r < end; r += LANES * AT_ONCE, run++) {
        pack<T, N> d[AT_ONCE], v[AT_ONCE];
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++)
            if (r + k * LANES < end) {
                d[k] = load<N>(dy, r + k * LANES, col, aligned);
                v[k] = act == CUDA_ACT_NONE ? d[k] : load<N>(y, r + k * LANES, col, aligned);
            }
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++)
            if (r + k * LANES < end)
                store<N>(to, r + k * LANES, col, aligned, gone_back<To>(act, v[k], d[k], few));
        if (run % RUNS == 0)
            empty(few, sums);
    }
#pragma unroll
    for (int i = 0; i < N; i++)
        all[threadIdx.y][threadIdx.x * N + i] = sums[i] + (double)few[i];
    __syncthreads();
    int c = (int)(threadIdx.y * WARP + threadIdx.x);
    int64_t column = (int64_t)blockIdx.x * WARP * N + c;
    if (c >= WARP * N || column >= dy.width)
        return;
    double sum = 0;
    for (int i = 0; i < LANES; i++)
        sum += all[i][c];
    parts[blockIdx.y * dy.width + column] = (float)sum;
}

/* A warp has a column. */
static void add_parts(cuda_stream s, const float *parts, int64_t width, float *sums)
{
    for_rows(s, width, [=] __device__(int64_t c, int lane) {
        double sum = 0;
        for (int i = lane; i < PARTS; i += WARP)
            sum += (double)parts[i * width + c];
        sum = warp_sum(sum);
        if (lane == 0)
            sums[c] += (float)sum;
    });
}

template <int N, class T, class To>
static void back(cuda_stream s, enum cuda_act_kind act, matrix<T> y, matrix<T> dy,
                 matrix<To> to, float *scratch, float *sums)
{
    if (dy.rows == 0 || dy.width == 0)
        return;
    bool aligned = is_aligned<N>(dy) && is_aligned<N>(to) &&
                   (act == CUDA_ACT_NONE || is_aligned<N>(y));
    dim3 grid((unsigned)((dy.width + WARP * N - 1) / (WARP * N)), PARTS);
    back_parts<N><<<grid, dim3(WARP, LANES), 0, s>>>(act, y, dy, to, aligned, scratch);
    if (sums)
        add_parts(s, scratch, dy.width, sums);
}

int64_t cuda_back_scratch(int64_t columns)
{
    return PARTS * columns;
}

void cuda_act_back_sums(cuda_stream s, enum cuda_act_kind act, cuda_rows y, cuda_rows dy,
                        cuda_rows to, float *scratch, float *sums)
{
    back<4>(s, act, floats(y), floats(dy), floats(to), scratch, sums);
}

void cuda_act_back_sums_to16(cuda_stream s, enum cuda_act_kind act, cuda_rows y,
                             cuda_rows dy, cuda_rows16 to, float *scratch, float *sums)
{
    back<4>(s, act, floats(y), floats(dy), halves(to), scratch, sums);
}

void cuda_act_back_sums16(cuda_stream s, enum cuda_act_kind act, cuda_rows16 y,
                          cuda_rows16 dy, cuda_rows16 to, float *scratch, float *sums)
{
    back<8>(s, act, halves(y), halves(dy), halves(to), scratch, sums);
}

void cuda_to_bf16(cuda_stream s, cuda_rows x, cuda_rows16 y)
{
    constexpr int N = 4;
    matrix<bf16> to = halves(y);
    matrix<float> from = floats(x);
    bool aligned = is_aligned<N>(to) && (uintptr_t)x.at % 16 == 0 && x.ld % N == 0;
    for_elements(s, y.rows, (y.width + N - 1) / N, [=] __device__(int64_t r, int64_t i) {
        int64_t c = i * N;
        pack<float, N> v = load<N>(from, r, c, aligned && c + N <= from.width);
        pack<bf16, N> out;
#pragma unroll
        for (int k = 0; k < N; k++)
            set(&out.x[k], c + k < from.width ? v.x[k] : 0.0f);
        store<N>(to, r, c, aligned, out);
    });
}
