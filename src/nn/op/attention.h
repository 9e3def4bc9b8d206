/* SPDX-License-Identifier: Apache-2.0 */
/* nn/op/attention.h - what the definition of these ops and their implementations share. */
#ifndef NN_OP_ATTENTION_H
#define NN_OP_ATTENTION_H

#include "nn/op.h"

struct op_attention_conf {
    int64_t heads;
    int64_t fields; /* of a row of the batch; 0: positions of a sequence */
    float scale;    /* of q . k */
    uint32_t below; /* of 2^32: a weight is dropped when the random word is less */
    float kept;     /* factor of the weights that are not */
};

enum { ATTENTION_QUERY, ATTENTION_KEY, ATTENTION_VALUE, ATTENTION_N_IN };

#endif
