/* SPDX-License-Identifier: Apache-2.0 */
#include "tap.h"
#include "tensor/kernel.h"

static void the_level_is_settled_once(void)
{
    cpu_limit(CPU_LEVEL_BASE);
    CHECK_INT(kernels_level(), CPU_LEVEL_BASE);
    CHECK(kernels() == kernels_ref());
    cpu_limit(CPU_LEVEL_AMX);
    CHECK(kernels() == kernels_ref());
    kernels_use(CPU_LEVEL_AMX);
    CHECK_INT(kernels_level(), cpu_level());
}

static const struct tap_case cases[] = {
    TAP(the_level_is_settled_once),
};
TAP_MAIN(cases)
