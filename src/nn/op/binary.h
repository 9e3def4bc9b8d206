/* SPDX-License-Identifier: Apache-2.0 */
/* nn/op/binary.h - what the definition of these ops and their implementations share. */
#ifndef NN_OP_BINARY_H
#define NN_OP_BINARY_H

#include "nn/op.h"

enum binary { BINARY_ADD, BINARY_SUB, BINARY_MUL, BINARY_ADD_RELU };

struct binary_conf {
    enum binary kind;
    float by; /* of a product: what it is multiplied with */
};

struct scale_conf {
    float by, plus;
};

#endif
