/* SPDX-License-Identifier: Apache-2.0 */
/* tensor/kernel_private.h - the tables that kernel.c chooses from. */
#ifndef TENSOR_KERNEL_PRIVATE_H
#define TENSOR_KERNEL_PRIVATE_H

#include "tensor/kernel.h"

extern const struct kernels kernels_plain;

#endif
