/* SPDX-License-Identifier: Apache-2.0 */
/* tune/pareto.h - an order for results with several objectives.
 *
 * A trial is better than another when it is as good in every objective and better in one
 * (among feasible ones; those that break constraints come after, by how much they break).
 * Front 0 is what nothing beats, front 1 what only front 0 beats, and so on; within a
 * front lonely trials come first (crowding distance, as in NSGA-II).
 */
#ifndef TUNE_PARETO_H
#define TUNE_PARETO_H

#include "tune/history.h"

/* Sets h->by_loss, and `front` and `loss` (the place in the order) of finished trials. */
void pareto_order(struct tune_history *h);

#endif
