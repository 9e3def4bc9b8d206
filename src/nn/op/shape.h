/* SPDX-License-Identifier: Apache-2.0 */
/* nn/op/shape.h - what the definition of these ops and their implementations share. */
#ifndef NN_OP_SHAPE_H
#define NN_OP_SHAPE_H

#include "nn/op.h"

struct op_take_conf {
    int64_t from;
    struct nn_shape shape; /* of a row; axis is the input's */
};

#endif
