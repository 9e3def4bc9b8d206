/* SPDX-License-Identifier: Apache-2.0 */
/* backend/pods_script.h - what a pod runs: texts for the shell of its image, kept in a Secret
 * of the job's, because a worker's variables are in it. `run` is for all workers, `worker-N`
 * sets the variables and the command of one.
 */
#ifndef BACKEND_PODS_SCRIPT_H
#define BACKEND_PODS_SCRIPT_H

#include "backend/backend.h"

#define PODS_START "/trainyard/start" /* where these texts are in a pod */
#define PODS_ASK "/trainyard/ask"     /* requests to pause, to go on, to end at once */
#define PODS_FIRST "TRAINYARD_FIRST"  /* of workers whose numbers begin behind 0 */

extern const char pods_script_run[];
/* Variables, working directory and command of a worker. */
void pods_script_worker(const struct backend_launch *l, struct buf *out);

#endif
