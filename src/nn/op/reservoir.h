/* SPDX-License-Identifier: Apache-2.0 */
/* nn/op/reservoir.h - what the definition of this op and its implementations share. */
#ifndef NN_OP_RESERVOIR_H
#define NN_OP_RESERVOIR_H

#include "nn/op.h"

enum { RESERVOIR_ROWS, RESERVOIR_SEEN, RESERVOIR_N_PARAMS };
#define RESERVOIR_UNIT 16777216.0 /* up to which a float counts */

static inline int64_t op_reservoir_seen(const float *seen)
{
    return (int64_t)((double)seen[0] + (double)seen[1] * RESERVOIR_UNIT);
}

#endif
