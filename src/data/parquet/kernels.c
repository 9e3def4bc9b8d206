/* SPDX-License-Identifier: Apache-2.0 */
/* The plain versions are the reference for the others. The machine is little-endian, as
 * the format is.
 */
#include "data/parquet/kernels.h"

#include "base/cpu.h"

static void pq_plain_unpack(const uint8_t *in, unsigned width, uint32_t *out, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = pq_unpack_one(in, width, i);
}

static uint32_t pq_plain_max(const uint32_t *v, size_t n)
{
    uint32_t m = 0;
    for (size_t i = 0; i < n; i++)
        m = v[i] > m ? v[i] : m;
    return m;
}

static void pq_plain_gather32(const uint32_t *from, const uint32_t *code, uint32_t *out,
                              size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = from[code[i]];
}

static void pq_plain_gather64(const uint64_t *from, const uint32_t *code, uint64_t *out,
                              size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = from[code[i]];
}

/* From the back, so that no value is overwritten before it was moved. */
static void pq_plain_expand32(uint32_t *v, const uint8_t *bits, size_t n, size_t k)
{
    for (size_t i = n; i-- > 0;) {
        uint32_t set = pq_bit(bits, i);
        k -= set;
        v[i] = set ? v[k] : 0;
    }
}

static void pq_plain_expand64(uint64_t *v, const uint8_t *bits, size_t n, size_t k)
{
    for (size_t i = n; i-- > 0;) {
        uint32_t set = pq_bit(bits, i);
        k -= set;
        v[i] = set ? v[k] : 0;
    }
}

const struct pq_kernels pq_kernels_plain = {.name = "plain",
                                            .unpack = pq_plain_unpack,
                                            .max = pq_plain_max,
                                            .gather32 = pq_plain_gather32,
                                            .gather64 = pq_plain_gather64,
                                            .expand32 = pq_plain_expand32,
                                            .expand64 = pq_plain_expand64};

const struct pq_kernels *pq_kernels_pick(void)
{
#ifdef PQ_X86
    if (cpu_level() >= CPU_LEVEL_AVX512 && cpu_has(CPU_AVX512VBMI))
        return &pq_kernels_avx512;
    if (cpu_level() >= CPU_LEVEL_AVX2)
        return &pq_kernels_avx2;
#endif
    return &pq_kernels_plain;
}
