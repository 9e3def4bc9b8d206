/* SPDX-License-Identifier: Apache-2.0 */
/* nn/op/field_mix.h - what the definition of these ops and their implementations share. */
#ifndef NN_OP_FIELD_MIX_H
#define NN_OP_FIELD_MIX_H

#include "nn/op.h"

struct op_mix_conf {
    int64_t n, d, out;
};

#endif
