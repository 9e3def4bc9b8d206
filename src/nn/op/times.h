/* SPDX-License-Identifier: Apache-2.0 */
/* nn/op/times.h - what the definition of these ops and their implementations share. */
#ifndef NN_OP_TIMES_H
#define NN_OP_TIMES_H

#include "nn/op.h"
#include "tensor/gemm.h"

struct op_times_conf {
    enum gemm_precision precision;
    int64_t in, out;
};

#endif
