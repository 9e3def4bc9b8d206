/* SPDX-License-Identifier: Apache-2.0 */
/* nn/op/loss.h - what the definition of these ops and their implementations share. */
#ifndef NN_OP_LOSS_H
#define NN_OP_LOSS_H

#include "nn/op.h"

struct op_loss_conf {
    float smoothing, gamma, alpha, margin;
};

#endif
