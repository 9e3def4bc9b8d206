/* SPDX-License-Identifier: Apache-2.0 */
/* nn/op/action.h - what the definition of these ops and their implementations share. */
#ifndef NN_OP_ACTION_H
#define NN_OP_ACTION_H

#include "nn/ops.h"

struct op_action_conf {
    struct nn_action_conf c;
    int64_t width; /* of the vector of one type */
};

#endif
