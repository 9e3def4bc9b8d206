/* SPDX-License-Identifier: Apache-2.0 */
/* train/mask.h - the rows of a training batch whose features with use_mask see no input.
 *
 * Which rows that are follows from (seed, step, rank) and the number of rows alone:
 * nothing has to be stored to go on after a stop.
 */
#ifndef TRAIN_MASK_H
#define TRAIN_MASK_H

#include "data/sampler/sampler.h"
#include "feature/feature.h"
#include "text/pipeline/pipeline.h"

/* All zero: nothing is masked. */
struct train_mask_conf {
    double rows;      /* probability of a row of the data, or a positive of a tree */
    double negatives; /* of a row that a sampler drew */
    uint64_t seed;
    uint64_t rank;
};

/* Of a training run. Zero where no feature has use_mask, or fg_mode ignores it. */
struct train_mask_conf train_mask_conf_of(const struct pc_DataConfig *d,
                                          const struct feature_plan *plan, uint64_t seed,
                                          uint64_t rank);

/* Zeroed, it is empty. */
struct train_mask {
    uint8_t *at; /* owned; NULL: nothing is masked */
    size_t cap;
};

/* A byte per row of the batch or, behind a sampler, per item: the items begin with the
 * batch's rows. RC_NOMEM.
 */
enum rc train_mask_draw(struct train_mask *m, const struct train_mask_conf *c,
                        const struct sampled *in, uint64_t step,
                        struct err *err) MUST_CHECK;
void train_mask_release(struct train_mask *m);

#endif
