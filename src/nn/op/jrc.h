/* SPDX-License-Identifier: Apache-2.0 */
/* nn/op/jrc.h - what the definition of these ops and their implementations share. */
#ifndef NN_OP_JRC_H
#define NN_OP_JRC_H

#include "nn/op.h"

struct op_jrc_conf {
    float alpha;
};

enum { IN_LOGITS, IN_LABEL, IN_SESSION, IN_WEIGHT };

/* Per session and column: log of the sum of e^logit over the rows of the other class, and
 * how much of the loss falls on them.
 */
enum { KEEP_LOG = 0, KEEP_SHARE = 2, KEEP_WIDTH = 4 };

#endif
