/* SPDX-License-Identifier: Apache-2.0 */
/* nn/op/field_linear.h - what the definition of these ops and their implementations share. */
#ifndef NN_OP_FIELD_LINEAR_H
#define NN_OP_FIELD_LINEAR_H

#include "nn/op.h"
#include "tensor/gemm.h"

struct op_own_conf {
    enum gemm_precision precision;
    int64_t n, d, out; /* fields, their width, units per matrix */
    bool pairs;
};

/* Matrices that field i meets. */
static inline int64_t op_matrices(const struct op_own_conf *c, int64_t i)
{
    return c->pairs ? c->n - 1 - i : 1;
}

#endif
