/* SPDX-License-Identifier: Apache-2.0 */
/* Vectors of a batch: rows of tables into the columns of all slots, in one launch. A few lanes
 * of a warp have a row of a slot, as many as its floats need, 16 bytes at a time where rows
 * and columns are aligned to that.
 */
#include "launch.cuh"
#include "lookup.h"

static __device__ uint32_t counted(const uint32_t *keys, uint32_t n, uint32_t rows)
{
    uint32_t valid = 0;
    for (uint32_t k = 0; k < n; k++)
        valid += keys[k] < rows;
    return valid > 1 ? valid : 1;
}

template <class T> static __device__ T zero();
template <> __device__ float zero<float>()
{
    return 0.0f;
}
template <> __device__ float4 zero<float4>()
{
    return make_float4(0, 0, 0, 0);
}

/* One rounding, as the CPU with AVX2 does it. */
static __device__ void add_scaled(float *y, float by, float x)
{
    *y = __fmaf_rn(by, x, *y);
}
static __device__ void add_scaled(float4 *y, float by, float4 x)
{
    y->x = __fmaf_rn(by, x.x, y->x);
    y->y = __fmaf_rn(by, x.y, y->y);
    y->z = __fmaf_rn(by, x.z, y->z);
    y->w = __fmaf_rn(by, x.w, y->w);
}

/* One value of one row: of several keys their sum, in their order. */
template <class T>
static __device__ T pooled(const cuda_table &t, const cuda_batch &b, const cuda_slot &slot,
                           uint32_t r, int64_t c)
{
    uint32_t from = slot.offsets < 0 ? r : b.offsets[slot.offsets + r];
    uint32_t to = slot.offsets < 0 ? r + 1 : b.offsets[slot.offsets + r + 1];
    const uint32_t *keys = b.keys + slot.begin;
    uint32_t n = slot.mean ? counted(keys + from, to - from, t.rows) : 1;
    T sum = zero<T>();
    for (uint32_t k = from; k < to; k++) {
        float w = slot.weights < 0 ? 1.0f : b.weights[slot.weights + k];
        if (keys[k] < t.rows)
            add_scaled(&sum, n > 1 ? w / (float)n : w,
                       *(const T *)(t.data + (int64_t)keys[k] * t.stride + c));
    }
    return sum;
}

template <class T>
static __global__ void __launch_bounds__(THREADS)
    gather_rows(cuda_table t, cuda_batch b, const cuda_slot_view *views, int lanes)
{
    constexpr int64_t wide = sizeof(T) / sizeof(float);
    const cuda_slot slot = b.slots[blockIdx.y];
    const cuda_slot_view out = views[blockIdx.y];
    bool plain = slot.offsets < 0 && slot.weights < 0;
    uint32_t per_block = THREADS / (unsigned)lanes, step = gridDim.x * per_block;
    int64_t first = (int64_t)(threadIdx.x % (unsigned)lanes) * wide;
    for (uint32_t r = blockIdx.x * per_block + threadIdx.x / (unsigned)lanes; r < slot.rows;
         r += step) {
        uint32_t key = plain ? b.keys[slot.begin + r] : 0;
        for (int64_t c = first; c < t.dim; c += lanes * wide) {
            T v = zero<T>();
            if (!plain)
                v = pooled<T>(t, b, slot, r, c);
            else if (key < t.rows)
                v = *(const T *)(t.data + (int64_t)key * t.stride + c);
            *(T *)(out.at + (int64_t)r * out.ld + c) = v;
        }
    }
}

static int lanes_for(int64_t parts)
{
    int lanes = 1;
    while (lanes < WARP && lanes < parts)
        lanes *= 2;
    return lanes;
}

void cuda_gather(cuda_stream s, cuda_table t, cuda_batch b, const cuda_slot_view *views,
                 bool aligned)
{
    if (b.n_slots == 0 || b.most_rows == 0)
        return;
    int lanes = lanes_for(aligned ? t.dim / 4 : t.dim);
    dim3 grid(blocks_for(b.most_rows, THREADS / lanes), (unsigned)b.n_slots);
    if (aligned)
        gather_rows<float4><<<grid, THREADS, 0, s>>>(t, b, views, lanes);
    else
        gather_rows<float><<<grid, THREADS, 0, s>>>(t, b, views, lanes);
}

static __device__ void set_bit(uint32_t *bits, uint32_t at)
{
    uint32_t bit = 1u << at % 32;
    if (bits && !(bits[at / 32] & bit))
        atomicOr(bits + at / 32, bit);
}

void cuda_mark(cuda_stream s, cuda_table t, cuda_batch b)
{
    for_elements(s, b.n, 1, [=] __device__(int64_t i, int64_t c) {
        if (b.keys[i] >= t.rows)
            return;
        set_bit(t.used, b.keys[i]);
        set_bit(t.touched, b.keys[i]);
    });
}
