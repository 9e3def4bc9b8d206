/* SPDX-License-Identifier: Apache-2.0 */
/* The card's table of implementations, one line of ops.def each. */
#include <string.h>

#include "base/compiler.h"
#include "cuda/op/op.h"

static const struct {
    const struct op *op; /* the plug-in's own, which is named as the program's */
    const struct cuda_op *impl;
} table[] = {
#define CUDA_OP(name, file) {&op_##name, &cuda_op_##name},
#include "cuda/op/ops.def"
#undef CUDA_OP
};

const struct cuda_op *cuda_op_find(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        if (strcmp(table[i].op->name, name) == 0)
            return table[i].impl;
    return NULL;
}
