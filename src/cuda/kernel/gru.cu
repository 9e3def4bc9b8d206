/* SPDX-License-Identifier: Apache-2.0 */
/* Gated recurrent units (nn/cpu/gru.c says what is computed). Along a sequence a block has a row
 * of the batch and goes from position to position with the state in shared memory; its warps
 * share the products with the weights, each sum in one order.
 */
#include "launch.cuh"

#define BLOCK 256

static __device__ __forceinline__ float sigmoid(float v)
{
    float e = expf(-fabsf(v));
    return v >= 0 ? 1.0f / (1.0f + e) : e / (1.0f + e);
}

/* How much of the state stays where z is. */
static __device__ __forceinline__ float stays(float z, float weight)
{
    return 1.0f - weight * (1.0f - z);
}

/* Unit i of one step; a and b [3 * w], keep [5 * w]. */
static __device__ float step(const float *a, const float *b, float h, int64_t w, int64_t i,
                             float weight, float *keep)
{
    float r = sigmoid(a[i] + b[i]), z = sigmoid(a[w + i] + b[w + i]);
    float n = tanhf(a[2 * w + i] + r * b[2 * w + i]);
    keep[i] = r;
    keep[w + i] = z;
    keep[2 * w + i] = n;
    keep[3 * w + i] = b[2 * w + i];
    keep[4 * w + i] = h;
    return n + stays(z, weight) * (h - n);
}

struct slopes {
    float r, z, n, bn, h;
};

static __device__ slopes step_back(const float *keep, float dy, int64_t w, int64_t i,
                                   float weight)
{
    float r = keep[i], z = keep[w + i], n = keep[2 * w + i];
    float bn = keep[3 * w + i], h = keep[4 * w + i], keeps = stays(z, weight);
    slopes d;
    d.z = dy * (h - n) * weight * z * (1 - z);
    d.n = dy * (1 - keeps) * (1 - n * n);
    d.r = d.n * bn * r * (1 - r);
    d.bn = d.n * r;
    d.h = dy * keeps;
    return d;
}

void cuda_gru_cell(cuda_stream s, cuda_rows a, cuda_rows b, cuda_rows h, cuda_rows keep,
                   cuda_rows y)
{
    for_elements(s, y.rows, y.width, [=] __device__(int64_t r, int64_t i) {
        row_of(y, r)[i] = step(row_of(a, r), row_of(b, r), row_of(h, r)[i], y.width, i, 1.0f,
                               row_of(keep, r));
    });
}

void cuda_gru_cell_back(cuda_stream s, cuda_rows keep, cuda_rows dy, cuda_rows da, bool add_a,
                        cuda_rows db, bool add_b, cuda_rows dh, bool add_h)
{
    for_elements(s, dy.rows, dy.width, [=] __device__(int64_t r, int64_t i) {
        int64_t w = dy.width;
        slopes d = step_back(row_of(keep, r), row_of(dy, r)[i], w, i, 1.0f);
        if (da.at) {
            put(row_of(da, r) + i, d.r, add_a);
            put(row_of(da, r) + w + i, d.z, add_a);
            put(row_of(da, r) + 2 * w + i, d.n, add_a);
        }
        if (db.at) {
            put(row_of(db, r) + i, d.r, add_b);
            put(row_of(db, r) + w + i, d.z, add_b);
            put(row_of(db, r) + 2 * w + i, d.bn, add_b);
        }
        if (dh.at)
            put(row_of(dh, r) + i, d.h, add_h);
    });
}

static __device__ float weight_at(const cuda_gru &g, int64_t position)
{
    return g.weights.at ? *row_of(g.weights, position) : 1.0f;
}

/* b [3 * w] = W h + bias, a warp for each unit. */
static __device__ void from_state(const cuda_gru &g, const float *h, float *b)
{
    int lane = (int)(threadIdx.x % WARP);
    for (int64_t u = threadIdx.x / WARP; u < 3 * g.width; u += BLOCK / WARP) {
        float sum = 0;
        for (int64_t i = lane; i < g.width; i += WARP)
            sum += g.w[u * g.width + i] * h[i];
        sum = warp_sum(sum);
        if (lane == 0)
            b[u] = sum + g.bias[u];
    }
}

static __global__ void __launch_bounds__(BLOCK)
    gru_rows(cuda_gru g, int64_t batch, cuda_rows a, cuda_rows keep, cuda_rows y)
{
    extern __shared__ float room[]; /* h [w], b [3 * w] */
    float *h = room, *b = room + g.width;
    for (int64_t row = blockIdx.x; row < batch; row += gridDim.x) {
        for (int64_t i = threadIdx.x; i < g.width; i += BLOCK)
            h[i] = 0;
        for (int64_t p = g.at[row]; p < g.at[row + 1]; p++) {
            __syncthreads();
            from_state(g, h, b);
            __syncthreads();
            for (int64_t i = threadIdx.x; i < g.width; i += BLOCK)
                row_of(y, p)[i] = h[i] =
                    step(row_of(a, p), b, h[i], g.width, i, weight_at(g, p), row_of(keep, p));
        }
        __syncthreads();
    }
}

void cuda_gru_forward(cuda_stream s, cuda_gru g, int64_t batch, cuda_rows a, cuda_rows keep,
                      cuda_rows y)
{
    size_t bytes = (size_t)(4 * g.width) * sizeof(float);
    if (batch > 0)
        gru_rows<<<blocks_for(batch, 1), BLOCK, bytes, s>>>(g, batch, a, keep, y);
}

/* The slope of a position's weight: one sum over the units, by the first warp. */
static __device__ void weight_slope(const cuda_gru &g, const float *keep, const float *carry,
                                    float *to, bool add)
{
    int64_t w = g.width;
    float sum = 0;
    if (threadIdx.x >= WARP)
        return;
    for (int64_t i = threadIdx.x; i < w; i += WARP)
        sum += carry[i] * (keep[4 * w + i] - keep[2 * w + i]) * (keep[w + i] - 1);
    sum = warp_sum(sum);
    if (threadIdx.x == 0)
        put(to, sum, add);
}

/* One position back: the slopes of b stay with it, `own` is what its state passes on. */
static __device__ void position_back(const cuda_gru &g, const cuda_gru_back &d, int64_t p,
                                     float *carry, float *own)
{
    int64_t w = g.width;
    float *keep = row_of(d.keep, p), *db = keep + 5 * w;
    for (int64_t i = threadIdx.x; i < w; i += BLOCK) {
        carry[i] += row_of(d.dy, p)[i];
        slopes one = step_back(keep, carry[i], w, i, weight_at(g, p));
        db[i] = one.r;
        db[w + i] = one.z;
        db[2 * w + i] = one.bn;
        own[i] = one.h;
        if (d.da.at) {
            put(row_of(d.da, p) + i, one.r, d.add_a);
            put(row_of(d.da, p) + w + i, one.z, d.add_a);
            put(row_of(d.da, p) + 2 * w + i, one.n, d.add_a);
        }
    }
    __syncthreads();
    if (d.d_weights.at)
        weight_slope(g, keep, carry, row_of(d.d_weights, p), d.add_weights);
    __syncthreads();
    for (int64_t i = threadIdx.x; i < w; i += BLOCK) {
        float sum = own[i];
        for (int64_t u = 0; u < 3 * w; u++)
            sum += g.w[u * w + i] * db[u];
        carry[i] = sum;
    }
    __syncthreads();
}

static __global__ void __launch_bounds__(BLOCK)
    gru_rows_back(cuda_gru g, int64_t batch, cuda_gru_back d)
{
    extern __shared__ float room[]; /* carry [w], own [w] */
    float *carry = room, *own = room + g.width;
    for (int64_t row = blockIdx.x; row < batch; row += gridDim.x) {
        for (int64_t i = threadIdx.x; i < g.width; i += BLOCK)
            carry[i] = 0;
        __syncthreads();
        for (int64_t p = g.at[row + 1] - 1; p >= g.at[row]; p--)
            position_back(g, d, p, carry, own);
    }
}

void cuda_gru_backward(cuda_stream s, cuda_gru g, int64_t batch, cuda_gru_back d)
{
    size_t bytes = (size_t)(2 * g.width) * sizeof(float);
    if (batch > 0)
        gru_rows_back<<<blocks_for(batch, 1), BLOCK, bytes, s>>>(g, batch, d);
}
