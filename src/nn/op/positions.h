/* SPDX-License-Identifier: Apache-2.0 */
/* nn/op/positions.h - what the definition of these ops and their implementations share. */
#ifndef NN_OP_POSITIONS_H
#define NN_OP_POSITIONS_H

#include "nn/ops.h"

enum { POSITIONS_X, POSITIONS_TIME, POSITIONS_QUERY };

struct op_positions_conf {
    struct nn_positions_conf c;
    int64_t positions, times; /* rows of the tables; times is 0 without them */
    bool query;
};

/* Number of the vector of token p, of n tokens the last `targets` of which are candidates. */
static inline int64_t op_position_of(const struct op_positions_conf *x, int64_t p,
                                     int64_t n, int64_t targets)
{
    int64_t history = n - targets, at = p < history ? p : history;
    if (x->times) /* counted from the end of the history */
        at = p < x->c.contextual ? p : history - at + x->c.contextual;
    return at < x->positions ? at : x->positions - 1;
}

#define WAVES_MAX 32
struct op_waves_conf {
    int64_t n;
    float unit[WAVES_MAX], per[WAVES_MAX];
};

#endif
