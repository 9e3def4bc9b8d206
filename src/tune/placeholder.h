/* SPDX-License-Identifier: Apache-2.0 */
/* tune/placeholder.h - parameters in a command: `train.py --lr {{lr}}`. */
#ifndef TUNE_PLACEHOLDER_H
#define TUNE_PLACEHOLDER_H

#include "base/err.h"

/* `command` with every {{name}} replaced by the value of that parameter, quoted for a
 * shell; *out is the caller's. {{a.b}} goes into nested choices. `params`: a JSON object.
 * RC_INVAL (E4007) names one that there is not.
 */
enum rc placeholder_fill(const char *command, const char *params, char **out,
                         struct err *err) MUST_CHECK;

#endif
