/* SPDX-License-Identifier: Apache-2.0 */
/* nn/op/gru.h - what the definition of these ops and their implementations share. */
#ifndef NN_OP_GRU_H
#define NN_OP_GRU_H

#include "nn/op.h"
#include "tensor/gemm.h"

/* What is kept of a position, in units of the width. */
enum { KEEP_R, KEEP_Z, KEEP_N, KEEP_BN, KEEP_H, KEEP_DB, KEEP_ALL = KEEP_DB + 3 };

enum { CELL_A, CELL_B, CELL_H };

struct op_gru_conf {
    int64_t width;
    enum gemm_precision precision;
};

enum { PARAM_W, PARAM_BIAS };

#endif
