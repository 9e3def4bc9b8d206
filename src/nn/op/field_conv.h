/* SPDX-License-Identifier: Apache-2.0 */
/* nn/op/field_conv.h - what the definition of these ops and their implementations share. */
#ifndef NN_OP_FIELD_CONV_H
#define NN_OP_FIELD_CONV_H

#include "nn/op.h"
#include "tensor/gemm.h"

struct op_conv_conf {
    enum gemm_precision precision;
    int64_t d, n;        /* places, fields */
    int64_t in, out;     /* maps */
    int64_t height, pad; /* fields of one result, and how many of them are before it */
};

struct op_max_conf {
    int64_t d, n, maps, height;
};

#endif
