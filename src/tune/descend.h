/* SPDX-License-Identifier: Apache-2.0 */
/* tune/descend.h - a minimum of a smooth function within bounds, by BFGS. */
#ifndef TUNE_DESCEND_H
#define TUNE_DESCEND_H

#include <stdbool.h>
#include <stdint.h>

#define TUNE_DESCEND_MOST 64 /* coordinates */

/* The value at x, and its gradient; INFINITY where there is none. */
typedef double tune_descend_fn(void *self, const double *x, double *gradient);

/* Moves x, which lies within [low, high] in each coordinate, downhill in at most `steps`
 * steps; returns the value there. n <= TUNE_DESCEND_MOST.
 */
double tune_descend(tune_descend_fn *f, void *self, int64_t n, const double *low,
                    const double *high, int steps, double *x);

#endif
