/* SPDX-License-Identifier: Apache-2.0 */
/* nn/optim/scaler.h - what the loss is multiplied with: dynamic scaling, accumulation.
 *
 * Loss scaling, around each real step:
 *
 *     optim_scaler_scale(s)           the loss counts so much on the way back
 *     optim_scale_grads(params, by)   by 1 / optim_scaler_scale(s): whether all of them are finite
 *     optim_scaler_update(s, finite)  after the step, which is left out unless they are
 *
 * Embedding gradients are divided and left out by the same rule.
 *
 * Accumulation over n micro-batches: the loss counts 1/n in each, dense gradients add up,
 * and the last of them makes the step. Embedding rows are updated in every one.
 */
#ifndef NN_OPTIM_SCALER_H
#define NN_OPTIM_SCALER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "nn/state.h"

struct pc_GradScaler;

struct optim_scaler {
    bool on;
    float scale, growth, backoff;
    int64_t interval; /* good steps in a row before the scale grows */
    int64_t good;     /* of them so far */
};

/* `conf` may be NULL: off, and the scale stays 1. RC_INVAL. */
enum rc optim_scaler_from(const struct pc_GradScaler *conf, struct optim_scaler *out,
                          struct err *err) MUST_CHECK;
static inline double optim_scaler_scale(const struct optim_scaler *s)
{
    return (double)s->scale;
}
/* Not finite: the scale shrinks. It never grows beyond the largest float. */
void optim_scaler_update(struct optim_scaler *s, bool finite);

/* `scaler.scale`, `scaler.good`; nothing when off. RC_NOTFOUND, RC_FORMAT. */
void optim_scaler_save(const struct optim_scaler *s, struct nn_state *out);
enum rc optim_scaler_load(struct optim_scaler *s, const struct nn_state *in,
                          struct err *err) MUST_CHECK;

/* Where micro-step `step` (from 0) stands among the `n` of its real step; n 0 is 1. */
static inline bool optim_accum_begins(uint32_t n,
                                      uint64_t step) /* gradients are zeroed */
{
    return n < 2 || step % n == 0;
}
static inline bool optim_accum_ends(uint32_t n, uint64_t step) /* the real step follows */
{
    return n < 2 || step % n == n - 1;
}
static inline double optim_accum_share(uint32_t n) /* of the loss */
{
    return n < 2 ? 1.0 : 1.0 / n;
}

#endif
