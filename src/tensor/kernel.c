/* SPDX-License-Identifier: Apache-2.0 */
/* The level is settled at the first question and kept: asking the processor again for
 * every row would cost more than many of the loops.
 */
#include "tensor/kernel.h"

#include <stdatomic.h>
#include <stddef.h>

#include "tensor/kernel_private.h"

static atomic_int settled = -1; /* an enum cpu_level once somebody has asked */

static const struct kernels *const tables[CPU_LEVELS] = {
    [CPU_LEVEL_BASE] = &kernels_plain,
#ifdef __x86_64__
    [CPU_LEVEL_AVX2] = &kernels_avx2,
    [CPU_LEVEL_AVX512] = &kernels_avx512,
#endif
};

enum cpu_level kernels_level(void)
{
    int level = atomic_load_explicit(&settled, memory_order_relaxed);
    if (level < 0) {
        level = (int)cpu_level();
        atomic_store_explicit(&settled, level, memory_order_relaxed);
    }
    return (enum cpu_level)level;
}

void kernels_use(enum cpu_level most)
{
    enum cpu_level level = cpu_level();
    settled = (int)(most < level ? most : level);
}

const struct kernels *kernels_of(enum cpu_level level)
{
    return tables[level];
}

const struct kernels *kernels(void)
{
    int level = (int)kernels_level();
    while (!tables[level])
        level--;
    return tables[level];
}

const struct kernels *kernels_ref(void)
{
    return &kernels_plain;
}
