/* SPDX-License-Identifier: Apache-2.0 */
/* nn/op/fields.h - what the definition of these ops and their implementations share. */
#ifndef NN_OP_FIELDS_H
#define NN_OP_FIELDS_H

#include "nn/op.h"

/* The sides of a row, as n x d. */
struct op_sides {
    int64_t n, d, k;
};

#endif
