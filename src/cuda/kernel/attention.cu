/* SPDX-License-Identifier: Apache-2.0 */
/* Attention of the positions of a row to each other. A block has a row of the batch; each of its
 * warps has one head of one position at a time, its lanes the columns. Weights are not stored:
 * the way back finds them again, from the logarithm of their sum. What a key or a value gets is
 * summed by the warp of that position, over the queries in order.
 */
#include "launch.cuh"
#include "rng.cuh"

#define WARPS 4
#define CHUNKS (CUDA_HEAD_MAX / WARP)

/* One head of one position, and the positions from, from + 1, .. from + n - 1 of its row. */
struct head {
    int64_t from, n, position, index;
    int lane;
};

template <class Fn> __global__ void each_head(cuda_attention a, int64_t batch, Fn fn)
{
    for (int64_t b = blockIdx.x; b < batch; b += gridDim.x) {
        head h;
        h.from = a.fields ? b * a.fields : a.at[b];
        h.n = a.fields ? a.fields : a.at[b + 1] - a.at[b];
        h.lane = (int)(threadIdx.x % WARP);
        for (int64_t k = threadIdx.x / WARP; k < h.n * a.heads; k += WARPS) {
            h.position = h.from + k / a.heads;
            h.index = k % a.heads;
            fn(h);
        }
    }
}

template <class Fn>
static void for_heads(cuda_stream s, const cuda_attention &a, int64_t batch, Fn fn)
{
    if (batch > 0)
        each_head<<<blocks_for(batch, 1), WARPS * WARP, 0, s>>>(a, batch, fn);
}

static __device__ const float *columns(const cuda_attention &a, const cuda_rows &v,
                                       const head &h, int64_t position)
{
    return row_of(v, position) + h.index * a.width;
}

static __device__ float dot(const cuda_attention &a, const float *u, const float *v, int lane)
{
    float sum = 0;
    for (int64_t c = lane; c < a.width; c += WARP)
        sum += u[c] * v[c];
    return warp_sum(sum);
}

/* Of query i and key j; the CPU draws the words of a query's weights head by head. */
static __device__ float factor(const cuda_attention &a, const head &h, int64_t i, int64_t j)
{
    uint32_t block[4];
    uint64_t word = (uint64_t)(h.index * h.n + j - h.from);
    if (!a.drops)
        return 1.0f;
    rng_block_at(a.key[0], a.key[1], word / 4, (uint64_t)i, block);
    uint32_t drawn = word % 4 == 0   ? block[0]
                     : word % 4 == 1 ? block[1]
                     : word % 4 == 2 ? block[2]
                                     : block[3];
    return drawn < a.below ? 0.0f : a.kept;
}

/* acc += by * x */
static __device__ void add_to(const cuda_attention &a, float *acc, float by, const float *x,
                              int lane)
{
#pragma unroll
    for (int t = 0; t < CHUNKS; t++)
        if (lane + t * WARP < a.width)
            acc[t] += by * x[lane + t * WARP];
}

static __device__ void write(const cuda_attention &a, const float *acc, float by, float *to,
                             int lane, bool add)
{
#pragma unroll
    for (int t = 0; t < CHUNKS; t++)
        if (lane + t * WARP < a.width)
            put(to + lane + t * WARP, acc[t] * by, add);
}

/* What has been added up is scaled down when a larger score comes. */
void cuda_attention_forward(cuda_stream s, cuda_attention a, int64_t batch, cuda_rows query,
                            cuda_rows key, cuda_rows value, cuda_rows keep, cuda_rows y)
{
    for_heads(s, a, batch, [=] __device__(const head &h) {
        const float *q = columns(a, query, h, h.position);
        float acc[CHUNKS] = {0}, max = -INFINITY;
        double sum = 0;
        for (int64_t j = h.from; j < h.from + h.n; j++) {
            float score = a.scale * dot(a, q, columns(a, key, h, j), h.lane);
            if (score > max) {
                float shrink = expf(max - score);
                for (int t = 0; t < CHUNKS; t++)
                    acc[t] *= shrink;
                sum *= (double)shrink;
                max = score;
            }
            float e = expf(score - max);
            sum += (double)e;
            add_to(a, acc, e * factor(a, h, h.position, j), columns(a, value, h, j), h.lane);
        }
        write(a, acc, (float)(1.0 / sum), row_of(y, h.position) + h.index * a.width, h.lane,
              false);
        if (h.lane == 0)
            row_of(keep, h.position)[h.index] = max + (float)log(sum);
    });
}

/* The weight of key j for query i, and the slope of their score. */
static __device__ float slope_of(const cuda_attention &a, const cuda_attention_back &b,
                                 const head &h, int64_t i, int64_t j, float mean, float *weight)
{
    float score = a.scale * dot(a, columns(a, b.query, h, i), columns(a, b.key, h, j), h.lane);
    float p = expf(score - row_of(b.keep, i)[h.index]), f = factor(a, h, i, j);
    float d = dot(a, columns(a, b.dy, h, i), columns(a, b.value, h, j), h.lane);
    *weight = p * f;
    return a.scale * p * (f * d - mean);
}

static __device__ float mean_of(const cuda_attention &a, const cuda_attention_back &b,
                                const head &h, int64_t i)
{
    return dot(a, columns(a, b.dy, h, i), columns(a, b.y, h, i), h.lane);
}

void cuda_attention_back_query(cuda_stream s, cuda_attention a, int64_t batch,
                               cuda_attention_back b, cuda_rows d_query, bool add)
{
    for_heads(s, a, batch, [=] __device__(const head &h) {
        float acc[CHUNKS] = {0}, weight, mean = mean_of(a, b, h, h.position);
        for (int64_t j = h.from; j < h.from + h.n; j++)
            add_to(a, acc, slope_of(a, b, h, h.position, j, mean, &weight),
                   columns(a, b.key, h, j), h.lane);
        write(a, acc, 1.0f, row_of(d_query, h.position) + h.index * a.width, h.lane, add);
    });
}

void cuda_attention_back_keys(cuda_stream s, cuda_attention a, int64_t batch,
                              cuda_attention_back b, cuda_rows d_key, bool add_key,
                              cuda_rows d_value, bool add_value)
{
    for_heads(s, a, batch, [=] __device__(const head &h) {
        float keys[CHUNKS] = {0}, values[CHUNKS] = {0}, weight;
        for (int64_t i = h.from; i < h.from + h.n; i++) {
            float d = slope_of(a, b, h, i, h.position, mean_of(a, b, h, i), &weight);
            add_to(a, keys, d, columns(a, b.query, h, i), h.lane);
            add_to(a, values, weight, columns(a, b.dy, h, i), h.lane);
        }
        if (d_key.at)
            write(a, keys, 1.0f, row_of(d_key, h.position) + h.index * a.width, h.lane,
                  add_key);
        if (d_value.at)
            write(a, values, 1.0f, row_of(d_value, h.position) + h.index * a.width, h.lane,
                  add_value);
    });
}
