/* SPDX-License-Identifier: Apache-2.0 */
/* nn/optim/range.h - the ranges that settings of optimizers must lie in. */
#ifndef NN_OPTIM_RANGE_H
#define NN_OPTIM_RANGE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct optim_range {
    const char *field;
    double value;
    bool share; /* of an average: [0, 1); else [0, inf) */
};

/* RC_INVAL for the first that is outside; `name` is the message's. */
enum rc optim_check_ranges(const char *name, const struct optim_range *ranges, size_t n,
                           struct err *err) MUST_CHECK;

#endif
