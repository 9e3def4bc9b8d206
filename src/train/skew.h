/* SPDX-License-Identifier: Apache-2.0 */
/* train/skew.h - which of several ranks is the slowest, and what waiting for others costs.
 *
 *     train_skew_reset(&k)                    begins anew; the next two paces are left out
 *     train_skew_add(&k, paces, world)        of a step, as all ranks measured it
 *     struct train_skew_words w = train_skew_read(&k)
 */
#ifndef TRAIN_SKEW_H
#define TRAIN_SKEW_H

#include <stdbool.h>

#include "train/rounds.h"

struct train_skew {
    int world;
    int skip; /* paces to come: one of them holds a save or an evaluation */
    struct train_pace *sums; /* [world]; owned */
};

struct train_skew_words {
    int ranks;   /* 0: nothing is known */
    int slowest; /* the rank that was busy longest */
    double skew; /* by how much it was busier than the mean: 0.1 is 10 % */
    double comm; /* share of the time in calls among ranks, of all ranks */
};

void train_skew_reset(struct train_skew *k);
void train_skew_add(struct train_skew *k, const struct train_pace *paces, int world);
struct train_skew_words train_skew_read(const struct train_skew *k);
void train_skew_release(struct train_skew *k);

#endif
