/* SPDX-License-Identifier: Apache-2.0 */
/* nn/op/gru.h - what the definition of these ops and their implementations share. */
#ifndef NN_OP_GRU_H
#define NN_OP_GRU_H

#include "nn/op.h"
#include "tensor/gemm.h"

/* What is kept of a position, in units of the width. */
enum {
    GRU_KEEP_R,
    GRU_KEEP_Z,
    GRU_KEEP_N,
    GRU_KEEP_BN,
    GRU_KEEP_H,
    GRU_KEEP_DB,
    GRU_KEEP_ALL = GRU_KEEP_DB + 3
};

enum { CELL_A, CELL_B, CELL_H };

struct op_gru_conf {
    int64_t width;
    enum gemm_precision precision;
};

enum { GRU_W, GRU_BIAS };

#endif
