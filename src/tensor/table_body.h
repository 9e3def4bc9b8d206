/* SPDX-License-Identifier: Apache-2.0 */
/* tensor/table_body.h - the entries of a struct kernels whose functions are named k_*. */
#define KERNEL(result, name, arguments) .name = k_##name,
#include "tensor/kernels.def"
#undef KERNEL
.act = {KERNEL_ACTS(KERNEL_TABLE_ACT)},
    .act_grad_from_out = {k_none_out, k_relu_out, k_sigmoid_out, k_tanh_out},
