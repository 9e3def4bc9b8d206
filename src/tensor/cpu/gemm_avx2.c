/* SPDX-License-Identifier: Apache-2.0 */
#include <immintrin.h>

#include "base/compiler.h"
#include "tensor/cpu/gemm_kernel.h"

#define VF __m256
#define VL 8
#define TARGET __attribute__((target("avx2,fma")))
#define V_ZERO _mm256_setzero_ps()
#define V_SET1(x) _mm256_set1_ps(x)
#define V_LOAD(p) _mm256_loadu_ps(p)
#define V_STORE(p, v) _mm256_storeu_ps(p, v)
#define V_FMA(a, b, c) _mm256_fmadd_ps(a, b, c)
#define V_MAX0(v) _mm256_max_ps(v, _mm256_setzero_ps())

TARGET static inline __m256i first_lanes(int n)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(n),
                              _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
#define V_MASK_LOAD(p, n) _mm256_maskload_ps(p, first_lanes(n))
#define V_MASK_STORE(p, v, n) _mm256_maskstore_ps(p, first_lanes(n), v)
#define NAME(x) gemm_avx2_##x
#define GEMM_MR 6
#include "tensor/cpu/gemm_body.h"
