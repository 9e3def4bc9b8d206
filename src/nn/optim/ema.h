/* SPDX-License-Identifier: Apache-2.0 */
/* nn/optim/ema.h - the moving average of the dense parameters. */
#ifndef NN_OPTIM_EMA_H
#define NN_OPTIM_EMA_H

#include "nn/optim/params.h"
#include "nn/state.h"

struct optim_ema;

/* `params` is borrowed. RC_INVAL unless 0 <= decay <= 1; RC_NOMEM. */
enum rc optim_ema_create(double decay, const struct optim_param_set *params,
                         struct optim_ema **out, struct err *err) MUST_CHECK;
void optim_ema_destroy(struct optim_ema *e); /* NULL is fine */

/* After each real step: the first copies the parameters, later ones do avg = decay * avg
 * + (1 - decay) * p. Not while swapped.
 */
void optim_ema_update(struct optim_ema *e);
/* Exchanges parameters and average; again to go back. Nothing before the first update. */
void optim_ema_swap(struct optim_ema *e);
bool optim_ema_swapped(const struct optim_ema *e);

/* `<prefix><parameter>` in order, then `__n_averaged__`. Not while swapped. */
void optim_ema_save(const struct optim_ema *e, const char *prefix, struct nn_state *out);
/* RC_NOTFOUND, RC_FORMAT; then nothing has changed. */
enum rc optim_ema_load(struct optim_ema *e, const char *prefix, const struct nn_state *in,
                       struct err *err) MUST_CHECK;

#endif
