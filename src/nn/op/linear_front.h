/* SPDX-License-Identifier: Apache-2.0 */
/* nn/op/linear_front.h - what the definition of these ops and their implementations share. */
#ifndef NN_OP_LINEAR_FRONT_H
#define NN_OP_LINEAR_FRONT_H

#include "nn/op.h"
#include "tensor/gemm.h"

enum { IN_ALL, IN_FRONT };

struct op_front_conf {
    enum gemm_precision precision;
    enum gemm_act act;
    int64_t out;
};

#endif
