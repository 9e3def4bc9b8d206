/* SPDX-License-Identifier: Apache-2.0 */
/* tune/parzen.h - one parameter's density from the values that were tried: NNI's
 * estimator, to the last digit.
 */
#ifndef TUNE_PARZEN_H
#define TUNE_PARZEN_H

#include <stddef.h>
#include <stdint.h>

#include "base/rng.h"

/* Weights of n observations, oldest (or, in NNI's way, best) first: the last `forget` are
 * worth 1, those before them less.
 */
void parzen_weights(int64_t n, int64_t forget, double *w);

struct parzen {
    int64_t n; /* components, the prior among them */
    double *mu, *sigma, *weight;
    double *log_height; /* ln(weight / sigma) */
    double low, high;   /* infinite: no bounds */
    double log_mass;    /* of the mixture within the bounds */
};

/* From `n` values and their weights, in any order; the prior lies at mean, deviation. To
 * parzen_release(). */
void parzen_fit(struct parzen *p, const double *values, const double *weights, int64_t n,
                double prior_weight, double mean, double deviation, double low,
                double high);
void parzen_release(struct parzen *p);

double parzen_draw(const struct parzen *p, struct rng *r);
double parzen_log_pdf(const struct parzen *p, double x);

#endif
