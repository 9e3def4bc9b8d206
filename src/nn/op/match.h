/* SPDX-License-Identifier: Apache-2.0 */
/* nn/op/match.h - what the definition of these ops and their implementations share. */
#ifndef NN_OP_MATCH_H
#define NN_OP_MATCH_H

#include "nn/op.h"
#include "tensor/gemm.h"

struct op_scores_conf {
    int axis;      /* of the scores */
    int hard_axis; /* its offsets say which hard items a user has; -1: no hard ones */
    bool in_batch;
    float scale;
    enum gemm_precision precision;
};

enum { IN_USER, IN_ITEM };

/* Cross entropy of one score among a user's. */
struct op_match_loss_conf {
    bool diagonal; /* the target of row i is score i, not the first */
    int axis;      /* of the losses: the users' */
};

#endif
