/* SPDX-License-Identifier: Apache-2.0 */
/* nn/op/softmax.h - what the definition of these ops and their implementations share. */
#ifndef NN_OP_SOFTMAX_H
#define NN_OP_SOFTMAX_H

#include "nn/op.h"

struct op_softmax_conf {
    int64_t n; /* of the last dimension; 0: over the positions */
};

struct op_seq_conf {
    bool but_last;
};

struct op_l2_conf {
    float eps;
};

#endif
