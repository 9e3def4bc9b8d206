/* SPDX-License-Identifier: Apache-2.0 */
/* tune/history.h - the trials of an experiment, as tuners see them.
 *
 * Trials are numbered in the order in which they were asked for or brought in from
 * elsewhere. Losses are to be made small: the tuner turns the sign of results that are to
 * be large. A result that is not a number, or infinite in the bad direction, is the worst
 * loss there is (INFINITY).
 */
#ifndef TUNE_HISTORY_H
#define TUNE_HISTORY_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/vec.h"
#include "text/nni/space.h"

#define TUNE_OBJECTIVES_MAX 8

enum tuner_trial_state { TRIAL_RUNNING, TRIAL_DONE, TRIAL_FAILED };

struct tuner_trial {
    double *x; /* a point, in the history's arena */
    enum tuner_trial_state state;
    double loss;              /* DONE: what counts; its place when there are several
                                 objectives */
    const double *objectives; /* DONE: [n_objectives], all to be made small */
    int64_t front;            /* several objectives: 0 when nothing is better in all */
    double violation;         /* sum of broken constraints, 0: feasible */
};

struct tune_history {
    const struct nni_space *space; /* borrowed */
    VEC(struct tuner_trial) trials;
    VEC(int64_t) done;    /* in the order in which results came */
    VEC(int64_t) by_loss; /* the same, best first; equal losses as they came */
    VEC(int64_t) running; /* in the order in which they were asked for */
    struct arena arena;
    int64_t n_objectives;
};

void tune_history_init(struct tune_history *h, const struct nni_space *space,
                       int64_t n_objectives);
void tune_history_release(struct tune_history *h);

/* A new running trial; `x` is copied. Returns its number. */
int64_t tune_history_add(struct tune_history *h, const double *x);
/* Its results, to be made small: [n_objectives]. False, and nothing happens, when the
 * trial is not running: a late or second result counts once.
 */
bool tune_history_tell(struct tune_history *h, int64_t trial, const double *losses,
                       double violation);
/* A trial that is over; without a result so far it failed. False when it was over. */
bool tune_history_end(struct tune_history *h, int64_t trial);

#endif
