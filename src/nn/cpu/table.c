/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU's table of implementations, one line of ops.def each. */
#include "base/compiler.h"
#include "nn/cpu/cpu.h"

static const struct {
    const struct op *op;
    const struct nn_cpu_op *impl;
} table[] = {
#define OP(name, file) {&op_##name, &nn_cpu_##name},
#include "nn/ops.def"
#undef OP
};

const struct nn_cpu_op *nn_cpu_find(const struct op *op)
{
    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        if (table[i].op == op)
            return table[i].impl;
    return NULL;
}
