/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor/cpu/gemm_kernel.h"
#include "tensor/cpu/vec_avx512.h"

#define NAME(x) gemm_avx512_##x
#define GEMM_MR 12
#include "tensor/cpu/gemm_body.h"
#define PER_WORD 1
#define WORDS(x, y, m) ((void)(y), v_get(x, m))
#include "tensor/cpu/spread_body.h"
#include "tensor/cpu/transpose_body.h"

const struct gemm_kernel gemm_avx512_kernel = {.name = "avx512",
                                               .mr = MR,
                                               .nr = NR,
                                               .per_word = 1,
                                               .k_align = 1,
                                               .run = gemm_avx512_run,
                                               .spread = spread,
                                               .transpose = transpose};
