/* SPDX-License-Identifier: Apache-2.0 */
/* nn/op/tasks.h - what the definition of these ops and their implementations share. */
#ifndef NN_OP_TASKS_H
#define NN_OP_TASKS_H

#include "nn/op.h"

/* Divided by the number of rows, or times it. */
struct op_share_conf {
    bool times;
};

#endif
