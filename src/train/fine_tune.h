/* SPDX-License-Identifier: Apache-2.0 */
/* train/fine_tune.h - a new run that starts from another run's checkpoint. */
#ifndef TRAIN_FINE_TUNE_H
#define TRAIN_FINE_TUNE_H

#include "ckpt/ckpt.h"
#include "train/session.h"

struct train_fine_tune_result {
    size_t loaded;      /* tensors */
    size_t n_optimizer; /* states of dense parameters that were taken over */
    /* What did not fit, each the names of some tensors, "" when there are none: those that
     * the checkpoint does not have, that have another shape there, that only it has.
     */
    char missing[600], shapes[600], extra[600];
    char moved[400];    /* tables whose rows went where their words are now */
    char meanings[400]; /* tables whose rows stand for other ids there, and why */
};

struct train_fine_tune_conf {
    const char *map; /* path of a file (ckpt/map.h), or NULL */
    bool fresh;      /* discard the optimizer state */
    bool strict;     /* another shape, or rows of another meaning, are an error */
};

/* Parameters and tables that the checkpoint has, and unless `fresh` the states that
 * optimizers keep for them; counters and the position in the data stay at the start.
 * RC_INVAL: E1510 (nothing fits, or strict and a shape differs), E1511, E1512.
 */
enum rc train_fine_tune(struct train_session *s, const struct ckpt *c,
                        const struct train_fine_tune_conf *conf,
                        struct train_fine_tune_result *out, struct err *err) MUST_CHECK;

#endif
