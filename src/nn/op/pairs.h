/* SPDX-License-Identifier: Apache-2.0 */
/* nn/op/pairs.h - what the ops over pairs of a query and a key share: pairs.c has a layer
 * of its own for each, pair_net.c goes through two layers at once.
 */
#ifndef NN_OP_PAIRS_H
#define NN_OP_PAIRS_H

#include "nn/ops.h"
#include "tensor/gemm.h"

#define PAIR_WIDTH_MAX 3072 /* of a query or key; wider ones are laid out */

/* Columns of the weight where a part begins; diff < 0: there is none. */
struct op_pair_conf {
    enum gemm_precision precision;
    enum gemm_act act;
    bool bias, mixed;
    int64_t d, out;
    int64_t query, key, diff, product;
};

enum op_pair_input { IN_START, IN_QUERY, IN_KEY };

/* The layer in ONNX: the name of its value, which is `as` unless that is NULL. */
const char *op_pair_onnx(struct onnx *o, const struct onnx_op *op,
                         const struct op_pair_conf *c, const char *as);

/* The first part of the layer, parameters and op; *c is filled. NULL when it failed. */
struct nn_val *op_pair_start(struct graph *g, const char *name, struct nn_val *query,
                             struct nn_val *keys, bool differences, int64_t out,
                             bool bias, struct op_pair_conf *c, struct param **weight);

#endif
