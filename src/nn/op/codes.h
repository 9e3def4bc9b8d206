/* SPDX-License-Identifier: Apache-2.0 */
/* nn/op/codes.h - what the definition of these ops and their implementations share. */
#ifndef NN_OP_CODES_H
#define NN_OP_CODES_H

#include "nn/ops.h"

struct op_code_conf {
    struct nn_code_conf c;
    int64_t k, d; /* codes, their width */
};

/* CODE_UNUSED may be missing. */
enum { CODE_BOOK, CODE_STARTED, CODE_UNUSED, CODE_N_PARAMS };

struct op_candidates_conf {
    int64_t k, d, top, layers;
    bool cosine;
};

struct op_through_conf {
    bool rotate;
};

#endif
