/* SPDX-License-Identifier: Apache-2.0 */
/* cuda/kernel/rng.cuh - the random numbers of base/rng.h on the card, bit for bit. */
#ifndef CUDA_KERNEL_RNG_CUH
#define CUDA_KERNEL_RNG_CUH

#include <stdint.h>

/* Philox of ten rounds, as rng_block(): block `number` of the sequence of `row`. */
static __device__ __forceinline__ void rng_block_at(uint32_t k0, uint32_t k1, uint64_t number,
                                                    uint64_t row, uint32_t out[4])
{
    uint32_t c0 = (uint32_t)number, c1 = (uint32_t)(number >> 32);
    uint32_t c2 = (uint32_t)row, c3 = (uint32_t)(row >> 32);
    for (int i = 0; i < 10; i++) {
        uint64_t a = (uint64_t)c0 * 0xd2511f53u, b = (uint64_t)c2 * 0xcd9e8d57u;
        c0 = (uint32_t)(b >> 32) ^ c1 ^ k0;
        c2 = (uint32_t)(a >> 32) ^ c3 ^ k1;
        c1 = (uint32_t)b;
        c3 = (uint32_t)a;
        k0 += 0x9e3779b9u;
        k1 += 0xbb67ae85u;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

#endif
