/* SPDX-License-Identifier: Apache-2.0 */
#include <immintrin.h>

#include "base/compiler.h"
#include "tensor/cpu/gemm_kernel.h"

#define VF __m512
#define VL 16
#define TARGET __attribute__((target("avx512f,avx512vl,avx512bw,avx512dq,fma")))
#define V_ZERO _mm512_setzero_ps()
#define V_SET1(x) _mm512_set1_ps(x)
#define V_LOAD(p) _mm512_loadu_ps(p)
#define V_STORE(p, v) _mm512_storeu_ps(p, v)
#define V_FMA(a, b, c) _mm512_fmadd_ps(a, b, c)
#define V_MAX0(v) _mm512_max_ps(v, _mm512_setzero_ps())
#define V_MASK_LOAD(p, n) _mm512_maskz_loadu_ps((__mmask16)((1u << (n)) - 1), p)
#define V_MASK_STORE(p, v, n) _mm512_mask_storeu_ps(p, (__mmask16)((1u << (n)) - 1), v)
#define NAME(x) gemm_avx512_##x
#include "tensor/cpu/gemm_body.h"
