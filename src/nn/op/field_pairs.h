/* SPDX-License-Identifier: Apache-2.0 */
/* nn/op/field_pairs.h - what the definition of these ops and their implementations share. */
#ifndef NN_OP_FIELD_PAIRS_H
#define NN_OP_FIELD_PAIRS_H

#include "nn/op.h"

enum op_pair_left {
    LEFT_FIELD, /* field i of the first input */
    LEFT_PAIR,  /* the first input holds a vector for each pair */
    LEFT_AWARE, /* one input: part j of field i, and part i of field j */
};

struct op_pairs_conf {
    enum op_pair_left left;
    int64_t n, d; /* fields, floats of a vector */
    bool dots, flat;
};

/* Where the two sides of pair p = (i, j) begin, in their inputs. */
static inline int64_t op_left_at(const struct op_pairs_conf *c, int64_t i, int64_t j,
                                 int64_t p)
{
    return c->d * (c->left == LEFT_PAIR ? p : c->left == LEFT_AWARE ? i * c->n + j : i);
}

static inline int64_t op_right_at(const struct op_pairs_conf *c, int64_t i, int64_t j)
{
    return c->d * (c->left == LEFT_AWARE ? j * c->n + i : j);
}

#endif
