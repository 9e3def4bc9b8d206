/* SPDX-License-Identifier: Apache-2.0 */
/* nn/cpu/pairs.h - a layer over pairs of a query and a key, for pairs.c and pair_net.c. */
#ifndef NN_CPU_PAIRS_H
#define NN_CPU_PAIRS_H

#include "nn/cpu/cpu.h"
#include "nn/op/pairs.h"
#include "tensor/gemm_mix.h"

struct nn_cpu_pair_state {
    struct gemm_weight *w;
    struct gemm_mix *mix; /* in place of w; NULL: none */
    int64_t in;           /* columns of w */
    float *joined;        /* [out][in]: what was packed */
    float *grads;         /* [pieces][out][in]; NULL outside of training */
};

/* Of positions; the caller's, to nn_cpu_pair_release(). */
enum rc nn_cpu_pair_init(struct nn_cpu_pair_state *s, const struct op_pair_conf *c,
                         bool training, struct err *err) MUST_CHECK;
void nn_cpu_pair_release(struct nn_cpu_pair_state *s);
void nn_cpu_pair_pack(const struct op_run *r, const struct op_pair_conf *c,
                      const struct nn_cpu_pair_state *s);

/* A layer over positions [from, to), none of which comes before batch row `row`; h is as
 * many rows.
 */
struct nn_cpu_pair_span {
    int64_t from, to, row;
};
void nn_cpu_pair_forward(const struct op_run *r, const struct op_pair_conf *c,
                         const struct nn_cpu_pair_state *s, struct nn_cpu_pair_span at,
                         struct view h);
/* dy: the gradient before the activation. Adds to `grads` [out][in] and to the gradients
 * of the inputs, which for start and query begin with nn_cpu_pair_clear().
 */
void nn_cpu_pair_backward(const struct op_run *r, const struct op_pair_conf *c,
                          const struct nn_cpu_pair_state *s, struct nn_cpu_pair_span at,
                          struct view dy, float *grads);
void nn_cpu_pair_clear(const struct op_run *r, int64_t begin,
                       int64_t end); /* batch rows */
void nn_cpu_pair_through_act(enum gemm_act act, struct view y, struct view dy);

/* The batch in pieces that follow from its size alone. */
int64_t nn_cpu_pair_piece_rows(const struct op_run *r);
int64_t nn_cpu_pair_pieces(const struct op_run *r);
/* The sum of all pieces goes to the gradient of the weight. */
void nn_cpu_pair_merge(const struct op_run *r, const struct op_pair_conf *c,
                       const struct nn_cpu_pair_state *s);
#define PAIR_PIECES 32 /* at most */

#endif
