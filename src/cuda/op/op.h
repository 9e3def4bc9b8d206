/* SPDX-License-Identifier: Apache-2.0 */
/* cuda/op/op.h - the ops that the card runs itself. */
#ifndef CUDA_OP_OP_H
#define CUDA_OP_OP_H

#include "cuda/cuda_private.h"

#define CUDA_OP(name, file) extern const struct cuda_op cuda_op_##name;
#include "cuda/op/ops.def"
#undef CUDA_OP

#endif
