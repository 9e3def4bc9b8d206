/* SPDX-License-Identifier: Apache-2.0 */
/* nn/op/linear.h - what the definition of these ops and their implementations share. */
#ifndef NN_OP_LINEAR_H
#define NN_OP_LINEAR_H

#include "nn/op.h"
#include "tensor/gemm.h"

struct op_linear_conf {
    enum gemm_precision precision;
    enum gemm_act act;
    bool bias;
    bool whole;        /* the layer has the weight to itself */
    int64_t from, out; /* rows of the weight */
};

#endif
