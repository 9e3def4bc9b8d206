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

struct objective {
    const char *metric;
    bool maximize;
};

struct constraint {
    const char *metric;
    double least, most; /* infinite: no bound */
};

struct objectives {
    /* n 0: the metric `default`, in the direction that the tuner's arguments say */
    struct objective at[TUNE_OBJECTIVES_MAX];
    int64_t n;
    struct constraint bounds[CONSTRAINTS_MAX];
    int64_t n_bounds;
};

/* values[max(n, 1)] and the sum of what the bounds are exceeded by, each as a share of
 * the bound. RC_INVAL (E4013) names the metric that is missing or no number.
 */
enum rc objectives_read(const struct objectives *o, const char *json, double *values,
                        double *violation, struct err *err) MUST_CHECK;
/* The first objective alone, for intermediate results; false when it is not there. */
bool objectives_first(const struct objectives *o, const char *json, double *value);

/* As members of experiment.json, and back. */
void objectives_print(const struct objectives *o, struct buf *out);
void objectives_from(const struct node *root, struct objectives *o);

#endif
