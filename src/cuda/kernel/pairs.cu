/* SPDX-License-Identifier: Apache-2.0 */
/* Pairs of a query and the keys of its positions, laid out in bf16. A block has a row of the batch:
 * its threads take 16 bytes of a position each, so that what belongs to the row is read once and
 * sums over its positions are made in one order.
 */
#include "bf16.cuh"
#include "launch.cuh"

#define BLOCK 256

/* The thread's columns [col, col + N) and the position that it begins with; `turns` positions are
 * taken by the block at once.
 */
struct seat {
    int64_t col, first, turns;
    int64_t many; /* seats of a position */
};

template <int N> static __device__ __forceinline__ seat seat_of(int64_t width, int64_t pass)
{
    int64_t groups = width / N, many = groups < BLOCK ? groups : BLOCK;
    return {(pass * many + (int64_t)threadIdx.x % many) * N, (int64_t)threadIdx.x / many,
            BLOCK / many, many};
}

static __device__ __forceinline__ int64_t passes(int64_t groups)
{
    return (groups + BLOCK - 1) / BLOCK;
}

template <int N, class T>
static __device__ __forceinline__ pack<T, N> get(const T *from)
{
    return *(const pack<T, N> *)from;
}

template <int N, class T>
static __device__ __forceinline__ void put_pack(T *to, const pack<T, N> &v)
{
    *(pack<T, N> *)to = v;
}

/* Rows of f32 may begin anywhere. */
template <int N> static __device__ __forceinline__ pack<float, N> gather(const float *from)
{
    pack<float, N> v;
#pragma unroll
    for (int i = 0; i < N; i++)
        v.x[i] = from[i];
    return v;
}

/* The sums of the seats of one column, in their order, by the first of them. */
template <int N>
static __device__ void join_seats(const seat &at, int64_t width, pack<float, N> sum, float *to,
                                  bool add)
{
    __shared__ pack<float, N> all[BLOCK];
    __syncthreads();
    all[threadIdx.x] = sum;
    __syncthreads();
    if (at.first != 0 || at.col >= width)
        return;
    for (int64_t t = 1; t < at.turns; t++)
#pragma unroll
        for (int i = 0; i < N; i++)
            sum.x[i] += all[threadIdx.x + t * at.many].x[i];
    for (int i = 0; i < N; i++)
        put(to + at.col + i, sum.x[i], add);
}

static __device__ __forceinline__ bool has_seat(const seat &at, int64_t width)
{
    return at.col < width && at.first < at.turns;
}

static __global__ void __launch_bounds__(BLOCK)
    lay_out(const int64_t *at, cuda_rows query, cuda_rows key, cuda_rows16 out)
{
    int64_t b = blockIdx.x, d = key.width;
    for (int64_t pass = 0; pass < passes(d / 4); pass++) {
        seat here = seat_of<4>(d, pass);
        if (!has_seat(here, d))
            continue;
        pack<float, 4> q = gather<4>(row_of(query, b) + here.col);
        for (int64_t k = at[b] + here.first; k < at[b + 1]; k += here.turns) {
            pack<float, 4> v = gather<4>(row_of(key, k) + here.col);
            pack<bf16, 4> plain, times;
#pragma unroll
            for (int i = 0; i < 4; i++) {
                set(&plain.x[i], v.x[i]);
                set(&times.x[i], q.x[i] * v.x[i]);
            }
            bf16 *to = (bf16 *)out.at + k * out.ld + here.col;
            put_pack(to, plain);
            put_pack(to + d, times);
        }
    }
}

static __device__ __forceinline__ float activated(enum cuda_act_kind act, float v)
{
    return act == CUDA_ACT_RELU      ? (v < 0 ? 0.0f : v) /* NaN stays */
           : act == CUDA_ACT_SIGMOID ? 1.0f / (1.0f + expf(-v))
           : act == CUDA_ACT_TANH    ? tanhf(v)
                                     : v;
}

static __global__ void __launch_bounds__(BLOCK)
    activate(const int64_t *at, cuda_rows start, enum cuda_act_kind act, cuda_rows16 y)
{
    int64_t b = blockIdx.x;
    for (int64_t pass = 0; pass < passes(y.width / 8); pass++) {
        seat here = seat_of<8>(y.width, pass);
        if (!has_seat(here, y.width))
            continue;
        pack<float, 8> from = gather<8>(row_of(start, b) + here.col);
        for (int64_t k = at[b] + here.first; k < at[b + 1]; k += here.turns) {
            bf16 *to = (bf16 *)y.at + k * y.ld + here.col;
            pack<bf16, 8> v = get<8>(to);
#pragma unroll
            for (int i = 0; i < 8; i++)
                set(&v.x[i], activated(act, value(v.x[i]) + from.x[i]));
            put_pack(to, v);
        }
    }
}

static __global__ void __launch_bounds__(BLOCK)
    go_back(const int64_t *at, enum cuda_act_kind act, cuda_rows16 y, cuda_rows16 dy,
            cuda_rows d_start, bool add)
{
    int64_t b = blockIdx.x;
    for (int64_t pass = 0; pass < passes(y.width / 8); pass++) {
        seat here = seat_of<8>(y.width, pass);
        bool mine = has_seat(here, y.width);
        pack<float, 8> sum = {};
        for (int64_t k = at[b] + here.first; mine && k < at[b + 1]; k += here.turns) {
            bf16 *to = (bf16 *)dy.at + k * dy.ld + here.col;
            pack<bf16, 8> d = get<8>(to);
            pack<bf16, 8> v = get<8>((const bf16 *)y.at + k * y.ld + here.col);
#pragma unroll
            for (int i = 0; i < 8; i++) {
                float g = value(d.x[i]) * slope(act, value(v.x[i]));
                set(&d.x[i], g);
                sum.x[i] += g;
            }
            put_pack(to, d);
        }
        if (d_start.at)
            join_seats<8>(here, y.width, sum, row_of(d_start, b), add);
    }
}

static __global__ void __launch_bounds__(BLOCK)
    split(const int64_t *at, cuda_rows query, cuda_rows key, cuda_rows16 d, cuda_rows d_key,
          bool add_key, cuda_rows d_query, bool add_query)
{
    int64_t b = blockIdx.x, width = key.width;
    for (int64_t pass = 0; pass < passes(width / 4); pass++) {
        seat here = seat_of<4>(width, pass);
        bool mine = has_seat(here, width);
        pack<float, 4> sum = {}, q = {};
        if (mine)
            q = gather<4>(row_of(query, b) + here.col);
        for (int64_t k = at[b] + here.first; mine && k < at[b + 1]; k += here.turns) {
            const bf16 *from = (const bf16 *)d.at + k * d.ld + here.col;
            pack<bf16, 4> plain = get<4>(from), times = get<4>(from + width);
            pack<float, 4> v = gather<4>(row_of(key, k) + here.col);
#pragma unroll
            for (int i = 0; i < 4; i++) {
                sum.x[i] += v.x[i] * value(times.x[i]);
                if (d_key.at)
                    put(row_of(d_key, k) + here.col + i,
                        value(plain.x[i]) + q.x[i] * value(times.x[i]), add_key);
            }
        }
        if (d_query.at)
            join_seats<4>(here, width, sum, row_of(d_query, b), add_query);
    }
}

void cuda_pair_operand16(cuda_stream s, const int64_t *at, cuda_rows query, cuda_rows key,
                         cuda_rows16 out)
{
    if (query.rows > 0)
        lay_out<<<(unsigned)query.rows, BLOCK, 0, s>>>(at, query, key, out);
}

void cuda_pair_act16(cuda_stream s, const int64_t *at, cuda_rows start,
                     enum cuda_act_kind act, cuda_rows16 y)
{
    if (start.rows > 0)
        activate<<<(unsigned)start.rows, BLOCK, 0, s>>>(at, start, act, y);
}

void cuda_pair_back16(cuda_stream s, const int64_t *at, int64_t batch, enum cuda_act_kind act,
                      cuda_rows16 y, cuda_rows16 dy, cuda_rows d_start, bool add)
{
    if (batch > 0)
        go_back<<<(unsigned)batch, BLOCK, 0, s>>>(at, act, y, dy, d_start, add);
}

void cuda_pair_split16(cuda_stream s, const int64_t *at, cuda_rows query, cuda_rows key,
                       cuda_rows16 d, cuda_rows d_key, bool add_key, cuda_rows d_query,
                       bool add_query)
{
    if (query.rows > 0)
        split<<<(unsigned)query.rows, BLOCK, 0, s>>>(at, query, key, d, d_key, add_key, d_query,
                                                     add_query);
}
