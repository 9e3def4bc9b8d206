/* SPDX-License-Identifier: Apache-2.0 */
#include "nn/optim/range.h"

#include <math.h>

enum rc optim_check_ranges(const char *name, const struct optim_range *ranges, size_t n,
                           struct err *err)
{
    for (size_t i = 0; i < n; i++) {
        double v = ranges[i].value;
        if (v >= 0 && (ranges[i].share ? v < 1 : !isinf(v)))
            continue;
        return err_set(err, RC_INVAL, "%s: %s: %g is outside [0, %s)", name,
                       ranges[i].field, v, ranges[i].share ? "1" : "inf");
    }
    return RC_OK;
}
