/* SPDX-License-Identifier: Apache-2.0 */
/* The occurrences of a batch in the order of their rows; those of one row stay in the order of
 * the batch, since a radix sort keeps it. Then where each distinct row begins. Rows of many
 * occurrences are listed with their stretches, in whatever order they are found: each is
 * summed by itself.
 */
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_select.cuh>
#include <thrust/iterator/counting_iterator.h>

#include "launch.cuh"
#include "lookup.h"
#include "stretch.cuh"

static int bits_for(uint32_t n)
{
    int bits = 1;
    while (bits < 32 && n >> bits)
        bits++;
    return bits;
}

size_t cuda_sort_temp(uint32_t n)
{
    size_t sort = 0, select = 0;
    uint32_t *none = nullptr;
    cub::DeviceRadixSort::SortPairs(nullptr, sort, none, none, none, none, (int64_t)n);
    cub::DeviceSelect::Flagged(nullptr, select, thrust::counting_iterator<uint32_t>(0),
                               (unsigned char *)nullptr, none, none, (int64_t)n);
    return (sort > select ? sort : select) + 256;
}

/* Names of occurrences, and of slots with offsets their rows and factors. */
static __global__ void name_occurrences(cuda_table t, cuda_batch b, cuda_sorted o)
{
    const cuda_slot slot = b.slots[blockIdx.y];
    uint32_t name = (uint32_t)blockIdx.y << o.shift, step = gridDim.x * blockDim.x;
    if (slot.follows)
        return;
    uint32_t first = blockIdx.x * blockDim.x + threadIdx.x;
    for (uint32_t k = first; k < slot.n; k += step)
        o.occurrences[slot.begin + k] = name | k;
    for (uint32_t r = first; slot.offsets >= 0 && r < slot.rows; r += step) {
        uint32_t from = b.offsets[slot.offsets + r], to = b.offsets[slot.offsets + r + 1];
        uint32_t n = 0;
        for (uint32_t k = from; slot.mean && k < to; k++)
            n += b.keys[slot.begin + k] < t.rows;
        for (uint32_t k = from; k < to; k++) {
            float w = slot.weights < 0 ? 1.0f : b.weights[slot.weights + k];
            b.from[slot.begin + k] = r;
            b.scales[slot.begin + k] = n > 1 ? w / (float)n : w;
        }
    }
}

static void list_firsts(cuda_stream s, cuda_batch b, cuda_sorted o)
{
    for_elements(s, b.n, 1, [=] __device__(int64_t i, int64_t c) {
        o.firsts[i] = i < b.n_valid && (i == 0 || o.sorted_keys[i] != o.sorted_keys[i - 1]);
    });
}

static __global__ void list_longs(cuda_batch b, cuda_sorted o)
{
    uint32_t step = gridDim.x * blockDim.x, distinct = o.counts[0];
    for (uint32_t u = blockIdx.x * blockDim.x + threadIdx.x; u < distinct; u += step) {
        uint32_t n = (u + 1 < distinct ? o.starts[u + 1] : b.n_valid) - o.starts[u];
        if (n <= CUDA_RUN_MAX)
            continue;
        uint32_t stretches = (n + stretch_of(n) - 1) / stretch_of(n);
        uint32_t at = atomicAdd(&o.counts[1], 1), first = atomicAdd(&o.counts[2], stretches);
        o.longs[2 * at] = u;
        o.longs[2 * at + 1] = first;
        for (uint32_t i = 0; i < stretches; i++)
            o.stretches[first + i] = at;
    }
}

void cuda_sort(cuda_stream s, cuda_table t, cuda_batch b, cuda_sorted o)
{
    size_t bytes = o.temp_bytes;
    cudaMemsetAsync(o.counts, 0, 3 * sizeof(*o.counts), s);
    if (b.n == 0)
        return;
    dim3 grid(blocks_for(b.n / (uint32_t)b.n_slots + 1, THREADS), (unsigned)b.n_slots);
    name_occurrences<<<grid, THREADS, 0, s>>>(t, b, o);
    cub::DeviceRadixSort::SortPairs(o.temp, bytes, b.keys, o.sorted_keys, o.occurrences,
                                    o.sorted, (int64_t)b.n, 0, bits_for(t.rows), s);
    list_firsts(s, b, o);
    bytes = o.temp_bytes;
    cub::DeviceSelect::Flagged(o.temp, bytes, thrust::counting_iterator<uint32_t>(0), o.firsts,
                               o.starts, o.counts, (int64_t)b.n, s);
    list_longs<<<blocks_for(b.n, THREADS * 4), THREADS, 0, s>>>(b, o);
}
