/* SPDX-License-Identifier: Apache-2.0 */
/* nn/op/distance.h - what the definition of these ops and their implementations share. */
#ifndef NN_OP_DISTANCE_H
#define NN_OP_DISTANCE_H

#include "nn/ops.h"

struct op_distance_conf {
    enum nn_distance kind;
};

struct op_flagged_conf {
    bool above;
};

enum { CONTRAST_A, CONTRAST_P, CONTRAST_B, CONTRAST_Q, CONTRAST_FLAG, CONTRAST_N_IN };
/* Kept per row: the logarithm of its sum less its own score, of a and of b. */
enum { CONTRAST_KEEP = 2 };

#define CONTRAST_SCALE_FIRST 2.6592600369327783 /* ln(1 / 0.07) */
#define CONTRAST_SCALE_MAX 4.605170185988092    /* ln 100 */

#endif
