/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor/cpu/gemm_kernel.h"
#include "tensor/cpu/vec_avx512.h"

#define NAME(x) gemm_avx512_##x
#include "tensor/cpu/gemm_body.h"
