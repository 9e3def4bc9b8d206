/* SPDX-License-Identifier: Apache-2.0 */
/* nn/op/pairs_private.h - what the ops over pairs of a query and a key share: pairs.c has
 * a layer of its own for each, pair_net.c goes through two layers at once.
 */
#ifndef NN_OP_PAIRS_PRIVATE_H
#define NN_OP_PAIRS_PRIVATE_H

#include "nn/graph_private.h"
#include "tensor/gemm.h"
#include "tensor/gemm_mix.h"

/* Columns of the weight where a part begins; diff < 0: there is none. */
struct pair_conf {
    enum gemm_precision precision;
    enum gemm_act act;
    bool bias, mixed;
    int64_t d, out;
    int64_t query, key, diff, product;
};

struct pair_state {
    struct gemm_weight *w;
    struct gemm_mix *mix; /* in place of w; NULL: none */
    int64_t in;           /* columns of w */
    float *joined;        /* [out][in]: what was packed */
    float *grads;         /* [pieces][out][in]; NULL outside of training */
};

enum pair_input { IN_START, IN_QUERY, IN_KEY };

/* Of positions; the caller's, to pair_release(). */
enum rc pair_init(struct pair_state *s, const struct pair_conf *c, bool training,
                  struct err *err) MUST_CHECK;
void pair_release(struct pair_state *s);
void pair_pack(const struct op_run *r, const struct pair_conf *c,
               const struct pair_state *s);

/* A layer over positions [from, to), none of which comes before batch row `row`; h is as
 * many rows.
 */
struct pair_span {
    int64_t from, to, row;
};
void pair_forward(const struct op_run *r, const struct pair_conf *c,
                  const struct pair_state *s, struct pair_span at, struct view h);
/* dy: the gradient before the activation. Adds to `grads` [out][in] and to the gradients
 * of the inputs, which for start and query begin with pair_clear().
 */
void pair_backward(const struct op_run *r, const struct pair_conf *c,
                   const struct pair_state *s, struct pair_span at, struct view dy,
                   float *grads);
void pair_clear(const struct op_run *r, int64_t begin, int64_t end); /* batch rows */
void pair_through_act(enum gemm_act act, struct view y, struct view dy);

/* The batch in pieces that follow from its size alone. */
int64_t pair_piece_rows(const struct op_run *r);
int64_t pair_pieces(const struct op_run *r);
/* The sum of all pieces goes to the gradient of the weight. */
void pair_merge(const struct op_run *r, const struct pair_conf *c,
                const struct pair_state *s);
#define PAIR_PIECES 32 /* at most */

/* The layer in ONNX: the name of its value, which is `as` unless that is NULL. */
const char *pair_onnx(struct onnx *o, const struct onnx_op *op, const struct pair_conf *c,
                      const char *as);

/* The first part of the layer, parameters and op; *c is filled. NULL when it failed. */
struct val *pair_start(struct graph *g, const char *name, struct val *query,
                       struct val *keys, bool differences, int64_t out, bool bias,
                       struct pair_conf *c, struct param **weight);

#endif
