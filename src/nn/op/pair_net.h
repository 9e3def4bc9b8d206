/* SPDX-License-Identifier: Apache-2.0 */
/* nn/op/pair_net.h - what the definition of these ops and their implementations share. */
#ifndef NN_OP_PAIR_NET_H
#define NN_OP_PAIR_NET_H

#include "nn/op/pairs.h"

enum { PARAM_FIRST, PARAM_SECOND, PARAM_BIAS };

struct op_net_conf {
    struct op_pair_conf first;
    enum gemm_act act; /* of the second layer */
    bool bias;
    int64_t out;
};

#endif
