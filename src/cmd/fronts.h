/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/fronts.h - running a command line that was written for another tool. */
#ifndef CMD_FRONTS_H
#define CMD_FRONTS_H

#include "compat/front.h"

/* Translates and does it; argv starts behind the program's name. Returns the exit status
 * after printing what there is to say. A program of PATH takes this process's place.
 */
int front_run(const struct front *f, int argc, char *const *argv);

#endif
