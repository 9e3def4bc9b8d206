/* SPDX-License-Identifier: Apache-2.0 */
/* nn/ops.h - the builders that models call; each stands in one file of nn/op/.
 *
 * All pass NULL through and report through graph_fail(). Shapes are given per row: [n] is
 * a value of n floats per row.
 */
#ifndef NN_OPS_H
#define NN_OPS_H

#include "nn/graph.h"

enum act {
    ACT_NONE,
    ACT_RELU,
    ACT_LEAKY_RELU, /* param: slope */
    ACT_ELU,        /* param: alpha */
    ACT_SELU,
    ACT_GELU, /* erf form */
    ACT_SILU,
    ACT_SIGMOID,
    ACT_TANH,
    ACT_SOFTPLUS,
    ACT_MISH,
    ACT_HARDSWISH,
    ACT_RELU6,
};

/* [.., n] -> [.., out]: x * w^T + b over the last dimension, then an activation
 * (ACT_NONE, ACT_RELU, ACT_SIGMOID, ACT_TANH are fused). Parameters `name`.weight [out,
 * in] and `name`.bias [out], both uniform within 1/sqrt(in).
 */
struct val *nn_linear(struct graph *g, const char *name, struct val *x, int64_t out,
                      bool bias, enum act act);
/* Element by element, any shape. */
struct val *nn_act(struct graph *g, struct val *x, enum act act, float param);
/* The same shape: a + b, a - b, a * b. */
struct val *nn_add(struct graph *g, struct val *a, struct val *b);
struct val *nn_sub(struct graph *g, struct val *a, struct val *b);
struct val *nn_mul(struct graph *g, struct val *a, struct val *b);
struct val *nn_scale(struct graph *g, struct val *x, float by,
                     float plus); /* x * by + plus */
/* Rows side by side: [n1], [n2], ... -> [n1 + n2 + ...]. */
struct val *nn_concat(struct graph *g, struct val *const *x, int n);
/* Floats [from, from + n) of each row. */
struct val *nn_slice(struct graph *g, struct val *x, int64_t from, int64_t n);
/* The same floats under another shape of the same axis and width. */
struct val *nn_reshape(struct graph *g, struct val *x, const int64_t *dims, int n_dims);
struct val *nn_stop_gradient(struct graph *g, struct val *x);
/* [n] -> [1]: the sum of each row. */
struct val *nn_row_sum(struct graph *g, struct val *x);

#endif
