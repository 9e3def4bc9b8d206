/* SPDX-License-Identifier: Apache-2.0 */
#include "tune/tuner_private.h"

static enum tuner_answer random_ask(struct tuner *t, struct rng *r, double *x)
{
    tune_point_draw(t->history.space, r, x);
    return TUNER_GIVES;
}

const struct tuner_ops tuner_random = {
    .ask = random_ask, .pure = true, .no_repeats = true};
