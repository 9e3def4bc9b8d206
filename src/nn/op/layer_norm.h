/* SPDX-License-Identifier: Apache-2.0 */
/* nn/op/layer_norm.h - what the definition of these ops and their implementations share. */
#ifndef NN_OP_LAYER_NORM_H
#define NN_OP_LAYER_NORM_H

#include "nn/op.h"

#define EPS 1e-5

struct op_layer_norm_conf {
    int64_t n;
    float eps;
};

#endif
