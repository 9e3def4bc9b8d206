/* SPDX-License-Identifier: Apache-2.0 */
/* tune/served.h - trials of an experiment that a server runs for somebody else.
 *
 * Such a trial sees nothing of the experiment's folder. It makes its own, output/trial
 * below /ml, from what it finds in a variable, and the manager reads there what the trial
 * wrote. The trial belongs to a stranger, so no link in it is followed and nothing but a
 * plain file is read.
 */
#ifndef TUNE_SERVED_H
#define TUNE_SERVED_H

#include <stddef.h>

#include "job/place.h"

#define TUNE_SERVED_RECORD "TRAINYARD_TRIAL" /* what parameter.cfg is to hold */
#define TUNE_SERVED_BYTES ((size_t)4 << 20)  /* of a file that is read */

/* `command` behind the lines that make the folder; the caller's. */
char *tune_served_command(const char *command);
/* The file `name` in the folder of the trial whose job is `job`; -1: there is none. */
int tune_served_open(const struct job_place *p, const char *job, const char *name);
/* Its first TUNE_SERVED_BYTES, with a NUL behind them; *data is the caller's, and left
 * alone when there is no such file.
 */
void tune_served_read(const struct job_place *p, const char *job, const char *name,
                      char **data, size_t *n);

#endif
