/* SPDX-License-Identifier: Apache-2.0 */
/* tune/grid.h - every point of a space, coarse ones first.
 *
 * Each numeric parameter starts with its median and is halved epoch by epoch, as far as
 * the values that a trial sees still differ; options are all there from the start. Within
 * an epoch the last declared parameter varies fastest.
 */
#ifndef TUNE_GRID_H
#define TUNE_GRID_H

#include <stdbool.h>

#include "text/nni/space.h"

struct tune_grid;

struct tune_grid *tune_grid_create(const struct nni_space *s); /* the space is borrowed */
void tune_grid_destroy(struct tune_grid *g);                   /* NULL is fine */

/* The next point into x; false when the space is fully explored. */
bool tune_grid_next(struct tune_grid *g, double *x);

#endif
