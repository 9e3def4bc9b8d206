/* SPDX-License-Identifier: Apache-2.0 */
/* nn/op/prelu.h - what the definition of these ops and their implementations share. */
#ifndef NN_OP_PRELU_H
#define NN_OP_PRELU_H

#include "nn/op.h"

struct op_slope_conf {
    int64_t n; /* learnt values */
};

#endif
