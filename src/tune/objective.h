/* SPDX-License-Identifier: Apache-2.0 */
/* tune/objective.h - which of a trial's metrics count, and how.
 *
 * A result is a number, or an object of named metrics: {"default": 0.71, "ms": 12}. The
 * metric `default`, or the number, is what NNI's experiments are about; experiments of
 * our own may name others, several, and bounds that must hold.
 */
#ifndef TUNE_OBJECTIVE_H
#define TUNE_OBJECTIVE_H

#include "base/str.h"
#include "text/node.h"
#include "tune/history.h"

#define CONSTRAINTS_MAX 16

struct tune_objective {
    const char *metric;
    bool maximize;
};

struct tune_constraint {
    const char *metric;
    double least, most; /* infinite: no bound */
};

struct tune_objectives {
    /* n 0: the metric `default`, in the direction that the tuner's arguments say */
    struct tune_objective at[TUNE_OBJECTIVES_MAX];
    int64_t n;
    struct tune_constraint bounds[CONSTRAINTS_MAX];
    int64_t n_bounds;
};

/* values[max(n, 1)] and the sum of what the bounds are exceeded by, each as a share of
 * the bound. RC_INVAL (E4013) names the metric that is missing or no number.
 */
enum rc tune_objectives_read(const struct tune_objectives *o, const char *json,
                             double *values, double *violation,
                             struct err *err) MUST_CHECK;
/* The first objective alone, for intermediate results; false when it is not there. */
bool tune_objectives_first(const struct tune_objectives *o, const char *json,
                           double *value);

/* As members of experiment.json, and back. */
void tune_objectives_print(const struct tune_objectives *o, struct buf *out);
void tune_objectives_from(const struct node *root, struct tune_objectives *o);

#endif
