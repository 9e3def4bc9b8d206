/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor/cpu/gemm_kernel.h"
#include "tensor/cpu/vec_avx2.h"

#define NAME(x) gemm_avx2_##x
#define GEMM_MR 6
#include "tensor/cpu/gemm_body.h"
