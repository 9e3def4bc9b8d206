/* SPDX-License-Identifier: Apache-2.0 */
/* nn/op/capsule.h - what the definition of these ops and their implementations share. */
#ifndef NN_OP_CAPSULE_H
#define NN_OP_CAPSULE_H

#include "nn/op.h"

#define WIDTH_MAX 1024
#define NORM_MIN 1e-12

struct op_squash_conf {
    int64_t n;
    double power, least; /* shorter vectors count as so long */
};

/* in: mask [n], x [n, d], and perhaps a vector [e] in front of each: [n, e + d]. */
enum { JOIN_MASK, JOIN_X, JOIN_FRONT };

/* in: mask [n], x [n, d], target [d] -> [d]: x mixed by softmax(power * x . target). */
enum { PICK_MASK, PICK_X, PICK_TARGET };

#endif
