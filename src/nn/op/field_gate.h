/* SPDX-License-Identifier: Apache-2.0 */
/* nn/op/field_gate.h - what the definition of these ops and their implementations share. */
#ifndef NN_OP_FIELD_GATE_H
#define NN_OP_FIELD_GATE_H

#include "nn/op.h"

/* A row as n fields of d floats. */
struct op_gate_conf {
    int64_t n, d;
    bool over_fields;
};

#endif
