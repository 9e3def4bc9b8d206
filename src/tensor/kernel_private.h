/* SPDX-License-Identifier: Apache-2.0 */
/* tensor/kernel_private.h - the tables that kernel.c chooses from. */
#ifndef TENSOR_KERNEL_PRIVATE_H
#define TENSOR_KERNEL_PRIVATE_H

#include "tensor/kernel.h"

extern const struct kernels kernels_plain, kernels_avx2, kernels_avx512;

/* Every table is filled with the functions k_<name> of its file. */
#define KERNEL_TABLE_ACT(NAME, name) [KERNEL_##NAME] = {k_##name, k_##name##_grad},

#endif
