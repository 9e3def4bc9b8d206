/* SPDX-License-Identifier: Apache-2.0 */
/* nn/op/windows.h - what the definition of these ops and their implementations share. */
#ifndef NN_OP_WINDOWS_H
#define NN_OP_WINDOWS_H

#include "nn/ops.h"

struct op_windows_conf {
    int64_t n;
    int64_t start[NN_WINDOWS_MAX + 1]; /* positions; the last is where all end */
};

#endif
