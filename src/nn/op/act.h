/* SPDX-License-Identifier: Apache-2.0 */
/* nn/op/act.h - what the definition of these ops and their implementations share. */
#ifndef NN_OP_ACT_H
#define NN_OP_ACT_H

#include "nn/ops.h"

struct op_act_conf {
    enum nn_act act;
    float param;
};

#endif
