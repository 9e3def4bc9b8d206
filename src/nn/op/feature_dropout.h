/* SPDX-License-Identifier: Apache-2.0 */
/* nn/op/feature_dropout.h - what the definition of these ops and their implementations share. */
#ifndef NN_OP_FEATURE_DROPOUT_H
#define NN_OP_FEATURE_DROPOUT_H

#include <math.h>

#include "nn/op.h"

struct op_drop_conf {
    int64_t n;
    double lambda;
    int64_t end[]; /* [n]: columns before it belong to feature i or an earlier one */
};

static inline double op_sigmoid(double x)
{
    return 1.0 / (1.0 + exp(-x));
}

#endif
