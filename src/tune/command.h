/* SPDX-License-Identifier: Apache-2.0 */
/* tune/command.h - parameters in the command of a trial.
 *
 * `train.py --lr {{lr}}` has a place for one. A command that is `trainyard train` and has
 * no such place gets them all: every parameter is the path of a setting, --set
 * PATH=VALUE.
 */
#ifndef TUNE_COMMAND_H
#define TUNE_COMMAND_H

#include "base/err.h"

/* `command` with every {{name}} replaced by the value of that parameter, quoted for a
 * shell; *out is the caller's. {{a.b}} is a parameter of that name, or goes into nested
 * choices. `params`: a JSON object. RC_INVAL (E4007) names one that there is not.
 */
enum rc tune_command_of(const char *command, const char *params, char **out,
                        struct err *err) MUST_CHECK;

#endif
