/* SPDX-License-Identifier: Apache-2.0 */
/* nn/optim/ema.h - the moving average of the dense parameters. */
#ifndef NN_OPTIM_EMA_H
#define NN_OPTIM_EMA_H

#include "nn/optim/params.h"
#include "nn/state.h"

struct ema;

/* `params` is borrowed. RC_INVAL unless 0 <= decay <= 1; RC_NOMEM. */
enum rc ema_create(double decay, const struct param_set *params, struct ema **out,
                   struct err *err) MUST_CHECK;
void ema_destroy(struct ema *e); /* NULL is fine */

/* After each real step: the first copies the parameters, later ones do avg = decay * avg
 * + (1 - decay) * p. Not while swapped.
 */
void ema_update(struct ema *e);
/* Exchanges parameters and average; again to go back. Nothing before the first update. */
void ema_swap(struct ema *e);
bool ema_swapped(const struct ema *e);

/* `<prefix><parameter>` in order, then `__n_averaged__`. Not while swapped. */
void ema_save(const struct ema *e, const char *prefix, struct state *out);
/* RC_NOTFOUND, RC_FORMAT; then nothing has changed. */
enum rc ema_load(struct ema *e, const char *prefix, const struct state *in,
                 struct err *err) MUST_CHECK;

#endif
