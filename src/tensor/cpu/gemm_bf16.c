/* SPDX-License-Identifier: Apache-2.0 */
/* Words of two bf16: the body of the f32 kernel with another step. */
#include "tensor/cpu/gemm_kernel.h"
#include "tensor/cpu/vec_avx512.h"

#define NAME(x) gemm_bf16_##x
#define GEMM_STEP(a, b, c)                                \
    _mm512_dpbf16_ps(c, (__m512bh)_mm512_castps_si512(a), \
                     (__m512bh)_mm512_castps_si512(b))
#define GEMM_BF16_ROWS
#include "tensor/cpu/gemm_body.h"
#include "tensor/cpu/gemm_pairs.h"
#include "tensor/cpu/transpose_body.h"

const struct gemm_kernel gemm_bf16_kernel = {.name = "bf16",
                                             .mr = MR,
                                             .nr = NR,
                                             .per_word = 2,
                                             .k_align = 1,
                                             .run = gemm_bf16_run,
                                             .pairs_along = pairs_along,
                                             .spread = spread_pairs,
                                             .transpose = transpose};
