/* SPDX-License-Identifier: Apache-2.0 */
/* tune/normal.h - the normal distribution. */
#ifndef TUNE_NORMAL_H
#define TUNE_NORMAL_H

#include "base/rng.h"

double tune_normal_pdf(double z);
double tune_normal_cdf(double z);
/* The z below which the share q of the distribution lies; -INFINITY for 0, INFINITY for
 * 1. Right to about 1e-15.
 */
double tune_normal_quantile(double q);
/* ln(cdf((high - mu) / sigma) - cdf((low - mu) / sigma)); bounds may be infinite. */
double tune_normal_log_mass(double mu, double sigma, double low, double high);
/* A draw within [low, high]; mu is in or near it. */
double tune_normal_draw_within(struct rng *r, double mu, double sigma, double low,
                               double high);

#endif
