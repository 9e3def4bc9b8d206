/* SPDX-License-Identifier: Apache-2.0 */
/* tune/unit.h - a flat space as the unit cube, for models that need coordinates.
 *
 * Numbers are scaled to [0, 1] in the tuner's scale (the normal family by its quantiles);
 * a choice between numbers by their values, any other choice is one coordinate per
 * option.
 */
#ifndef TUNE_UNIT_H
#define TUNE_UNIT_H

#include <stdbool.h>

#include "base/rng.h"
#include "text/nni/space.h"

struct tune_unit_axis {
    int64_t param;
    bool one_hot;   /* a choice whose options have no order */
    int64_t at, n;  /* its coordinates */
    double *places; /* choice between numbers: [size], the coordinate of each */
};

struct tune_unit {
    const struct nni_space *space;
    struct tune_unit_axis *axes; /* [space->n] */
    int64_t n;                   /* coordinates in all */
};

/* To tune_unit_release(). The space has no nested choices. */
void tune_unit_init(struct tune_unit *u, const struct nni_space *s);
void tune_unit_release(struct tune_unit *u);

/* One number (not a choice) to [0, 1] and back. */
double tune_unit_scale(const struct nni_param *p, double v);
double tune_unit_unscale(const struct nni_param *p, double c);

void tune_unit_of(const struct tune_unit *u, const double *x, double *v); /* v: [n] */
/* The point nearest to v. */
void tune_unit_point(const struct tune_unit *u, const double *v, double *x);

#endif
