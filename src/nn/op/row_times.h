/* SPDX-License-Identifier: Apache-2.0 */
/* nn/op/row_times.h - what the definition of these ops and their implementations share. */
#ifndef NN_OP_ROW_TIMES_H
#define NN_OP_ROW_TIMES_H

#include "nn/op.h"

enum { SEQ_TIMES_X, SEQ_TIMES_MATRIX, SEQ_TIMES_BIAS };

struct op_row_times_conf {
    int64_t n, in, out; /* fields (field_times), and what a matrix goes from and to */
};

#endif
