/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled with the options of its level: see CMakeLists.txt. */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "tensor/cpu/vec_avx512.h"
#include "tensor/kernel_private.h"

#include "tensor/cpu/math_body.h"

#include "tensor/cpu/map_body.h"

#include "tensor/cpu/act_body.h"
#include "tensor/cpu/move_body.h"
#include "tensor/cpu/norm_body.h"
#include "tensor/cpu/optim_body.h"

const struct kernels kernels_avx512 = {
    .name = "avx512",
#include "tensor/table_body.h"
};
