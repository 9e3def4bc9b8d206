/* SPDX-License-Identifier: Apache-2.0 */
/* nn/op/dropout.h - what the definition of these ops and their implementations share. */
#ifndef NN_OP_DROPOUT_H
#define NN_OP_DROPOUT_H

#include "nn/op.h"

struct op_dropout_conf {
    uint32_t below; /* of 2^32: dropped when the random word is less */
    float scale;
};

#endif
