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

/* N values as they lie in memory: two of bf16 in a register. */
template <class T, int N> struct alignas(N * sizeof(T)) words {
    uint32_t w[N * sizeof(T) / 4];
};

static __device__ __forceinline__ float value_at(const uint32_t *w, int i, float)
{
    return __uint_as_float(w[i]);
}
static __device__ __forceinline__ float value_at(const uint32_t *w, int i, bf16)
{
    return __uint_as_float(i % 2 ? w[i / 2] & 0xffff0000u : w[i / 2] << 16);
}

static __device__ __forceinline__ void set_two(uint32_t *w, int i, float a, float b, float)
{
    w[i] = __float_as_uint(a);
    w[i + 1] = __float_as_uint(b);
}
static __device__ __forceinline__ void set_two(uint32_t *w, int i, float a, float b, bf16)
{
    __nv_bfloat162 two = __floats2bfloat162_rn(a, b);
    w[i / 2] = *(const uint32_t *)&two;
}

template <int N, class T>
static __device__ __forceinline__ words<T, N> load(const matrix<T> &m, int64_t r, int64_t c,
                                                   bool aligned)
{
    const T *at = m.at + r * m.ld + c;
    if (aligned)
        return *(const words<T, N> *)at;
    words<T, N> v = {};
#pragma unroll
    for (int i = 0; i < N; i += 2)
        set_two(v.w, i, c + i < m.width ? value(at[i]) : 0.0f,
                c + i + 1 < m.width ? value(at[i + 1]) : 0.0f, T());
    return v;
}

template <int N, class T>
static __device__ __forceinline__ void store(const matrix<T> &m, int64_t r, int64_t c,
                                             bool aligned, const words<T, N> &v)
{
    T *at = m.at + r * m.ld + c;
    if (aligned)
        *(words<T, N> *)at = v;
    else
#pragma unroll
        for (int i = 0; i < N; i++)
            if (c + i < m.width)
                set(&at[i], value_at(v.w, i, T()));
}

/* d * act', which is also added to `few`. */
template <class To, class T, int N>
static __device__ __forceinline__ words<To, N> gone_back(enum cuda_act_kind act,
                                                         const words<T, N> &y,
                                                         const words<T, N> &d,
                                                         float (&few)[N])
{
    words<To, N> out;
#pragma unroll
    for (int i = 0; i < N; i += 2) {
        float g[2];
#pragma unroll
        for (int k = 0; k < 2; k++) {
            float v = value_at(d.w, i + k, T());
            g[k] = act == CUDA_ACT_NONE ? v : v * slope(act, value_at(y.w, i + k, T()));
            few[i + k] += g[k];
        }
        set_two(out.w, i, g[0], g[1], To());
    }
    return out;
}

/* A lane's own sums, which lie in shared memory to leave registers to rows. */
template <int N>
static __device__ __forceinline__ void empty(float (&few)[N], double *sums)
{
#pragma unroll
    for (int i = 0; i < N; i++) {
        sums[i] += (double)few[i];
        few[i] = 0;
    }
}

/* RELU, ALIGNED: known to be so. */
template <int N, bool RELU, bool ALIGNED, class T, class To>
static __global__ void __launch_bounds__(LANES *WARP, 3)
    back_parts(enum cuda_act_kind given, matrix<T> y, matrix<T> dy, matrix<To> to,
               float *parts)
{
    __shared__ double all[LANES][WARP * N];
    enum cuda_act_kind act = RELU ? CUDA_ACT_RELU : given;
    int64_t col = ((int64_t)blockIdx.x * WARP + threadIdx.x) * N;
    int64_t part = (dy.rows + PARTS - 1) / PARTS, from = blockIdx.y * part;
    int64_t end = from + part < dy.rows ? from + part : dy.rows;
    double *sums = &all[threadIdx.y][threadIdx.x * N];
    float few[N] = {};
    int64_t r = from + threadIdx.y;
#pragma unroll
    for (int i = 0; i < N; i++)
        sums[i] = 0;
    for (int run = 1; col < dy.width && r < end; r += LANES * AT_ONCE, run++) {
        words<T, N> d[AT_ONCE], v[AT_ONCE];
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++)
            if (r + k * LANES < end) {
                d[k] = load<N>(dy, r + k * LANES, col, ALIGNED);
                v[k] = act == CUDA_ACT_NONE ? d[k] : load<N>(y, r + k * LANES, col, ALIGNED);
            }
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++)
            if (r + k * LANES < end)
                store<N>(to, r + k * LANES, col, ALIGNED, gone_back<To>(act, v[k], d[k], few));
        if (run % RUNS == 0)
            empty(few, sums);
    }
    empty(few, sums);
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
    dim3 block(WARP, LANES);
    if (aligned && act == CUDA_ACT_RELU)
        back_parts<N, true, true><<<grid, block, 0, s>>>(act, y, dy, to, scratch);
    else if (aligned)
        back_parts<N, false, true><<<grid, block, 0, s>>>(act, y, dy, to, scratch);
    else
        back_parts<N, false, false><<<grid, block, 0, s>>>(act, y, dy, to, scratch);
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
        words<float, N> v = load<N>(from, r, c, aligned && c + N <= from.width);
        words<bf16, N> out;
#pragma unroll
        for (int k = 0; k < N; k += 2)
            set_two(out.w, k, value_at(v.w, k, 0.0f), value_at(v.w, k + 1, 0.0f), bf16());
        store<N>(to, r, c, aligned, out);
    });
}
