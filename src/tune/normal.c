/* SPDX-License-Identifier: Apache-2.0 */
#include "tune/normal.h"

#include <math.h>

double tune_normal_pdf(double z)
{
    return exp(-0.5 * z * z) * 0.39894228040143267794;
}

double tune_normal_cdf(double z)
{
    return 0.5 * erfc(-z * 0.70710678118654752440);
}

/* A rational start for the lower half, then Newton's steps on erfc, which is exact where
 * the start is only good to three digits.
 */
double tune_normal_quantile(double q)
{
    if (!(q > 0))
        return -INFINITY;
    if (!(q < 1))
        return INFINITY;
    double tail = q < 0.5 ? q : 1 - q;
    double t = sqrt(-2 * log(tail));
    double z = -(t - (2.515517 + t * (0.802853 + t * 0.010328)) /
                         (1 + t * (1.432788 + t * (0.189269 + t * 0.001308))));
    for (int i = 0; i < 4; i++) {
        double e = (tune_normal_cdf(z) - tail) / tune_normal_pdf(z);
        z -= e / (1 + 0.5 * z * e);
    }
    return q < 0.5 ? z : -z;
}

double tune_normal_log_mass(double mu, double sigma, double low, double high)
{
    double a = (low - mu) / sigma, b = (high - mu) / sigma;
    if (a < -8.3 && b > 8.3)
        return 0;
    /* on the side where the tails are small numbers */
    double mass = a > 0 ? tune_normal_cdf(-a) - tune_normal_cdf(-b)
                        : tune_normal_cdf(b) - tune_normal_cdf(a);
    return log(fmax(mass, 1e-300));
}

double tune_normal_draw_within(struct rng *r, double mu, double sigma, double low,
                               double high)
{
    if (!(low < high))
        return low;
    for (int i = 0; i < 64; i++) {
        double v = mu + sigma * rng_normal(r);
        if (v >= low && v <= high)
            return v;
    }
    return fmin(fmax(mu, low), high);
}
