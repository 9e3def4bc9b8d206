/* SPDX-License-Identifier: Apache-2.0 */
/* nn/op/sequence.h - what the definition of these ops and their implementations share. */
#ifndef NN_OP_SEQUENCE_H
#define NN_OP_SEQUENCE_H

#include "nn/op.h"

/* in[0] values; in[1], when there, one weight per position. */
struct op_pool_conf {
    bool mean;
};

#endif
