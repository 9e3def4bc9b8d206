/* SPDX-License-Identifier: Apache-2.0 */
/* nn/op/binary.h - what the definition of these ops and their implementations share. */
#ifndef NN_OP_BINARY_H
#define NN_OP_BINARY_H

#include "nn/op.h"

enum op_binary { BINARY_ADD, BINARY_SUB, BINARY_MUL, BINARY_ADD_RELU };

struct op_binary_conf {
    enum op_binary kind;
    float by; /* of a product: what it is multiplied with */
};

struct op_scale_conf {
    float by, plus;
};

#endif
