/* SPDX-License-Identifier: Apache-2.0 */
#include "tune/tuner_private.h"

/* The grid's place lies in t->seen, which skips what was issued or imported. */
static enum tuner_answer grid_search_ask(struct tuner *t, struct rng *r, double *x)
{
    return tune_seen_unseen(&t->seen, x) ? TUNER_GIVES : TUNER_ENDS;
}

static void *grid_search_create(struct tuner *t)
{
    t->seen.endless = false; /* also points of continuous parameters repeat in a grid */
    return NULL;
}

const struct tuner_ops tuner_grid_search = {.create = grid_search_create,
                                            .ask = grid_search_ask};
