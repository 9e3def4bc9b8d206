/* SPDX-License-Identifier: Apache-2.0 */
/* tune/process.h - a Gaussian process over the unit cube with a length of its own for each
 * coordinate (Matern 5/2) and a fitted noise.
 *
 * A coordinate that is `apart` knows equal and different only: two points that differ there
 * are 1 apart. Targets are standardised by the caller. Rasmussen and Williams, "Gaussian
 * processes for machine learning", 2006, chapters 2 and 5.
 */
#ifndef TUNE_PROCESS_H
#define TUNE_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#define TUNE_PROCESS_DIMS 40

/* Found by tune_process_fit(): logarithms of squared inverse lengths, of the variance of the
 * signal and of the noise.
 */
struct tune_process_fit {
    double scale[TUNE_PROCESS_DIMS], signal, noise;
    double likely; /* ln of the density of the targets, with the prior of the lengths */
};

/* The likeliest settings for n points; `starts` of the search for them, 1 to 3. */
void tune_process_fit(const double *v, const double *y, int64_t n, int64_t d,
                      const bool *apart, int starts, struct tune_process_fit *out);

struct tune_process;

/* Conditioned on the points, which are copied. To tune_process_destroy(). */
struct tune_process *tune_process_create(const double *v, const double *y, int64_t n,
                                         int64_t d, const bool *apart,
                                         const struct tune_process_fit *fit);
void tune_process_destroy(struct tune_process *p); /* NULL is fine */

/* Mean and standard deviation (of the signal, without the noise) at m points [m][d]. */
void tune_process_predict(const struct tune_process *p, const double *v, int64_t m,
                          double *mean, double *deviation);
/* At one point, with their gradients [d]; those of coordinates that are apart are 0. */
void tune_process_slope(const struct tune_process *p, const double *v, double *mean,
                        double *deviation, double *d_mean, double *d_deviation);

#endif
