/* SPDX-License-Identifier: Apache-2.0 */
/* train/fine_tune.h - a new run that starts from another run's checkpoint. */
#ifndef TRAIN_FINE_TUNE_H
#define TRAIN_FINE_TUNE_H

#include "ckpt/ckpt.h"
#include "train/session.h"

struct train_fine_tune_result {
    size_t loaded;      /* tensors */
    size_t missing;     /* parameters that keep their initial values */
    size_t n_optimizer; /* states of dense parameters that were taken over */
    char first_missing[128];
};

/* Parameters and tables that the checkpoint has, and unless `fresh` the states that
 * optimizers keep for them; counters and the position in the data stay at the start.
 * `map` is the path of a file (ckpt/map.h), or NULL. RC_INVAL: E1510 (nothing fits, or a
 * shape differs), E1511, E1512.
 */
enum rc train_fine_tune(struct train_session *s, const struct ckpt *c, const char *map,
                        bool fresh, struct train_fine_tune_result *out,
                        struct err *err) MUST_CHECK;

#endif
