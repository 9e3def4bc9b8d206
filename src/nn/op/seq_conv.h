/* SPDX-License-Identifier: Apache-2.0 */
/* nn/op/seq_conv.h - what the definition of these ops and their implementations share. */
#ifndef NN_OP_SEQ_CONV_H
#define NN_OP_SEQ_CONV_H

#include "nn/op.h"

/* Positions from `first` on, relative to a position, which is among them. */
struct op_around_conf {
    int64_t first, count;
};

#endif
