/* SPDX-License-Identifier: Apache-2.0 */
/* nn/op/tokens.h - what the definition of these ops and their implementations share. */
#ifndef NN_OP_TOKENS_H
#define NN_OP_TOKENS_H

#include "nn/op.h"

struct op_tokens_conf {
    int axis;      /* of the output */
    int64_t width; /* of a token (join) */
    int64_t front; /* tokens kept in front (keep) */
};

#endif
