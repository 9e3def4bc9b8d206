/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor/kernel.h"

#include <stddef.h>

const struct kernels *kernels_of(enum cpu_level level)
{
    return level == CPU_LEVEL_BASE ? kernels_ref() : NULL;
}

const struct kernels *kernels(void)
{
    for (int level = (int)cpu_level(); level >= 0; level--) {
        const struct kernels *k = kernels_of((enum cpu_level)level);
        if (k)
            return k;
    }
    return kernels_ref();
}
