/* SPDX-License-Identifier: Apache-2.0 */
/* nn/op/batch_norm.h - what the definition of these ops and their implementations share. */
#ifndef NN_OP_BATCH_NORM_H
#define NN_OP_BATCH_NORM_H

#include "nn/op.h"

#define EPS 1e-5

struct op_norm_conf {
    bool affine, pad_out;
    int64_t n;
};

enum {
    BATCH_NORM_MEAN,
    BATCH_NORM_VAR,
    BATCH_NORM_COUNT,
    BATCH_NORM_WEIGHT,
    BATCH_NORM_BIAS
};

#endif
