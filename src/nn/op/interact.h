/* SPDX-License-Identifier: Apache-2.0 */
/* nn/op/interact.h - what the definition of these ops and their implementations share. */
#ifndef NN_OP_INTERACT_H
#define NN_OP_INTERACT_H

#include "nn/op.h"

struct op_fields_conf {
    int64_t n, d; /* fields, width of each */
};

#endif
