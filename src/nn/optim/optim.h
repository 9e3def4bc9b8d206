/* SPDX-License-Identifier: Apache-2.0 */
/* nn/optim/optim.h - the optimizer of a model's dense parameters.
 *
 * A parameter belongs to the first part_optimizer whose pattern matches its whole name,
 * else to the main one. One real step, after the gradients of all micro-batches and ranks
 * are in:
 *
 *     optim_scale_grads()      takes the loss scale out and tells whether all is finite
 *     optim_clip_grads()       bounds the gradients
 *     optim_step()       updates the parameters
 *     optim_ema_update()       and their moving average
 *
 * Results do not depend on the number of threads, and a step allocates nothing. One
 * thread at a time.
 */
#ifndef NN_OPTIM_OPTIM_H
#define NN_OPTIM_OPTIM_H

#include "nn/optim/params.h"
#include "nn/optim/rule.h"
#include "nn/schedule.h"
#include "nn/state.h"

struct pc_DenseOptimizer;
struct optim;

struct optim_options {
    const char *prefix; /* goes before every name ("model."); NULL: nothing */
    struct pool *pool;  /* borrowed; NULL for the calling thread alone */
};

/* `conf` and the parameters must outlive it. RC_INVAL: the message says which optimizer
 * or pattern is wrong; RC_NOMEM.
 */
enum rc optim_create(const struct pc_DenseOptimizer *conf, struct param *const *params,
                     size_t n, const struct optim_options *options, struct optim **out,
                     struct err *err) MUST_CHECK;
void optim_destroy(struct optim *o); /* NULL is fine */

/* The trainable parameters, for clipping and averages. Borrowed. */
const struct optim_param_set *optim_params(const struct optim *o);

/* One update with the rates that are due after `step` steps and `epoch` passes over the
 * data. Under accumulation `step` counts micro-steps.
 */
void optim_step(struct optim *o, uint64_t step, uint64_t epoch);

/* Groups with a rate of their own: number 0 is the main optimizer, then the parts in
 * their order. A part that matched nothing is left out, and named by optim_unmatched().
 */
size_t optim_groups(const struct optim *o);
double optim_lr(const struct optim *o, size_t group, uint64_t step, uint64_t epoch);
const struct optim_rule *optim_rule(const struct optim *o, size_t group);
/* The group of the i-th of optim_params(). */
size_t optim_group_of(const struct optim *o, size_t i);
/* The i-th pattern that matched no parameter, or NULL. */
const char *optim_unmatched(const struct optim *o, size_t i);

/* Lists `state.<parameter>.<array>` and `state.<parameter>.step`, and with `grads` (in
 * the middle of an accumulation) `grad.<parameter>`. In the order of the parameters.
 */
void optim_save(const struct optim *o, bool grads, struct nn_state *out);
/* Takes over what optim_save() listed. Without `n_missing` everything must be there
 * (RC_NOTFOUND); with it, parameters without state keep theirs and are counted. Sizes
 * must agree (RC_FORMAT). On failure nothing has changed.
 */
enum rc optim_load(struct optim *o, const struct nn_state *in, size_t *n_missing,
                   struct err *err) MUST_CHECK;

#endif
