/* SPDX-License-Identifier: Apache-2.0 */
/* tune/point.h - one set of parameters, in the scale that tuners work in.
 *
 * A point is an array of space->n doubles: the index of the option (choice, randint), the
 * logarithm (log types), the value before it is rounded to its step (q types), the value
 * itself otherwise; NAN where the parameter is not active. Trials see the user's form:
 *
 *     {"lr": 0.0031, "layer": {"_name": "conv", "filters": 32}}
 */
#ifndef TUNE_POINT_H
#define TUNE_POINT_H

#include <stdbool.h>

#include "base/rng.h"
#include "base/str.h"
#include "text/nni/space.h"

/* Whether parameter i exists, given the choices that stand before it in `x`. */
bool tune_point_active(const struct nni_space *s, const double *x, int64_t i);

/* A draw from the prior of parameter i. */
double tune_point_prior(const struct nni_param *p, struct rng *r);
/* All parameters from the prior. */
void tune_point_draw(const struct nni_space *s, struct rng *r, double *x);
/* Sets parameter i to `v`, parameters below its other options to NAN, and those below the
 * chosen one, where they were not active before, to draws from the prior.
 */
void tune_point_change(const struct nni_space *s, int64_t i, double v, struct rng *r,
                       double *x);

/* The number that a trial sees: exp, rounding to the step and bounds applied. Not for
 * choice.
 */
double tune_point_user(const struct nni_param *p, double v);
/* The same in the tuner's scale: two values with equal results are one to the trial. */
double tune_point_settle(const struct nni_param *p, double v);

/* The members of the user's form, without braces: `"lr": 0.1, "n": 3`. Reals always have
 * a point or an exponent, as Python tells them apart from integers.
 */
void tune_point_print(const struct nni_space *s, const double *x, struct buf *out);
/* A real as tune_point_print() writes it. */
void tune_point_print_real(double v, struct buf *out);

/* The user's form back to a point, for results from elsewhere. Values between the steps
 * are taken as they are. RC_INVAL names the parameter that is missing, unknown to the
 * space or not one of its values; members that start with a name outside the space are
 * ignored, since tuners add their own (TRIAL_BUDGET).
 */
enum rc tune_point_read(const struct nni_space *s, const struct node *params, double *x,
                        struct err *err) MUST_CHECK;

#endif
